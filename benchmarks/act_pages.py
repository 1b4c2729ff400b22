"""The pages of `benchmarks/act.py`: marked, with every element read as a person would read it."""

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page

from pytest_autoweb.agents.choice.disambiguate import distinguishing_texts, place
from pytest_autoweb.browser.marks.marking import LISTED_FOR_MODELS, Mark, MarkedPage, mark_page

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.marks_pages import DOCS, all_pages

GROUPS = ("miniwob", "town", "admin", *(f"docs-{name}" for name in DOCS))
READ = r"""element => {
  const said = (text) => (text || '').replace(/[\uE000-\uF8FF]/g, '').trim();
  const label = () => {
    const copy = element.labels?.[0]?.cloneNode(true);
    copy?.querySelectorAll('select, textarea, input, button').forEach((part) => part.remove());
    return said(copy?.textContent.replace(/\s+/g, ' '));
  };
  if (element.localName === 'input' && ['submit', 'button', 'reset'].includes(element.type)) {
    return said(element.value);
  }
  if (['checkbox', 'radio'].includes(element.type)) return label() || element.type;
  if (['input', 'textarea', 'select'].includes(element.localName)) {
    return label() || said(element.placeholder) || said(element.value) || 'field';
  }
  return said(element.innerText);
}"""
"""A script that returns what a person reads on an element."""
ROW = r"""element => {
  const row = element.closest(
    'tr, li, dd, article, fieldset, [role=row], [role=listitem], .card, form, section');
  const lines = row ? row.innerText.split(/[\n\t]+/) : [];
  return lines.map((line) => line.trim()).filter((line) => /[\p{L}\p{N}]/u.test(line));
}"""
"""A script that returns what a person reads around an element."""


class Target(NamedTuple):
    """One element to choose among all elements of its page."""

    page: str
    mark: Mark
    text: str
    """The text as a person reads it; empty for an icon."""
    lines: tuple[str, ...]
    """The lines that a person reads around it."""


@dataclass(frozen=True)
class Shown:
    """A page as far as a choice needs it."""

    name: str
    marks: tuple[Mark, ...]
    texts: tuple[str, ...]
    """The texts as the browser shows them, in the order of the marks."""
    rows: tuple[tuple[str, ...], ...]
    """The lines around each of them."""

    def targets(self) -> Iterator[Target]:
        """Yield every element, each once."""
        for mark, text, lines in zip(self.marks, self.texts, self.rows, strict=True):
            yield Target(self.name, mark, text, lines)

    def kind_of(self, target: Target) -> str:
        """Return a key of `NAMES` for the element."""
        if len(twins := self.twins(target)) == 1:
            return "unique" if target.text else "bare"
        if all(same_address(other.mark, target.mark) for other in twins):
            return "links"
        placed = place(target.mark, [other.mark for other in twins])
        told = distinguishing_texts([other.mark for other in twins])[target.mark.number]
        if not (self.near(target) or told != placed):
            return "placed"
        return "shared" if target.text else "bare"

    def twins(self, target: Target) -> list[Target]:
        """Return the elements that read alike, this one among them."""
        return [other for other in self.targets() if alike(other.text, target.text)]

    def near(self, target: Target) -> str:
        """Return the first line around the element that none of its twins has, if there is one."""
        twins = [one for one in self.twins(target) if one.mark != target.mark]
        others = {tight(line) for one in twins for line in one.lines}
        own = (line for line in target.lines if tight(line) not in others)
        return (
            next((line for line in own if tight(line) not in tight(target.text)), "")
            if twins
            else ""
        )


def alike(first: str, second: str) -> bool:
    """Tell whether people could not tell the texts apart by what they say."""
    plain = (" ".join(unicodedata.normalize("NFKC", t).split()).casefold() for t in (first, second))
    return len(set(plain)) == 1


def tight(text: str) -> str:
    """Return the text without spaces and case."""
    return "".join(text.split()).casefold()


def shown_pages(page: Page, groups: Sequence[str]) -> Iterator[Shown]:
    """Yield every page, marked, with its elements read by other means than the marks are."""
    for group, name in all_pages(page, groups):
        marked = mark_page(page, limit=LISTED_FOR_MODELS)
        texts = tuple(str(_read(marked, mark.number, READ) or "") for mark in marked.marks)
        rows = tuple(tuple(_read(marked, mark.number, ROW) or ()) for mark in marked.marks)
        if len(marked.marks) > 1:
            yield Shown(f"{group}/{name}", marked.marks, texts, rows)


def _read(marked: MarkedPage, number: int, code: str) -> Any:
    found = marked.locator(number)
    return found.evaluate(code) if found else None


def same_address(first: Mark, second: Mark) -> bool:
    """Tell whether both are links to the same page, so that it does not matter which is clicked."""
    return bool(first.url) and first.url == second.url and not first.url.endswith("#")
