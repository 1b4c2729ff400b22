"""`page.get_by_sight(…)`: the vision locator in the step language."""

from functools import partial
from typing import TYPE_CHECKING

from pytest_autoweb.attempt.asking import charge
from pytest_autoweb.attempt.tools import Tools, change
from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.prompts import render
from pytest_autoweb.locate.eyes import VisionModel
from pytest_autoweb.locate.memory import Memory
from pytest_autoweb.locate.sight import LocatorResult, Sight
from pytest_autoweb.results import Attempt, LocatorStatus
from pytest_autoweb.sandbox.base import StepCallError

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Locator, Page

_ENDS: dict[LocatorStatus, str] = {
    "found": "found",
    "not_found": "nothing on the page fits it",
    "ambiguous": "several elements fit it: describe what tells the one apart",
    "inconsistent": "the model's answers contradict each other: describe it by what can be seen",
    "budget": "it was not sure after all calls: describe it more exactly",
}


def with_sight(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """A prompt for a script, told of `get_by_sight` where the cell offers it."""
    if "get_by_sight" not in tools.offered:
        return messages
    *before, last = messages
    text = f"{last.content}\n\n{render('sight')[1].content}"
    return (*before, last.model_copy(update={"content": text}))


class SightAtHand:
    """Finds elements for the steps of one attempt, and leaves each search on it.

    Args:
        tools: of the attempt.
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
        self._eyes = VisionModel(tools.client, request, tools.redact)
        self._memory = Memory()
        self._pictures = 0

    def find(
        self,
        found_on: "Page | Frame | Locator",
        description: str,
        *,
        expected_text: str = "",
        role: str = "",
    ) -> "Locator":
        """The element that a model finds by the description; for `Border.finders`.

        Raises:
            StepCallError: it was not found for certain.
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
        tools.after_step.append(partial(_left_on, result))
        location = result.location
        tools.log.write(
            f"get_by_sight({description!r:.80}): {location.status} after {location.calls} calls"
        )
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


def _left_on(result: LocatorResult, attempt: Attempt) -> Attempt:
    for exchange in result.transcript:
        attempt = charge(attempt, "locate", exchange)
    return change(attempt, locations=(*attempt.locations, result.location))


def _page_of(found_on: "Page | Frame | Locator") -> "Page":
    from playwright.sync_api import Page

    return found_on if isinstance(found_on, Page) else found_on.page
