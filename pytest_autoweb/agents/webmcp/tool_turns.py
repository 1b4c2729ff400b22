"""Turns on a page's own tools: see which there are, call some, see what they gave back.

The tools take the place of the page's listing, which a model gets where there are none, where a
form was only filled in, and where it asks for it (`show_page()`).
"""

import json

from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.codegen.refs_turns import keep_view, see_list, take_lines, until_cut
from pytest_autoweb.agents.codegen.script_turns import (
    CHARS_PER_TOKEN,
    TurnForm,
    converse,
    front_tab,
)
from pytest_autoweb.agents.codegen.turn_talk import Shown
from pytest_autoweb.browser.page.frames import RefView
from pytest_autoweb.browser.page.webmcp import SiteTool, SiteTools, site_tools
from pytest_autoweb.results.records import Attempt, OfferedTools

_DESCRIPTION_CHARS = 600
_SCHEMA_CHARS = 1_500
_LEAST_PAGE_TOKENS = 400
"""Tokens that the page's listing gets at least, beside however many tools."""
_OFFERED_BY = {"browser": "the browser", "script": "a script of pytest-autoweb", "": "nobody"}

NO_TOOLS = "The page offers no tools, so this is what it shows:"
UNUSED = "What the page shows is left out; show_page() lists it from the next turn on."


def call_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Take turns, with the page's tools in place of its listing."""
    tools.site.in_use = True
    return converse(attempt, tools, TurnForm("webmcp", _see, take_lines, until_cut))


def _see(attempt: Attempt, tools: Tools, number: int, budget: int) -> tuple[Attempt, Shown]:
    page = front_tab(tools)
    offered = _offered(tools)
    attempt = change(attempt, site_tools=_with(attempt.site_tools, offered, tools))
    told = tools.redact(tools_told(offered, budget * CHARS_PER_TOKEN))
    if offered.tools and not tools.site.shows_page:
        text = f"{told}\n\n{UNUSED}"
        attempt = keep_view(attempt, tools, len(attempt.step_results) + 1, RefView("", ()), text)
        return attempt, Shown(number, tools.redact(page.url), text, RefView("", ()))
    left = max(_LEAST_PAGE_TOKENS, budget - len(told) // CHARS_PER_TOKEN)
    attempt, shown = see_list(attempt, tools, number, left)
    return attempt, shown._replace(text=f"{told}\n\n{shown.text}")


def _offered(tools: Tools) -> SiteTools:
    try:
        return site_tools(front_tab(tools))
    except (Error, ValueError, LookupError, TypeError, RecursionError) as error:
        # A page may replace the API by anything; what it then tells is no list of tools.
        tools.log.write(f"the page's tools could not be read: {error}")
        return SiteTools()


def _with(before: OfferedTools | None, offered: SiteTools, tools: Tools) -> OfferedTools:
    """Return the attempt's record of tools with those that the page offers now."""
    known = before or OfferedTools()
    names = (tools.redact(tool.name) for tool in offered.tools)
    return known.model_copy(
        update={
            "engine": offered.engine or known.engine,
            "names": tuple(dict.fromkeys((*known.names, *names))),
            "turns_without": known.turns_without + (not offered.tools),
        }
    )


def tools_told(offered: SiteTools, room: int) -> str:
    """Return the tools as the model is shown them.

    Args:
        offered: the page's tools.
        room: the characters that they may take; the others are counted.
    """
    if not offered.tools:
        return NO_TOOLS
    lines: list[str] = []
    listed = 0
    for tool in offered.tools:
        told = _told(tool)
        if lines and sum(map(len, lines)) + len(told) > room:
            break
        lines.append(told)
        listed += 1
    left = len(offered.tools) - listed + offered.left_out
    more = [f"({left} more tools, not listed)"] if left else []
    return "\n".join(["The page offers these tools:", *lines, *more])


def _told(tool: SiteTool) -> str:
    words = " ".join(tool.description.split())
    hints = f" [{', '.join(tool.hints)}]" if tool.hints else ""
    lines = [f"tool {json.dumps(tool.name, ensure_ascii=False)}{hints}: {_cut(words)}"]
    if problem := tool.schema_problem():
        lines.append(f"  arguments: an object; {' '.join(problem.split())[:200]}")
    elif tool.schema:
        schema = json.dumps(tool.schema, ensure_ascii=False)
        lines.append(f"  arguments: {_cut(schema, _SCHEMA_CHARS)}")
    else:
        lines.append("  arguments: none")
    return "\n".join(lines)


def _cut(text: str, most: int = _DESCRIPTION_CHARS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
