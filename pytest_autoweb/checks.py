"""What a case may expect: the names that `python:` checks and check types of your own are made of.

A `python:` check calls a function of your code base, which looks at the end of an attempt::

    from pytest_autoweb.checks import CheckContext, CheckVerdict

    def order_is_paid(context: CheckContext, order: int) -> bool | CheckVerdict:
        state = context.evaluate(f"() => window.shop.orders[{order}].state")
        return CheckVerdict(state == "paid", actual=f"order {order} is {state}")

It may be called several times, until it holds or the time for checks is over, so it must change
nothing. What it raises leaves the check without a verdict.

A check type of your own derives from `Check`; `docs/extending.md` shows one. This module is a part
of the public interface (docs/api.md) and holds no code of its own.
"""

from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.judging.checks.check_type import (
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.judging.checks.delegated_checks import CheckContext, CheckVerdict
from pytest_autoweb.judging.evidence.downloads import Download
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.results.records import ToolCall

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
