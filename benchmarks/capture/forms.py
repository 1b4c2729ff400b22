"""The forms in which this package shows a page to a model."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from playwright.sync_api import Page

from benchmarks.capture.entries import Entry, outline_entries
from pytest_autoweb.browser.marks.mark_list import page_list
from pytest_autoweb.browser.marks.marking import mark_page
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.numbered_list import numbered_listing
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.browser.page.small_list import small_view

BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a page, and how its notation is read."""

    show: Callable[[Page], str]
    read: Callable[[str], Iterable[Entry]] = outline_entries


def _captured(mode: str, *, brief: bool) -> Form:
    def show(page: Page) -> str:
        return capture_snapshot(
            page,
            mode,
            url=page.url,
            entry_action="",
            step_indexes=(),
            budget_tokens=BUDGET,
            folds=Folds() if brief else None,
        ).text

    return Form(show)


def _listed(page: Page) -> str:
    return numbered_listing(page, budget_tokens=BUDGET).text


def _marked(page: Page) -> str:
    marked = mark_page(page, lines=True)
    return page_list(marked, marked.marks, max_chars=4 * BUDGET)


def _read_marked(text: str) -> Iterable[Entry]:
    options = dict(re.findall(r"^\[(\d+)\] options: (.*)$", text, re.MULTILINE))
    for entry in outline_entries(text, all_numbered=True):
        if entry.head.startswith("options:"):
            continue
        entry.said += "\n" + options.get(entry.number, "")
        yield entry


FORMS: Mapping[str, Form] = {
    "turns": _captured("ARIA", brief=True),
    "refs": Form(_listed),
    "refs, small": Form(lambda page: small_view(page, budget_tokens=BUDGET).text),
    "act": Form(_marked, _read_marked),
    "ARIA": _captured("ARIA", brief=False),
    "ARIA_SNAPSHOT": _captured("ARIA_SNAPSHOT", brief=False),
    "A11Y": _captured("A11Y", brief=False),
}
"""`refs, small` is what small models get, `act` shows the viewport only."""
