"""Check types: what a case may expect, each a class that holds its fields and knows how to look.

How a case is judged by its checks is in `judge`, how case files are read in `cases`.

Users need the names below, for two things. A `python:` check calls a function of your code base,
which looks at the end of an attempt::

    from pytest_autoweb.checks import CheckContext, CheckVerdict

    def order_is_paid(context: CheckContext, order: int) -> bool | CheckVerdict:
        state = context.evaluate(f"() => window.shop.orders[{order}].state")
        return CheckVerdict(state == "paid", actual=f"order {order} is {state}")

It may be called several times, until it holds or the time for checks is over, so it must change
nothing. What it raises leaves the check without a verdict.

A check type of your own derives from `Check`; `docs/extending.md` shows one.
"""

# Each of these adds its types to `CHECKS`, which is thus complete for every other package.
from pytest_autoweb.checks import (  # noqa: F401
    answer_checks,
    page_checks,
    server_checks,
    wire_checks,
)
from pytest_autoweb.checks.check_type import Check, CheckProbe, Evidence, NotEvaluated, Verdict
from pytest_autoweb.checks.delegated_checks import CheckContext, CheckVerdict
from pytest_autoweb.evidence.page_evidence import Download
from pytest_autoweb.evidence.wire import WireEntry
from pytest_autoweb.results import ToolCall
from pytest_autoweb.specs import FieldError, Pattern

__all__ = [
    "Check",
    "CheckContext",
    "CheckProbe",
    "CheckVerdict",
    "Download",
    "Evidence",
    "FieldError",
    "NotEvaluated",
    "Pattern",
    "ToolCall",
    "Verdict",
    "WireEntry",
]
