"""What a line of the dialect `refs` becomes on the page as it is when the line's turn has come.

Most lines are the same code on every page. Others depend on it: a code editor is filled by keys, a
box is scrolled by its own height, tabs have numbers. Two lines only look, and leave a comment.
"""

import ast
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin

from playwright.sync_api import Error, Locator, Page

from pytest_autoweb.agents.attempt.editor_code import ALL, typed_as_keys
from pytest_autoweb.agents.attempt.read_download import NO_DOWNLOAD, read_download
from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.codegen.refs_dialect import WAYS, Action, scroll_code
from pytest_autoweb.base.python_source import read_expression
from pytest_autoweb.base.redaction import SECRET
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import run_on_elements, run_script

_LOOK_MS = 2_000.0
_SHARE = 0.8
"""How much of a view is scrolled at once, so that a row at its edge is seen whole."""
_LEAST_PX, _MOST_PX = 40.0, 4_000.0


class Fitted(NamedTuple):
    """What a line is on this page."""

    code: str
    error: str = ""
    """Why it cannot be carried out; nothing is run then."""
    logged: str = ""
    """What the model is shown after the turn, apart from what the code logs."""
    then: Callable[[], None] = lambda: None
    """What follows once the code has run."""


def fitted(action: Action, tools: Tools, downloads: int = 0) -> Fitted:
    """Return what a line becomes on the tab that is in front.

    Args:
        action: the line.
        tools: the tools of the attempt.
        downloads: how many downloads to wait for, if the lines before may have led to one.
    """
    page = tools.tab.front(tools.page)
    match action.name:
        case "fill" | "type" if action.elements:
            return Fitted(_typed(action, page))
        case "scroll":
            return Fitted(_scrolled(action, page))
        case "goto":
            return Fitted(_with_address(action, page))
        case "open_tab":
            return Fitted(_with_address(action, page), then=lambda: count_tabs(tools))
        case "close_tab" | "switch_tab":
            return _tab(action, tools, page)
        case "read_download":
            return _read_download(tools, page, downloads)
        case "show_more":
            return _shown_more(action, tools)
        case "show_page":
            tools.site.shows_page = True
            return Fitted(action.code)
        case _:
            return Fitted(action.code)


# -- editors ---------------------------------------------------------------------------


def _typed(action: Action, page: Page) -> str:
    """Return the code that fills a field or types into it; an editor takes it as keys.

    A code editor shows a text that its field does not hold: what is filled into that field is put
    before the text, and nothing is replaced.
    """
    kind = _look(action, page, "editor_kind")
    if not isinstance(kind, dict) or not kind.get("editor"):
        return action.code
    replaces = action.name == "fill"
    keys = ALL if replaces else "Control+End"
    found, text = action.elements[0].locator, str(action.values[0])
    focused = f'{found}.press("{keys}")'
    if not kind.get("field"):
        focused = f'{found}.click()\npage.keyboard.press("{keys}")'
    return typed_as_keys(focused, text, indents=bool(kind.get("indents")), replaces=replaces)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# -- scrolling -------------------------------------------------------------------------


def _scrolled(action: Action, page: Page) -> str:
    across, down = WAYS[action.values[0]]
    if action.elements:
        view = _numbers(_look(action, page, "scroll_views", [across, down]), 2)
        at = f"{action.elements[0].locator}.hover()"
    else:
        place = _numbers(_look(action, page, "scroll_place", [across, down]), 4)
        at = f"page.mouse.move({place[0]:.0f}, {place[1]:.0f})" if place else ""
        view = place[2:]
    if not view or not at:
        return action.code
    width, height = (min(max(side, _LEAST_PX), _MOST_PX) * _SHARE for side in view)
    return scroll_code(at, across * width, down * height)


def _numbers(found: Any, count: int) -> Sequence[float]:
    """Return what a page's script measured, or nothing if it is not that many numbers."""
    numbers = found if isinstance(found, list) and len(found) == count else []
    usual = all(isinstance(one, int | float) and 0 <= one < 100_000 for one in numbers)
    return numbers if usual else []


def _look(action: Action, page: Page, script: str, arg: Any = None) -> Any:
    """Run a script on the line's element, or on the page; None where that is not possible."""
    try:
        if not action.elements:
            return run_script(page, script, arg, timeout_ms=_LOOK_MS)
        located = located_by(action.elements[0].locator, page)
        if located is None:
            return None
        return call_within(page, _LOOK_MS, lambda: run_on_elements(located, script, arg))
    except Error:
        # The line itself will say what is wrong with its element.
        return None


