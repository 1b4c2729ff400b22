"""The finders `get_by_mark` and `get_by_sight` of the step language, and what prompts say of them.

How they find elements is told in `marked_elements` and `sight_finder`, which few cells need.
"""

# Late imports: marks and the search by sight, with all that they lead to.

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.agents.attempt.found_place import found_told
from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.browser.page.element_locators import plain_locator
from pytest_autoweb.browser.page.same_element import is_positional, pinned
from pytest_autoweb.models.messages import Message
from pytest_autoweb.models.prompts import render
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.sandbox.allowed_members import FINDERS

if TYPE_CHECKING:
    from pytest_autoweb.browser.marks.marking import MarkedPage

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

    def hold(self, marked: "MarkedPage | None") -> None:
        """Use this picture's numbers from now on; None means a new picture for each call."""
        self._held = marked

    def find(
        self, found_on: Page | Frame | Locator, number: int, expected_text: str = ""
    ) -> Locator:
        """Return the marked element if it has the expected text; for `SandboxBorder.finders`.

        Raises:
            StepCallError: there is no such mark, or it has another text.
        """
        from pytest_autoweb.agents.attempt import marked_elements

        if self._held is not None:
            return marked_elements.unchanged(self._held, number, expected_text)
        page = found_on if isinstance(found_on, Page) else found_on.page
        return marked_elements.found_now(page, number, expected_text, hide=self._hide)


def with_sight(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """Return a prompt for a script, with the rules of `get_by_sight` if the cell offers it."""
    if "get_by_sight" not in tools.offered:
        return messages
    *before, last = messages
    text = f"{last.content}\n\n{render('sight')[1].content}"
    return (*before, last.model_copy(update={"content": text}))


def with_marks(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """Return a prompt for a script with the marked picture, for `--autoweb-visual-supplement`."""
    if not (tools.settings.visual_supplement and tools.spec.vision):
        return messages
    from pytest_autoweb.agents.attempt import marked_elements

    return marked_elements.with_picture(messages, tools)


def sight_finder(tools: Tools) -> Callable[..., Locator]:
    """Return the finder of elements by sight, for `SandboxBorder.finders`."""
    from pytest_autoweb.agents.attempt.sight_finder import SightFinder

    return SightFinder(tools).find


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
