"""The marked page that numbers refer to, and how `page.get_by_mark(…)` finds elements on it."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_autoweb.act.matching import shown
from pytest_autoweb.act.verify import Choice, compare_mark, resolve
from pytest_autoweb.browser.marks import Mark, MarkedPage, mark_page
from pytest_autoweb.results import ChosenMark
from pytest_autoweb.sandbox.base import StepCallError

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Locator, Page


class MarksAtHand:
    """Remembers the marked page that a decision was made on.

    Without one (in scripts) each call marks the page as it is then.

    Args:
        hide: takes the case's secrets out of text; None: there are none.
    """

    def __init__(self, hide: Callable[[str], str] | None = None) -> None:
        self._hide = hide
        self._held: MarkedPage | None = None

    @property
    def held(self) -> bool:
        """Whether numbers are those of a picture that was shown to the model."""
        return self._held is not None

    def hold(self, marked: MarkedPage | None) -> None:
        """From now on numbers are those of this picture; None: of a picture taken when asked."""
        self._held = marked

    def find(
        self, found_on: "Page | Frame | Locator", number: int, expected_text: str = ""
    ) -> "Locator":
        """The marked element, if it reads what is expected; for `Border.finders`.

        In a script the text decides, as in `verify.resolve`: the number is a hint. On a picture
        that is held the choice was resolved already, so only the live text is compared again.

        Raises:
            StepCallError: there is no such mark, or its text is another one.
        """
        if self._held is not None:
            return self._unchanged(self._held, number, expected_text)
        marked = mark_page(_page_of(found_on), hide=self._hide)
        found = resolve(Choice(number, expected_text), marked.marks)
        locator = marked.locator(found.mark.number) if found.mark else None
        if locator is None:
            raise _refusal(found.chosen)
        return locator

    def _unchanged(self, marked: MarkedPage, number: int, expected: str) -> "Locator":
        mark, live = marked.mark(number), marked.text_of(number)
        locator = marked.locator(number)
        if mark is None or live is None or locator is None:
            gone = ChosenMark(
                mark=number,
                expected_text=expected,
                verdict="mismatch",
                reason=f"the element of mark {number} is gone",
            )
            raise _refusal(gone)
        if not live.startswith(mark.text):
            name = live if mark.name == mark.text else mark.name
            now = replace(mark, text=live, texts=(live, *mark.texts[1:]), name=name)
            comparison = compare_mark(expected, now)
            if not comparison.allowed:
                chosen = _chosen(now, expected)
                update = {"verdict": comparison.verdict, "reason": comparison.reason}
                raise _refusal(chosen.model_copy(update=update))
        return locator


def _chosen(mark: Mark, expected: str) -> ChosenMark:
    return ChosenMark(
        mark=mark.number,
        expected_text=expected,
        actual_text=mark.text,
        verdict="mismatch",
        reason="",
        box=tuple(mark.box),
    )


def _refusal(chosen: ChosenMark) -> StepCallError:
    expected, actual = shown(chosen.expected_text), shown(chosen.actual_text)
    line = f"[{chosen.mark}] 验证失败: 期望'{expected}' 实际'{actual}' ({chosen.reason})"
    return StepCallError(line, verdict=chosen.verdict, chosen=chosen.model_dump(mode="json"))


def _page_of(found_on: "Page | Frame | Locator") -> "Page":
    """Return the page of a Page, Frame or Locator."""
    from playwright.sync_api import Page

    return found_on if isinstance(found_on, Page) else found_on.page