_FINDERS = frozenset(
    {"locator", "frame_locator", "get_by_role", "get_by_text", "get_by_label", "get_by_test_id"}
    | {"get_by_placeholder", "get_by_title", "get_by_alt_text", "filter", "nth"}
)


def located_by(code: str, page: Page) -> Locator | None:
    """Return the locator that the code of a listed element stands for."""

    def read(node: ast.expr) -> Any:
        match node:
            case ast.Name(id="page"):
                return page
            case ast.Attribute(value=before, attr="first" | "last" | "content_frame" as name):
                return getattr(read(before), name)
            case ast.Call(func=ast.Attribute(value=before, attr=name)) if name in _FINDERS:
                args = [ast.literal_eval(each) for each in node.args]
                named = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
                return getattr(read(before), name)(*args, **named)
        raise ValueError("it is not a locator")

    try:
        tree = read_expression(code)
        found = None if tree is None else read(tree)
    except (ValueError, TypeError, AttributeError):
        return None
    return found if isinstance(found, Locator) else None


# -- addresses and tabs ----------------------------------------------------------------


def _with_address(action: Action, page: Page) -> str:
    """Return the code with the whole address, which a tab without a page needs."""
    given = str(action.values[0])
    if SECRET.search(given):
        return action.code
    try:
        whole = urljoin(page.url, given)
    except ValueError:
        return action.code
    return action.code.replace(_literal(given), _literal(whole))


def _tab(action: Action, tools: Tools, page: Page) -> Fitted:
    tabs = page.context.pages
    if action.name == "close_tab":
        if page is tools.page:
            return Fitted("", "this is the first tab, which stays open")
        return Fitted(f"page.context.pages[{tabs.index(page)}].close()")
    number = action.values[0]
    if not 1 <= number <= len(tabs):
        many = "is only one tab" if len(tabs) == 1 else f"are {len(tabs)} tabs"
        return Fitted("", f"there is no tab {number}: there {many}")
    chosen = tabs[number - 1]
    return Fitted(action.code, then=lambda: tools.tab.choose(chosen))


def tab_code(code: str, tools: Tools) -> str:
    """Return code about `page` as code about the tab that is in front."""
    page = tools.tab.front(tools.page)
    if page is tools.page or code.startswith("#") or page not in page.context.pages:
        return code
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "page":
            node.id = "tab"
    tabs = page.context.pages
    number = -1 if page is tabs[-1] else tabs.index(page)
    return f"tab = page.context.pages[{number}]\n{ast.unparse(tree)}"


def count_tabs(tools: Tools) -> None:
    """Note how many tabs are open before an action."""
    tools.tab.before = len(tools.page.context.pages)


def waiting_for_tab(code: str, tools: Tools) -> str:
    """Return the script with its last line waiting for the tab that it has opened.

    Whoever runs the script again would otherwise go on before the tab is there.
    """
    opened, line = len(tools.page.context.pages) > tools.tab.before, code.rpartition("\n")[0]
    before, _, last = line.rpartition("\n")
    call = read_expression(last)
    if not opened or not isinstance(call, ast.Call) or last.startswith((" ", "#")):
        return code
    name = "tab" if last.startswith("tab.") else "page"
    # On one line, so that the lines behind keep their numbers.
    return f"{before}\nwith {name}.context.expect_page(): {last}\n"


def tabs_told(tools: Tools) -> str:
    """Return a line for each tab if there are several; the one in front is marked."""
    front, tabs = tools.tab.front(tools.page), tools.page.context.pages
    if len(tabs) < 2:
        return ""
    lines = []
    for number, tab in enumerate(tabs, 1):
        try:
            title = call_within(tab, _LOOK_MS, tab.title)
        except Error:
            title = ""
        shown = " (shown here)" if tab is front else ""
        told = f"{_literal(' '.join(title.split())[:100])} {tab.url[:200]}"
        lines.append(f"tab {number} {told}{shown}")
    return "\n".join(lines) + "\n"


# -- looking ---------------------------------------------------------------------------


def _read_download(tools: Tools, page: Page, count: int) -> Fitted:
    """Show what the newest download holds; the script needs no line for that."""
    read = read_download(tools, page, count)
    if read is None:
        return Fitted("", NO_DOWNLOAD)
    # The name is the page's, and must not end the comment.
    name = json.dumps(read.name)
    return Fitted(f"# read_download(): {name}", logged=f"download {name}: {read.content}")


def _shown_more(action: Action, tools: Tools) -> Fitted:
    """Have the next listing show more of a list that this one shortens."""
    if not tools.folds.listed:
        return Fitted("", "the list above is not shortened anywhere")
    try:
        tools.folds.ask(*action.values)
    except LookupError as error:
        return Fitted("", str(error.args[0]))
    return Fitted(action.code)
