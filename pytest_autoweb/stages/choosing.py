"""From a decision on a marked picture to the element that it surely means."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.act.actions import Action, OnElement
from pytest_autoweb.act.grammar import fits
from pytest_autoweb.act.twins import resolve_apart
from pytest_autoweb.act.verify import Choice, Resolution
from pytest_autoweb.browser.marks import Mark
from pytest_autoweb.stages.base import Tools
from pytest_autoweb.stages.sight import View, look_again


class Chosen(NamedTuple):
    """A decision with what verification made of it."""

    view: View
    """On which its number counts; the second look's, if there was one."""
    resolution: Resolution | None = None
    """None: it is about no element."""
    second_look: bool = False

    @property
    def mark(self) -> Mark | None:
        """The element to act on."""
        return self.resolution.mark if self.resolution else None

    @property
    def told_apart(self) -> bool:
        """Whether what was meant is one element, or none, but not several."""
        return self.resolution is None or not self.resolution.candidates


def verified(
    action: Action, view: View, tools: Tools, ask_again: Callable[[View, str], Action | None]
) -> Chosen:
    """The element that is meant; if several may be, one second look shows only these.

    Args:
        action: the decision.
        view: that it was made on.
        tools: of the page.
        ask_again: asks for a decision on another view, told the text that several elements have.
    """
    if not isinstance(action, OnElement):
        return Chosen(view)
    # A text only stands for elements on which the action can be done.
    number = action.mark_id
    fitting = [m for m in view.marks if m.number == number or fits(action.action, m)]
    first = resolve_apart(Choice(number, action.expected_text, action.near), fitting)
    if not first.candidates:
        return Chosen(view, first)
    closer = look_again(view, tools, first.candidates)
    again = ask_again(closer, action.expected_text)
    if not isinstance(again, OnElement):
        return Chosen(view, first, second_look=True)
    near = again.near or action.near
    second = resolve_apart(
        Choice(again.mark_id, action.expected_text, near), closer.marks, again=True
    )
    found = second.mark
    same = next((m for m in view.marks if found and m.identity == found.identity), None)
    # The record keeps to the numbers of its picture, the first one.
    kept: dict[str, object] = {"reason": second.chosen.reason, "verdict": second.chosen.verdict}
    if same is None:
        chosen = first.chosen.model_copy(update=kept)
        return Chosen(view, first._replace(chosen=chosen), second_look=True)
    if same.number != number:
        kept |= {"taken": same.number, "box": tuple(same.box)}
    chosen = first.chosen.model_copy(update=kept)
    return Chosen(closer, second._replace(chosen=chosen), second_look=True)
