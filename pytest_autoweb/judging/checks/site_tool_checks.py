"""Checks of the tools that a page offers to agents by WebMCP."""

import json
from typing import Any, ClassVar, Self

from playwright.sync_api import Error, Page, TimeoutError
from pydantic import Field, model_validator

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.field_errors import FieldPath
from pytest_autoweb.base.specs import Pattern, Spec
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.browser.page.webmcp import SiteTool, call_site_tool, site_tools
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
    found_by,
)

_LISTED = 12
_SHOWN_CHARS = 300
_CALL_S = 10.0


class ToolQuery(Spec):
    """A tool, and the call by which it is tried."""

    tool: str = Field(min_length=1)
    """Its name."""
    arguments: dict[str, Any] | None = None
    """What it is called with, `{}` for nothing; without this it is not called."""
    result: str | Pattern | None = None
    """Text that the call's result must hold, or `{matches: REGEX}`."""

    @model_validator(mode="after")
    def _refuse_result_of_no_call(self) -> Self:
        if self.result is not None and self.arguments is None:
            raise ValueError("`result` needs a call: give its `arguments`, {} if it takes none")
        return self

    @property
    def told(self) -> str:
        """Return what is expected, in words."""
        words = f"a tool {self.tool!r} with a valid schema"
        if self.arguments is not None:
            shown = json.dumps(self.arguments, ensure_ascii=False)[:_SHOWN_CHARS]
            words += f", which can be called with {shown}"
        if isinstance(self.result, Pattern):
            words += f" and gives back /{self.result.matches}/"
        elif self.result is not None:
            words += f" and gives back {self.result!r}"
        return words


@CHECKS.add
class WebmcpCheck(Check):
    """A tool that the page offers by WebMCP, its schema, and what a call gives back."""

    name = "webmcp"
    data_fields: ClassVar[tuple[FieldPath, ...]] = (("webmcp", "arguments"),)

    webmcp: str | ToolQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Look for the tool until it is there, and call it at most once.

        A call may change the page, so checks of the page stand before this one.
        """
        if evidence.stored:
            raise NotEvaluated("tools exist only while the page is open")
        query = ToolQuery(tool=self.webmcp) if isinstance(self.webmcp, str) else self.webmcp
        called: list[Verdict] = []

        def look(seconds: float) -> Verdict:
            if called:
                return called[0]
            try:
                tool, listed = _found(evidence.page, query.tool)
            except (Error, ValueError, LookupError, TypeError, RecursionError) as error:
                reason = f"the page's tools cannot be read: {first_line(error)}"
                return Verdict(False, reason, where="page")
            if tool is None:
                return Verdict(False, listed, where="page")
            problem = tool.schema_problem()
            if not problem and query.arguments is not None:
                problem = tool.problem_with(query.arguments)
                problem = f"it takes other arguments: {problem}" if problem else ""
            if problem:
                return Verdict(False, f"{query.tool}: {problem}"[:_SHOWN_CHARS], where="page")
            if query.arguments is None:
                return Verdict(True, _signature(tool), where="page")
            called.append(_call(evidence.page, query, query.arguments))
            return called[0]

        return CheckProbe(query.told, look)


def _found(page: Page, name: str) -> tuple[SiteTool | None, str]:
    offered = site_tools(page)
    if (tool := offered.named(name)) is not None:
        return tool, ""
    names = ", ".join(one.name for one in offered.tools[:_LISTED])
    more = len(offered.tools) - _LISTED + offered.left_out
    listed = f"the page offers {names}" if names else "the page offers no tools"
    return None, f"{listed} and {more} more" if more > 0 else listed


def _signature(tool: SiteTool) -> str:
    properties = tool.schema.get("properties") if isinstance(tool.schema, dict) else None
    names = ", ".join(map(str, properties)) if isinstance(properties, dict) else ""
    return f"{tool.name}({names})"[:_SHOWN_CHARS]


def _call(page: Page, query: ToolQuery, arguments: dict[str, Any]) -> Verdict:
    try:
        result = call_site_tool(page, query.tool, arguments, timeout_ms=_CALL_S * 1000)
    except TimeoutError:
        said = f"{query.tool} has not answered within {_CALL_S:g} s"
        return Verdict(False, said, where="page")
    except Error as error:
        return Verdict(False, f"{query.tool}: {first_line(error)}"[:_SHOWN_CHARS], where="page")
    shown = result.text[:_SHOWN_CHARS]
    if not result.ok:
        return Verdict(False, f"{query.tool} failed: {shown}", where="page")
    if isinstance(query.result, Pattern):
        return Verdict(found_by(query.result.matches, result.text) is not None, shown, "page")
    fits = query.result is None or normalise(query.result) in normalise(result.text)
    return Verdict(fits, shown, where="page")
