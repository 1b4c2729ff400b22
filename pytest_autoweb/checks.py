"""Checks of your own: the types of the functions that `python: package.module:function` names.

A check is a function of your code base that looks at the end of an attempt::

    from pytest_autoweb.checks import CheckContext, CheckVerdict

    def order_is_paid(context: CheckContext, order: int) -> bool | CheckVerdict:
        state = context.evaluate(f"() => window.shop.orders[{order}].state")
        return CheckVerdict(state == "paid", actual=f"order {order} is {state}")

It may be called several times, until it holds or the time for checks is over, so it must change
nothing. What it raises leaves the check without a verdict.
"""

from pytest_autoweb.browser.downloads import Download
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.judge.python_checks import CheckContext, CheckVerdict
from pytest_autoweb.results import ToolCall

__all__ = ["CheckContext", "CheckVerdict", "Download", "ToolCall", "WireEntry"]
