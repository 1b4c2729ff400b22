"""A marked page in a prompt, and the elements that its numbers stand for."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from playwright.sync_api import Error, Locator, Page

from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.choice.expected_text import TextComparison
from pytest_autoweb.agents.choice.feedback import problem_of
from pytest_autoweb.agents.choice.partial_text import part_of
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution, compare_mark, resolve
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, listing, mark_page, text_at
from pytest_autoweb.browser.page.same_element import RowsMovedError
from pytest_autoweb.models.messages import Message, picture_uri
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.results.records import ChosenMark
from pytest_autoweb.sandbox.engine import StepCallError


def with_picture(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """Return a prompt with the marked picture of the page, and a list of its marks."""
    try:
        marked = mark_page(tools.page, hide=tools.hidden)
    except Error as error:
        # The picture is only a supplement, so the attempt continues without it.
        tools.log.write(f"the page could not be marked: {error}")
        return messages
    listed = fence(tools.redact(listing(marked.marks, "", max_chars=0)), "marks")
    *before, last = messages
    text = f"{last.content}\n\n{render('marks', marks=listed)[1].content}"
    images = (*last.images, picture_uri(marked.picture))
    return (*before, last.model_copy(update={"content": text, "images": images}))


def found_now(
    page: Page, number: int, expected: str, *, hide: Callable[[str], str] | None
) -> Locator:
    """Mark a page afresh, and return the element that has the expected text.

    The text decides and the number is a hint, as in `verify_choice.resolve`.

    Raises:
        StepCallError: there is no such mark, or it has another text.
    """
    marked = mark_page(page, hide=hide)
    found = resolve(Choice(number, expected), marked.marks)
    locator = _kept(marked, found.mark.number) if found.mark else None
    if locator is None:
        raise _refusal(found, marked.marks)
    return locator


def unchanged(marked: MarkedPage, number: int, expected: str) -> Locator:
    """Return the element of a mark that a choice was resolved to, if its text is still the same.

    Raises:
        StepCallError: the element is gone, or has another text by now.
    """
    mark = marked.mark(number)
    locator = _kept(marked, number) if mark else None
    live = text_at(locator) if locator else None
    if mark is None or live is None or locator is None:
        reason = f"the element of mark {number} is gone"
        gone = ChosenMark(mark=number, expected_text=expected, verdict="mismatch", reason=reason)
        raise _refusal(Resolution("element_gone", gone, None), marked.marks)
    if (now := with_live_text(mark, live)) is not mark:
        comparison = compare_mark(expected, now)
        if not comparison.allowed and not _is_still_part(expected, mark, now):
            chosen = _chosen(now, expected, comparison)
            raise _refusal(Resolution("text_changed", chosen, None), marked.marks)
    if moved := marked.moved(number, locator):
        raise _moved(moved)
    return locator


def _kept(marked: MarkedPage, number: int) -> Locator | None:
    try:
        return marked.kept(number)
    except RowsMovedError as error:
        raise _moved(error) from None


def _moved(why: object) -> StepCallError:
    return StepCallError(f"{why}: look again before you act", moved=True)


def _is_still_part(expected: str, before: Mark, now: Mark) -> bool:
    """Return whether the text was a part of an element's text, and is one of its new text."""
    then, part = part_of(expected, before), part_of(expected, now)
    if compare_mark(expected, before).allowed or then is None or part is None:
        return False
    return then.needs_confirmation or not part.needs_confirmation


def with_live_text(mark: Mark, live: str) -> Mark:
    """Return the mark with its element's current text; the same mark if that is unchanged."""
    # The mark keeps only the beginning of a long text, so the live text may be longer.
    if live.startswith(mark.text):
        return mark
    # A name derived from the text has changed with it.
    name = live if mark.name == mark.text else mark.name
    painted = mark.painted and tuple(live if text == mark.text else text for text in mark.painted)
    texts = (live, *mark.texts[1:])
    return replace(mark, text=live, texts=texts, lines=(), painted=painted, name=name)


def _chosen(mark: Mark, expected: str, found: TextComparison) -> ChosenMark:
    return ChosenMark(
        mark=mark.number,
        expected_text=expected,
        actual_text=mark.text,
        verdict=found.verdict,
        reason=found.reason,
        box=mark.box,
    )


def _refusal(found: Resolution, marks: Sequence[Mark]) -> StepCallError:
    line = problem_of(found, marks, phase="act", step=0, english=True).line
    chosen = found.chosen.model_dump(mode="json")
    return StepCallError(line, verdict=found.chosen.verdict, status=found.status, chosen=chosen)
