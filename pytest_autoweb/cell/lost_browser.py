"""A cell whose browser died: blame the attempt's code for it, or make the attempt once more."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.outside.agent_page import BLAMED
from pytest_autoweb.base import waiting
from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.browser.page.opening import browser_ended
from pytest_autoweb.results.records import Attempt, Failure, ToolCall, Usage
from pytest_autoweb.sandbox.allowed_members import SCRIPT_METHODS

BROWSER_ENDED = "the browser ended"
PAGE_CRASHED = "the process that shows the page crashed"
_LOST = "lost"


def blame_dead_browser(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt, with the failure that its browser, or its page's process, died.

    If a script of the code was running at that moment, the code is to blame; whatever else it was
    doing is what browsers are made for.
    """
    blamed = attempt.failure is not None and BLAMED in attempt.failure.evidence
    if attempt.checks_passed or blamed:
        return attempt
    lost = _loss(tools)
    if not lost:
        return attempt
    # With others in flight any of them may have been what the browser died of.
    call = None if waiting.others_in_flight() else _running(attempt)
    if call is not None and _is_to_blame(call):
        message = f"{lost} while {call.method}() ran, a script or pattern of the code"
        failure = Failure(
            kind="sandbox",
            rule="AW512",
            message=message,
            step_index=call.step_index,
            line=call.line,
        )
    else:
        failure = Failure(
            kind="browser", message=f"{lost} while the cell ran", evidence={_LOST: True}
        )
    return change(attempt, failure=failure)


def _loss(tools: Tools) -> str:
    """Say what died, or return "" if browser and page live."""
    if browser_ended(tools.page):
        return f"{BROWSER_ENDED} ({WATCH.reason})" if WATCH.reason else BROWSER_ENDED
    # A page that stopped answering was ended on purpose, and would stop answering again.
    return PAGE_CRASHED if tools.watch.crashed and not WATCH.page_ended else ""


def _running(attempt: Attempt) -> ToolCall | None:
    """Return the call of the code during which the attempt failed, if it was one."""
    last = attempt.tool_calls[-1] if attempt.tool_calls else None
    return last if last is not None and not last.ok else None


def _is_to_blame(call: ToolCall) -> bool:
    return call.method in SCRIPT_METHODS or "re.compile(" in call.arguments + call.target


def retry_if_browser_died(
    make: Callable[[], tuple[Attempt, Any]], folder: Path
) -> tuple[Attempt, Any]:
    """Make an attempt, and once more if its browser died through no fault of its code.

    Args:
        make: makes the attempt; returns it with more that the caller needs.
        folder: the attempt's folder; that of the lost one is kept beside it as `…-lost`.
    """
    attempt, more = make()
    if not _is_lost(attempt):
        return attempt, more
    waiting.wait_until_alone()
    with suppress(OSError):
        folder.rename(folder.with_name(f"{folder.name}-lost"))
    again, more = make()
    assert attempt.failure is not None
    if _is_lost(again) and again.failure is not None:
        message = f"{again.failure.message}, for the second time"
        again = change(again, failure=again.failure.model_copy(update={"message": message}))
    spent = {
        stage: attempt.usage.get(stage, Usage()) + again.usage.get(stage, Usage())
        for stage in attempt.usage | again.usage
    }
    took = {
        stage: attempt.stage_ms.get(stage, 0.0) + again.stage_ms.get(stage, 0.0)
        for stage in attempt.stage_ms | again.stage_ms
    }
    return change(
        again,
        rerun_because=attempt.failure.message,
        usage=spent,
        stage_ms=took,
        duration_ms=attempt.duration_ms + again.duration_ms,
        exchanges=(*attempt.exchanges, *again.exchanges),
    ), more


def _is_lost(attempt: Attempt) -> bool:
    return attempt.failure is not None and bool(attempt.failure.evidence.get(_LOST))
