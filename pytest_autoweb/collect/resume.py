"""Finds the way to the next page of a list, and back to where a stopped collection was."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from playwright.sync_api import Error, Locator

from pytest_autoweb.cases.case import PageParameter
from pytest_autoweb.choice.expected_text import compare_element
from pytest_autoweb.collect.list_entries import ListEntry
from pytest_autoweb.collect.list_site import CLICK_MS, Site, Way
from pytest_autoweb.collect.next_page_control import by_text, choose_next
from pytest_autoweb.collect.saved_state import Collection, CollectProgress, NavStep
from pytest_autoweb.page.quiet import wait_until_quiet
from pytest_autoweb.page.run_script import run_on_elements

_FROM_ZERO = ("offset", "start", "skip", "from")


def next_by_parameter(url: str, given: PageParameter) -> str:
    """Return the address of the page after `url`, with its parameter one step further.

    A page without the parameter is the first one. An `offset` counts entries, so its step is the
    number of entries on a page, which the case gives.
    """
    now = parameter_of(url, given.parameter)
    if now is None:
        zero = given.parameter.lower() in _FROM_ZERO
        now = given.start if given.start is not None else 0 if zero else 1
    return with_parameter(url, given.parameter, now + given.step)


def predicted(before: str, now: str) -> str:
    """Return the address that follows those of two consecutive pages; empty when it is unclear.

    It is clear when exactly one parameter differs and is a number that has grown. It then grows by
    the same amount again, which also suits offsets. A parameter that the first page lacks counts as
    1 there if the second page has 2, else as 0.
    """
    if urlsplit(before)._replace(query="") != urlsplit(now)._replace(query=""):
        return ""
    first, second = _numbers(before), _numbers(now)
    changed = [name for name in second if first.get(name) != second[name]]
    if len(changed) != 1 or _others(before, changed[0]) != _others(now, changed[0]):
        return ""
    name = changed[0]
    value = second[name]
    start = first.get(name, 1 if value == 2 else 0)
    return with_parameter(now, name, value + value - start) if value > start else ""


def parameter_of(url: str, name: str) -> int | None:
    """Return the number in a parameter of the address, or None."""
    return _numbers(url).get(name)


def with_parameter(url: str, name: str, value: int) -> str:
    """Return the address with one parameter set and the others exactly as they were."""
    parts = urlsplit(url)
    setting = f"{quote(name)}={value}"
    pieces = [piece for piece in parts.query.split("&") if piece]
    kept = [setting if piece.partition("=")[0] == quote(name) else piece for piece in pieces]
    if setting not in kept:
        kept.append(setting)
    return urlunsplit(parts._replace(query="&".join(kept)))


def _numbers(url: str) -> dict[str, int]:
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {name: int(value) for name, value in pairs if value.isdecimal() and len(value) <= 9}


def _others(url: str, name: str) -> list[tuple[str, str]]:
    return [pair for pair in parse_qsl(urlsplit(url).query) if pair[0] != name]


class NextWay(NamedTuple):
    """The way to the next page, or the reason why there is none."""

    way: Way | None
    ended: str
    """The reason why this is the last page; empty when it may not be."""


def usual_way(site: Site, collection: Collection, page_number: int) -> NextWay:
    """Return the way from the page that is shown to the next one.

    Args:
        site: the site, whose page shows a page of the list.
        collection: the collection, which may give the way.
        page_number: the number of the current page, for pages that do not show it.
    """
    given = collection.next
    if given and given.parameter:
        return NextWay(Way(url=next_by_parameter(site.page.url, given.parameter)), "")
    controls = site.controls()
    if given:
        named = by_text(controls, given.text) if given.text else None
        if named:
            return NextWay(site.way_of(named), "the last page" if named.disabled else "")
        for xpath in given.xpaths:
            if site.page.locator(f"xpath={xpath}").count() == 1:
                return NextWay(Way(xpath=xpath, text=given.text), "")
    choice = choose_next(controls, page_number)
    if choice.control is not None:
        return NextWay(site.way_of(choice.control), "")
    return NextWay(None, "the last page" if choice.reason == "disabled" else "")


_FIND_MS = 3_000
_POLL_MS = 100


def replay_steps(
    site: Site, steps: Sequence[NavStep], reveal: Callable[[str], str] = lambda text: text
) -> str:
    """Replay recorded steps on the page; return why they stopped, empty if all were done.

    Args:
        site: the list, freshly opened.
        steps: the recorded steps.
        reveal: replaces the placeholders of secrets.
    """
    for number, step in enumerate(steps, 1):
        if problem := do_step(site, step, reveal):
            return f"step {number} ({step.action} {step.expected_text!r}): {problem}"
        wait_until_quiet(site.page)
    return ""


def do_step(site: Site, step: NavStep, reveal: Callable[[str], str] = lambda text: text) -> str:
    """Do one step; return why it could not be done, empty if it was."""
    try:
        if step.action == "press":
            site.page.keyboard.press(step.key or "Enter")
            return ""
        located = _find(site, step)
        if located is None:
            return "it is not on the page"
        return _perform(located, step, reveal)
    except Error as error:
        return str(error).strip().splitlines()[0]


def _perform(located: Locator, step: NavStep, reveal: Callable[[str], str]) -> str:
    read = run_on_elements(located, "marks_texts", "name")[0]
    found = compare_element(step.expected_text, (*read["texts"], read["name"]))
    # The text of a field depends on what was typed there before, so only clicks compare it.
    if found.verdict == "mismatch" and step.action == "click":
        return found.reason
    if step.action == "click":
        located.click(timeout=CLICK_MS)
    elif step.action == "type":
        located.fill(reveal(step.text), timeout=CLICK_MS)
    else:
        located.select_option(label=step.text, timeout=CLICK_MS)
    return ""


def _find(site: Site, step: NavStep) -> Locator | None:
    """Return the element by the first XPath that finds exactly one, waiting for it a little."""
    for _ in range(_FIND_MS // _POLL_MS):
        for xpath in step.xpaths:
            located = site.page.locator(f"xpath={xpath}")
            if located.count() == 1:
                return located
        site.page.wait_for_timeout(_POLL_MS)
    return None


_JUMP_FIELDS = (
    "[class*=pag] input[type=number], [class*=pag] input[type=text], "
    "[class*=pag] input:not([type]), [class*=jump] input, input[name=page], "
    "input[aria-label*=page i], input[aria-label*=页]"
)
_FIELD_MS = 3_000.0


class Reached(NamedTuple):
    """The page that was reached."""

    at: Literal["next", "done", "start"]
    """`next`: the page after the last one done; `done`: the last one done; `start`: the first."""
    how: str


def go_back_to(
    site: Site, progress: CollectProgress, reveal: Callable[[str], str] = lambda text: text
) -> Reached:
    """Open the page after the last one that was done, or the closest page before it.

    These are tried in order: the address of the next page; the address of the last page, if pages
    have addresses; a field that jumps to a page; turning pages from the first one until the last
    one is recognised by its entries. If none works, collecting starts at the first page again;
    known addresses are not counted twice.
    """
    if progress.next_url and site.open(progress.next_url).kind == "ok":
        entries = site.wait_for_entries(progress.collection)
        if entries and not _is_done(entries, progress):
            return Reached("next", "its address")
    if problem := _open_list(site, progress, reveal):
        site.note(f"collect: {problem}")
    if progress.current_page_num == 0:
        return Reached("start", "nothing was done yet")
    here = site.wait_for_entries(progress.collection)
    if _is_done(here, progress):
        return Reached("done", "it is the first page")
    if _jump(site, progress):
        return Reached("done", "the page's own field for the page")
    for number in range(1, progress.current_page_num):
        way = usual_way(site, progress.collection, number).way
        if way is None or site.take(way, here, progress.collection).kind != "ok":
            break
        here = site.entries(progress.collection)
        if _is_done(here, progress):
            return Reached("done", "turning from the first page")
    _open_list(site, progress, reveal)
    return Reached("start", "the page was not found again")


def _open_list(site: Site, progress: CollectProgress, reveal: Callable[[str], str]) -> str:
    """Open the last page done if it has an address, else the list, and replay the filters."""
    own = progress.page_url and progress.page_url != progress.list_url
    if own and not progress.collection.nav_steps:
        return site.open(progress.page_url).problem
    move = site.open(progress.list_url)
    return move.problem or replay_steps(site, progress.collection.nav_steps, reveal)


def _is_done(entries: tuple[ListEntry, ...], progress: CollectProgress) -> bool:
    """Tell whether more than half of the last page's entries are among these.

    Not all are demanded, because a list may gain and lose entries between two runs.
    """
    known = set(progress.page_items)
    same = sum(entry.key in known for entry in entries)
    return bool(known) and same > len(known) / 2


def _jump(site: Site, progress: CollectProgress) -> bool:
    field: Locator = site.page.locator(_JUMP_FIELDS)
    before = site.entries(progress.collection)
    try:
        if field.count() != 1 or not field.is_visible():
            return False
        field.fill(str(progress.current_page_num), timeout=_FIELD_MS)
        field.press("Enter", timeout=_FIELD_MS)
    except Error:
        return False
    site.grew(before, progress.collection)
    return _is_done(site.entries(progress.collection), progress)
