"""How `page.get_by_sight(…)` of the step language finds an element: a model looks for it."""

from functools import partial

from msgspec.structs import replace
from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.agents.attempt.marked_elements import with_live_text
from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.choice.expected_text import TextComparison
from pytest_autoweb.agents.choice.verify_choice import compare_mark
from pytest_autoweb.agents.locate.interview import VisionModel
from pytest_autoweb.agents.locate.locator import LocatorResult, Memory, Sight
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.browser.page.frames import run_on_elements
from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import Attempt, Location, LocatorStatus
from pytest_autoweb.sandbox.engine import StepCallError

_ENDS: dict[LocatorStatus, str] = {
    "found": "found",
    "not_found": "nothing on the page fits it",
    "ambiguous": "several elements fit it: describe what tells the one apart",
    "inconsistent": "the model's answers contradict each other: describe it by what can be seen",
    "budget": "it was not sure after all calls: describe it more exactly",
}

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


def _page_of(found_on: Page | Frame | Locator) -> Page:
    return found_on if isinstance(found_on, Page) else found_on.page


def _compared(result: LocatorResult, expected: str) -> Location:
    """Return a search's result with the text that it found compared."""
    mark, location = result.mark, result.location
    if result.status != "found" or mark is None:
        return location.model_copy(update={"expected_text": expected})
    if result.element is not None:
        texts = run_on_elements(result.element, "marks_texts")
        mark = with_live_text(mark, str(texts[0][0]) if texts and texts[0] else "")
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


def _with_search(result: LocatorResult, attempt: Attempt) -> Attempt:
    for exchange in result.transcript:
        attempt = attempt.charged(exchange)
    number = attempt.step_results[-1].step_index if attempt.step_results else 0
    location = result.location.model_copy(update={"step_index": number})
    return change(attempt, locations=(*attempt.locations, location))
