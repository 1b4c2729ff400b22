"""Random actions among those that a page offers: the chance floor of a case."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.execute import finish_turns
from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.codegen.script_turns import carry_out, corrected
from pytest_autoweb.browser.page.acted_element import Aim, ElementChangedError
from pytest_autoweb.browser.page.frames import RefElement, RefView
from pytest_autoweb.browser.page.ref_view import numbered_view
from pytest_autoweb.results.records import Attempt

CALL_MS = 2_000
"""The longest that an action waits for its element: a random one that cannot be done is no loss."""
_TOKENS = 16_000
"""More than enough for the elements of most pages."""
_TRIES = 3
_KEYS = ("Enter", "Escape", "ArrowDown")
_WORD_CHARS = 40


class Drawn(NamedTuple):
    """An action that was drawn."""

    code: str
    """The action in the step language."""
    told: str
    """What it does, as the step's description."""


def act_at_random(attempt: Attempt, tools: Tools) -> Attempt:
    """Take as many random actions as a model has turns; then answer at random.

    The same case and repeat always draw the same numbers, so a page that has not changed is played
    in the same way again. Actions that cannot be done are left behind.
    """
    draw = Random(f"{tools.case.id}:{tools.repeat}")
    words: tuple[str, ...] = ()
    for number in range(1, tools.settings.max_turns + 1):
        view = _look(tools)
        words = _words(view) or words
        drawn = draw_action(view, words, draw)
        if drawn is None or tools.budget.left <= 0:
            break
        attempt = _take(attempt, tools, number, drawn)
    if tools.case.may_answer and words:
        answer = Drawn(f"answer({draw.choice(words)!r})", "answers with a word of the page")
        attempt = _take(attempt, tools, len(attempt.step_results) + 1, answer)
    return finish_turns(attempt, tools)


def draw_action(view: RefView, words: Sequence[str], draw: Random) -> Drawn | None:
    """Draw an element and what to do with it; None if the page offers nothing.

    Args:
        view: what the page offers.
        words: the texts that may be typed.
        draw: the source of chance.
    """
    offered = [element for element in view.elements if element.actions]
    # One that is gone by now is not drawn.
    found = map(_located, draw.sample(offered, min(_TRIES, len(offered))))
    element = next(filter(None, found), None)
    if element is None:
        return None
    method = draw.choice(element.actions)
    value = _argument(element, method, words, draw)
    told = f'{method} {element.role} "{element.name}"'.removesuffix(' ""')
    separator = ", " if value else ""
    return Drawn(f"{element.locator}.{method}({value}{separator}timeout={CALL_MS})", told)


def _located(element: RefElement) -> RefElement | None:
    """Return an element with a plain locator; None if it is gone by now."""
    try:
        return Aim(element).locate()
    except (ElementChangedError, Error):
        return None


def _argument(element: RefElement, method: str, words: Sequence[str], draw: Random) -> str:
    if method == "press":
        return repr(draw.choice(_KEYS))
    if method == "select_option":
        return f"label={draw.choice(element.options or ('',))!r}"
    if method == "fill":
        return repr(draw.choice(words or ("1",)))
    return ""


def _look(tools: Tools) -> RefView:
    try:
        return numbered_view(tools.page, budget_tokens=_TOKENS)
    except Error:
        # A page that does not answer offers nothing.
        return RefView("", ())


def _words(view: RefView) -> tuple[str, ...]:
    """Return the words and numbers of names and texts, each once, in the order of the page."""
    notation = {each.role for each in view.elements} | {each.ref for each in view.elements}
    shown = (word.strip('"|,.;:()[]?!') for word in view.text.split())
    kept = (word for word in shown if 0 < len(word) <= _WORD_CHARS and word not in notation)
    return tuple(dict.fromkeys(kept))


def _take(attempt: Attempt, tools: Tools, number: int, drawn: Drawn) -> Attempt:
    attempt, _ = carry_out(attempt, tools, number, f"{drawn.code}\n", drawn.told)
    return corrected(attempt) if attempt.failure else change(attempt, turns=number)
