"""How `page.get_by_mark(…)` and `page.get_by_sight(…)` of the step language find elements."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.agents.attempt.found_place import found_told
from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.choice.expected_text import TextComparison
from pytest_autoweb.agents.choice.feedback import problem_of
from pytest_autoweb.agents.choice.partial_text import part_of
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution, compare_mark, resolve
from pytest_autoweb.agents.locate.interview import VisionModel
from pytest_autoweb.agents.locate.locator import LocatorResult, Memory, Sight
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, mark_page, text_at
from pytest_autoweb.browser.page.element_locators import plain_locator
from pytest_autoweb.browser.page.frames import run_on_elements
from pytest_autoweb.browser.page.same_element import RowsMovedError, is_positional, pinned
from pytest_autoweb.models.client import Message, Request
from pytest_autoweb.models.prompts import render
from pytest_autoweb.results.records import Attempt, ChosenMark, Location, LocatorStatus
from pytest_autoweb.sandbox.allowed_members import FINDERS
from pytest_autoweb.sandbox.engine import StepCallError

NOT_LOCATED = "?"
"""Placeholder in a record for an element that was found but has no locator."""


class MarkFinder:
    """Finder of elements by the numbers of the marked page that a decision was made on.

    Scripts are not written against a marked page, so each of their calls marks the page afresh.

    Args:
        hide: removes the case's secrets from text; None if there are none.
    """

    def __init__(self, hide: Callable[[str], str] | None = None) -> None:
        self._hide = hide
        self._held: MarkedPage | None = None

    @property
    def held(self) -> bool:
        """Whether the numbers refer to a picture that the model was shown."""
        return self._held is not None

    def hold(self, marked: MarkedPage | None) -> None:
        """Use this picture's numbers from now on; None means a new picture for each call."""
        self._held = marked

    def find(
        self, found_on: Page | Frame | Locator, number: int, expected_text: str = ""
    ) -> Locator:
        """Return the marked element if it has the expected text; for `SandboxBorder.finders`.

        In a script the text decides and the number is a hint, as in `verify_choice.resolve`. For a
        held picture the choice is already resolved, so only the live text is compared again.

        Raises:
            StepCallError: there is no such mark, or it has another text.
        """
        if self._held is not None:
            return self._unchanged(self._held, number, expected_text)
        marked = mark_page(_page_of(found_on), hide=self._hide)
        found = resolve(Choice(number, expected_text), marked.marks)
        locator = _kept(marked, found.mark.number) if found.mark else None
        if locator is None:
            raise _refusal(found, marked.marks)
        return locator

    def _unchanged(self, marked: MarkedPage, number: int, expected: str) -> Locator:
        mark = marked.mark(number)
        locator = _kept(marked, number) if mark else None
        live = text_at(locator) if locator else None
        if mark is None or live is None or locator is None:
            reason = f"the element of mark {number} is gone"
            gone = ChosenMark(
                mark=number, expected_text=expected, verdict="mismatch", reason=reason
            )
            raise _refusal(Resolution("element_gone", gone, None), marked.marks)
        if (now := _with_live_text(mark, live)) is not mark:
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


def _with_live_text(mark: Mark, live: str) -> Mark:
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


def _page_of(found_on: Page | Frame | Locator) -> Page:
    return found_on if isinstance(found_on, Page) else found_on.page


_ENDS: dict[LocatorStatus, str] = {
    "found": "found",
    "not_found": "nothing on the page fits it",
    "ambiguous": "several elements fit it: describe what tells the one apart",
    "inconsistent": "the model's answers contradict each other: describe it by what can be seen",
    "budget": "it was not sure after all calls: describe it more exactly",
}


