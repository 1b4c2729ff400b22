"""Calls of the tools that a page offers, `page.call_tool(…)` in the step language.

A tool runs in its page alone, behind the same proxy as the page. Its result is the page's word.
"""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Error, Frame, Page, TimeoutError

from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.browser.page.webmcp import SiteTool, call_site_tool, site_tools
from pytest_autoweb.results.records import Attempt, OfferedTools
from pytest_autoweb.sandbox.engine import JsonValue, StepCallError
from pytest_autoweb.sandbox.typed_secrets import holds_secret

CALL_S = 10.0
"""How long a tool may take."""
_LISTED = 12
_MESSAGE_CHARS = 500


def call_tool(
    tools: Tools, seen_on: Page | Frame, name: str, arguments: JsonValue = None
) -> JsonValue:
    """Call a tool of the page with arguments that fit its schema; `page.call_tool(…)`.

    Placeholders of secrets are replaced on origins that the case allows.

    Returns:
        What the tool gave back, as text.

    Raises:
        StepCallError: there is no such tool, its arguments do not fit, or it failed.
    """
    page = seen_on if isinstance(seen_on, Page) else seen_on.page
    given = {} if arguments is None else arguments
    revealed = _revealed(tools, page, given)
    ok = False
    try:
        tool = _tool_of(page, name)
        if problem := tool.problem_with(revealed):
            why = tools.redact(problem)[:_MESSAGE_CHARS]
            raise StepCallError(f"the tool {name} takes other arguments: {why}", tool="arguments")
        assert isinstance(revealed, dict), "a tool's arguments are an object"
        text = _called(tools, page, name, revealed)
        ok = True
    finally:
        tools.after_step.append(_counted(ok))
    return text


def _called(tools: Tools, page: Page, name: str, arguments: dict[str, Any]) -> str:
    try:
        result = call_site_tool(page, name, arguments, timeout_ms=CALL_S * 1000)
    except TimeoutError:
        waits = f"the tool {name} has not answered within {CALL_S:g} s"
        raise StepCallError(waits, tool="late") from None
    except Error as error:
        raise StepCallError(f"the tool {name}: {first_line(error)}", tool="failed") from None
    if result.needs_sending:
        tools.site.shows_page = True
    if not result.ok:
        why = tools.redact(result.text)[:_MESSAGE_CHARS]
        raise StepCallError(f"the tool {name} failed: {why}", tool="failed")
    return result.text


def _tool_of(page: Page, name: str) -> SiteTool:
    try:
        offered = site_tools(page)
    except (Error, ValueError, LookupError, TypeError, RecursionError) as error:
        raise StepCallError(f"the page's tools cannot be read: {first_line(error)}") from None
    tool = offered.named(name) if isinstance(name, str) else None
    if tool is not None:
        return tool
    known = ", ".join(json.dumps(one.name) for one in offered.tools[:_LISTED])
    there = f"it offers {known}" if known else "it offers none"
    raise StepCallError(f"the page offers no tool {name!r:.80}: {there}", tool="missing")


def _revealed(tools: Tools, page: Page, arguments: JsonValue) -> Any:
    """Return the arguments with the values of secrets.

    Raises:
        StepCallError: the page is on an origin that may not have them.
    """
    if not holds_secret(json.dumps(arguments, ensure_ascii=False)):
        return arguments
    if not tools.policy.allows(page.url):
        raise StepCallError("a secret may not be given to a tool of this page", tool="refused")
    return map_texts(arguments, tools.reveal)


def _counted(ok: bool) -> Callable[[Attempt], Attempt]:
    def counted(attempt: Attempt) -> Attempt:
        known = attempt.site_tools or OfferedTools()
        more = {"calls": known.calls + 1, "failed": known.failed + (not ok)}
        return change(attempt, site_tools=known.model_copy(update=more))

    return counted
