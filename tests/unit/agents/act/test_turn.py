"""The steps of a turn: each returns more of it and leaves what it was given as it was."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pytest_autoweb.agents.act.actions import Action, validate_action
from pytest_autoweb.agents.act.loop import perform
from pytest_autoweb.agents.act.memory import ActMemory
from pytest_autoweb.agents.act.observe import Situation, Turn, View
from pytest_autoweb.agents.act.resolve import resolve
from pytest_autoweb.agents.attempt.tools import RunLog, Tools
from pytest_autoweb.agents.choice.feedback import Feedback
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, PageBox
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Attempt

MARK = Mark(
    number=1,
    tag="button",
    role="button",
    text="Send",
    name="Send",
    box=PageBox(0, 0, 50, 20),
    texts=("Send",),
)
NOBODY: Any = None


def no_change(text: str) -> str:
    return text


def turn_of(action: Action | None, *, offered: frozenset[str] = frozenset()) -> Turn:
    """A turn on a page with one button, as `decide` leaves it."""
    page: Any = SimpleNamespace(url="http://shop.test/")
    marked = MarkedPage(b"", (MARK,), 1.0, (800, 600), True, (None,), NOBODY, NOBODY, (0,))
    spec = ModelSpec(name="fake/model")
    tools = SimpleNamespace(redact=no_change, log=RunLog(no_change), offered=offered, spec=spec)
    return Turn(
        index=1,
        attempt=Attempt(),
        tools=cast(Tools, tools),
        began=0.0,
        picture=Path("decision-1.png"),
        situation=Situation(View(page, marked, "", "digest", page.url, ())),
        action=action,
        problem="" if action else "no JSON object",
    )


def click(text: str) -> Action:
    return validate_action({"action": "click", "mark_id": 1, "expected_text": text})


def test_an_element_that_reads_as_expected_is_resolved_and_not_settled_yet() -> None:
    before = turn_of(click("Send"))

    after = resolve(before, ActMemory(Feedback()))

    assert after.verified.mark == MARK
    assert after.status is None
    assert before.chosen is None


def test_an_element_that_reads_otherwise_is_refused_and_not_performed() -> None:
    memory = ActMemory(Feedback())

    turn = resolve(turn_of(click("Delete all")), memory)

    assert turn.status == "refused"
    assert "Delete all" in turn.error
    assert perform(turn, memory) is turn
    assert memory.failures_in_a_row == 1
    assert memory.failed == (MARK,)


def test_a_text_refused_twice_is_looked_for_where_there_is_a_vision_locator() -> None:
    memory, offered = ActMemory(Feedback()), frozenset({"get_by_sight"})

    first = resolve(turn_of(click("Delete all"), offered=offered), memory)
    second = resolve(turn_of(click("Delete all"), offered=offered), memory)

    assert (first.status, first.by_sight) == ("refused", False)
    assert (second.status, second.by_sight) == (None, True)


def test_the_same_again_on_an_unchanged_page_is_settled_as_a_circle() -> None:
    memory = ActMemory(Feedback())

    turns = [resolve(turn_of(click("Send")), memory) for _ in range(3)]

    assert [turn.status for turn in turns] == [None, None, "refused"]
    assert memory.circles == 1
    assert "do something else" in memory.feedback.history[-1].reason


def test_a_reply_that_could_not_be_read_is_told_and_counts_as_in_vain() -> None:
    memory = ActMemory(Feedback())

    turn = perform(resolve(turn_of(None), memory), memory)

    assert (turn.status, turn.error) == ("invalid", "no JSON object")
    assert memory.failures_in_a_row == 1
    assert [problem.reason for problem in memory.feedback.history] == ["no JSON object"]