def with_sight(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """Return a prompt for a script, with the rules of `get_by_sight` if the cell offers it."""
    if "get_by_sight" not in tools.offered:
        return messages
    *before, last = messages
    text = f"{last.content}\n\n{render('sight')[1].content}"
    return (*before, last.model_copy(update={"content": text}))


UNVERIFIED_LIMIT = 0.9
"""Search confidence below which an element without comparable text is not acted on."""
_NO_TEXT = "there is no text to compare, so the confidence of the search decides"


class SightFinder:
    """Finder of elements by sight for one attempt's steps; records each search on the attempt.

    A found element is compared with the expected text, if one is given.

    Args:
        tools: the tools of the attempt.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        number = tools.previous.attempt_index + 1 if tools.previous else 1
        request = Request(
            model=tools.spec.name,
            messages=(),
            stage="locate",
            case_id=tools.case.id,
            capture_mode=tools.mode,
            repeat=tools.repeat,
            attempt=number,
        )
        constrained = tools.spec.constrained != "none"
        self._eyes = VisionModel(
            tools.client,
            request,
            tools.redact,
            constrained=constrained,
            fences=tools.spec.fences,
        )
        self._memory = Memory()
        self._pictures = 0

    def find(
        self,
        found_on: Page | Frame | Locator,
        description: str,
        *,
        expected_text: str = "",
        role: str = "",
    ) -> Locator:
        """Return the element that a model finds by its description; for `SandboxBorder.finders`.

        Raises:
            StepCallError: the element was not found for certain, has another text than is expected,
                or has none and the search was not sure enough.
        """
        if not isinstance(description, str) or not description.strip():
            raise StepCallError("get_by_sight() takes a description of what can be seen")
        tools = self._tools
        tools.progress("looking")
        sight = Sight(
            _page_of(found_on),
            self._eyes,
            algorithm=tools.settings.locator,
            hide=tools.hidden,
            save=self._save,
            memory=self._memory,
        )
        result = sight.locate(description, expected_text=expected_text, role=role, within=found_on)
        if expected_text:
            result = replace(result, location=_compared(result, expected_text))
        tools.after_step.append(partial(_with_search, result))
        location = result.location
        tools.log.write(
            f"get_by_sight({description!r:.80}): {location.status} after {location.calls} calls"
        )
        if problem := _unverified(location):
            evidence = {"location": "unverified", "verdict": location.verdict}
            raise StepCallError(f"get_by_sight({description!r:.80}): {problem}", **evidence)
        # A drawing on a canvas has no element of its own; the model is told where to click.
        if result.point is not None:
            x, y = result.point
            said = f"get_by_sight({description!r:.80}): no element of its own but drawn on a canvas"
            click = f"page.mouse.click({x:.0f}, {y:.0f})"
            raise StepCallError(f"{said}; use {click}", location="drawn", click=click)
        if result.element is None:
            said = f"get_by_sight({description!r:.80}): {_ENDS[result.status]} ({location.reason})"
            raise StepCallError(said, location=result.status, calls=location.calls)
        return result.element

    def _save(self, picture: bytes) -> str:
        self._pictures += 1
        path = self._tools.folder / f"locate-{self._pictures}.png"
        path.write_bytes(picture)
        return path.relative_to(self._tools.cell_folder).as_posix()


def _compared(result: LocatorResult, expected: str) -> Location:
    """Return a search's result with the text that it found compared."""
    mark, location = result.mark, result.location
    if result.status != "found" or mark is None:
        return location.model_copy(update={"expected_text": expected})
    if result.element is not None:
        texts = run_on_elements(result.element, "marks_texts")
        mark = _with_live_text(mark, str(texts[0][0]) if texts and texts[0] else "")
    found = _comparison(expected, mark, drawn=result.point is not None)
    return location.model_copy(
        update={
            "expected_text": expected,
            "actual_text": mark.text,
            "verdict": found.verdict,
            "compared": found.reason,
        }
    )


def _comparison(expected: str, mark: Mark, *, drawn: bool) -> TextComparison:
    # The text of a canvas says nothing about one of its parts.
    found = None if drawn else compare_mark(expected, mark)
    if found is None or found.verdict == "unverifiable":
        return TextComparison("unverifiable", "no_text", _NO_TEXT)
    return found


def _unverified(location: Location) -> str:
    """Return why a search's result must not be acted on; empty if it may be."""
    if location.verdict == "mismatch":
        return f"what it found has another text: {location.compared}"
    if location.verdict == "unverifiable" and location.confidence < UNVERIFIED_LIMIT:
        return f"{location.compared}, and {location.confidence:.2f} is below {UNVERIFIED_LIMIT}"
    return ""


def noted(find: Callable[..., Locator], tools: Tools) -> Callable[..., Locator]:
    """Return a finder that also keeps, with its call, Playwright's own locator of the element.

    An exported test needs that locator, because it has neither marks nor a vision model.
    """

    def found(*args: Any, **kwargs: Any) -> Locator:
        element = find(*args, **kwargs)
        # The numbers of a picture that the model has before it need no explanation.
        if not tools.marks.held and (told := tools.redact(found_told(element))):
            tools.found.append(told)
            tools.log.write(f"found: {told}")
        plain = tools.redact(plain_locator(element))
        tools.after_step.append(partial(_with_locator, plain))
        return element

    return found


def steady(find: Callable[..., Locator]) -> Callable[..., Locator]:
    """Return a finder whose locator keeps to the element that was found, whatever moves."""

    def found(*args: Any, **kwargs: Any) -> Locator:
        element = find(*args, **kwargs)
        return pinned(element) if is_positional(element) else element

    return found


def _with_locator(plain: str, attempt: Attempt) -> Attempt:
    """Return the attempt with the locator added to the first finder call that still lacks one.

    Calls end in the same order in which their elements were found.
    """
    calls = list(attempt.tool_calls)
    last = calls[-1].step_index if calls else None
    for place, call in enumerate(calls):
        if call.step_index == last and call.method in FINDERS and call.ok and not call.located:
            calls[place] = call.model_copy(update={"located": plain or NOT_LOCATED})
            break
    return change(attempt, tool_calls=tuple(calls))


def _with_search(result: LocatorResult, attempt: Attempt) -> Attempt:
    for exchange in result.transcript:
        attempt = attempt.charged(exchange)
    number = attempt.step_results[-1].step_index if attempt.step_results else 0
    location = result.location.model_copy(update={"step_index": number})
    return change(attempt, locations=(*attempt.locations, location))
