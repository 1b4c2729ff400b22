"""The tools that a page offers to agents by WebMCP: which there are, and a call of one.

A browser that has the API of the W3C's draft is used as it is; in any other one an init script of
ours (`js/webmcp_offer.js`) has it. Names, descriptions, schemas and results are the page's words.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page, TimeoutError

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.values.interruptible import WorkFailed
from pytest_autoweb.base.values.patterns import SlowPattern
from pytest_autoweb.base.values.schemas import problem_with, refuse_invalid
from pytest_autoweb.base.whole_characters import read_json, whole_text
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import run_script, script_call
from pytest_autoweb.browser.page.frames import script as script_text

FEATURE = "WebMCP"
"""The feature of Chromium that gives pages the API."""
MAX_TOOLS = 60
"""Tools of a page that are looked at, in the order of their names."""
MAX_CHARS = 4_000
"""Characters of a tool's description, and of its schema."""
MAX_RESULT = 8_000
"""Characters of what a call gives back."""
_LOOK_MS = 3_000.0
_FORM_MS = 500
_LEFT = ("context was destroyed", "Cannot find context", "navigat", "Frame was detached")
_FAILED = "WebMCP tool execution failed: "
_MOST_REASONS = 3
_NO_SCHEMA: Mapping[str, Any] = {"type": "object"}

Engine = Literal["browser", "script", ""]
"""Who gives pages the API: the browser, or a script of ours; empty if nobody does."""


class SiteTool(NamedTuple):
    """One tool of a page."""

    name: str
    description: str
    schema: Any
    """What it says of its arguments, as JSON has it; None if it says nothing."""
    hints: tuple[str, ...] = ()
    """Its annotations that hold, such as `readOnlyHint`."""
    too_long: bool = False
    """Whether its schema is too long to be read."""

    def schema_problem(self) -> str:
        """Return why its schema is no JSON schema of an object, or ""."""
        if self.too_long:
            return f"its schema has more than {MAX_CHARS:,} characters"
        if self.schema is None:
            return ""
        if not isinstance(self.schema, dict):
            return "its schema is no object"
        if self.schema.get("type", "object") != "object":
            return f"its schema is of the type {self.schema['type']!r}, and arguments are an object"
        try:
            refuse_invalid(self.schema)
        except (ValueError, RecursionError) as error:
            return f"its schema is no JSON schema: {first_line(error)}"
        return ""

    def problem_with(self, arguments: Any) -> str:
        """Return why arguments do not fit its schema, or ""."""
        if not isinstance(arguments, dict):
            return "the arguments are no object"
        if not isinstance(self.schema, dict) or self.schema_problem():
            return ""
        try:
            found = problem_with(self.schema or _NO_SCHEMA, arguments)
        except (SlowPattern, WorkFailed, RecursionError) as error:
            return f"its schema cannot be applied: {first_line(error)}"
        except Exception as error:  # a `$ref` into nowhere, of which the library has many errors
            return f"its schema cannot be applied: {first_line(error)}"
        if found is None:
            return ""
        place = ".".join(map(str, found.path))
        return f"{place}: {found.message}" if place else found.message


class SiteTools(NamedTuple):
    """The tools of a page."""

    engine: Engine = ""
    tools: tuple[SiteTool, ...] = ()
    left_out: int = 0
    """Tools beyond `MAX_TOOLS`."""

    def named(self, name: str) -> SiteTool | None:
        """Return the tool of this name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


class ToolResult(NamedTuple):
    """What became of a call."""

    text: str
    """What the tool gave back, for a reader; or why it failed."""
    ok: bool = True
    needs_sending: bool = False
    """Whether the tool only filled in a form, which a person is to look at and send."""


def offer_webmcp(context: BrowserContext) -> None:
    """Give the pages that a context opens from now on the API, where the browser has none."""
    context.add_init_script(f"({script_text('webmcp_offer')})()")


def site_tools(page: Page) -> SiteTools:
    """Return the tools that a page offers now.

    Raises:
        Error: Playwright's, if the page does not answer.
    """
    asked = {"most": MAX_TOOLS, "chars": MAX_CHARS}
    found = run_script(page, "webmcp_tools", asked, timeout_ms=_LOOK_MS)
    tools = tuple(_tool(one) for one in found["tools"])
    return SiteTools(found["engine"], tools, max(0, int(found["count"]) - len(tools)))


def _tool(found: Mapping[str, Any]) -> SiteTool:
    written = str(found["schema"])
    try:
        schema = read_json(written) if written else None
    except ValueError:
        schema = written
    return SiteTool(
        name=whole_text(found["name"]),
        description=whole_text(found["description"]),
        schema=schema,
        hints=tuple(map(whole_text, found["hints"])),
        too_long=not written,
    )


def call_site_tool(
    page: Page, name: str, arguments: Mapping[str, Any], *, timeout_ms: float
) -> ToolResult:
    """Call a tool of a page, once.

    Raises:
        TimeoutError: Playwright's, if the tool has not answered in time.
        Error: Playwright's, if the page is gone.
    """
    asked = {"name": name, "input": dict(arguments), "chars": MAX_RESULT, "form_ms": _FORM_MS}
    code = script_call("webmcp_call")
    with _reasons(page) as reasons:
        try:
            # Not repeated on the next page, as a look would be: the call was made.
            found = read_json(call_within(page, timeout_ms, lambda: page.evaluate(code, asked)))
        except TimeoutError:
            raise
        except Error as error:
            if any(words in error.message for words in _LEFT):
                return ToolResult("(the page was left)")
            raise
    if problem := found.get("error"):
        return ToolResult(whole_text(" ".join(reasons) or problem)[:MAX_RESULT], ok=False)
    if found.get("filled"):
        said = "(the form is filled in; it has to be sent on the page)"
        return ToolResult(said, needs_sending=True)
    return _read(found.get("result"))


@contextmanager
def _reasons(page: Page) -> Iterator[list[str]]:
    """Collect why tools failed, which Chromium tells the console alone."""
    reasons: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        _, failed, reason = message.text.partition(_FAILED)
        if failed and len(reasons) < _MOST_REASONS:
            reasons.append(reason.removeprefix("Uncaught "))

    page.on("console", heard)
    try:
        yield reasons
    finally:
        page.remove_listener("console", heard)


def _read(result: str | None) -> ToolResult:
    """Return the text of a result in MCP's form, or any other one as JSON."""
    try:
        value = read_json(result) if result else None
    except ValueError:
        # What is not JSON, or was cut.
        return ToolResult(whole_text(result or ""))
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        parts = [one for one in value["content"] if isinstance(one, dict)]
        texts = [str(one.get("text", json.dumps(one, ensure_ascii=False))) for one in parts]
        return ToolResult(whole_text("\n".join(texts)), ok=value.get("isError") is not True)
    if value is None:
        return ToolResult("(no result)")
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ToolResult(whole_text(said))
