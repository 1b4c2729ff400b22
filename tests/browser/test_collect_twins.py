"""Collecting among elements that read alike: what is performed is one element for certain."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from acting import prompt, run_one, settings
from local_site import Site as Server
from playwright.sync_api import Browser, Page

from pytest_autoweb.agents.collect.guided_moves import set_list
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.page_questions import Guide, GuideQuestion
from pytest_autoweb.agents.collect.saved_state import NavStep
from pytest_autoweb.results.records import Decision
from pytest_autoweb.testing import ScriptedClient

Show = Callable[[str], Page]
ROWS = "".join(
    f"<p>{name} <button onclick=\"out.append('{name} ')\">Yes</button></p>"
    for name in ("Red", "Green", "Blue")
)
PAGE = f"{ROWS}<p>Page 1 of 3</p><div id=out></div>"


class Model:
    """Answers one question after the other."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.questions: list[GuideQuestion] = []
        self.decisions: list[Decision] = []

    def ask(self, question: GuideQuestion) -> str:
        self.questions.append(question)
        return json.dumps(self.answers.pop(0) if self.answers else {"action": "done"})

    def guide(self) -> Guide:
        return Guide(self.ask, lambda question, decision: self.decisions.append(decision))


def yes(number: int, near: str = "", **more: Any) -> dict[str, Any]:
    return {"action": "click", "mark_id": number, "expected_text": "Yes", "near": near, **more}


def steps_of(page: Page, model: Model) -> tuple[Sequence[NavStep], str]:
    site = Site(page, lambda address: True, lambda note: None)
    steps = set_list(model.guide(), site, limit=1, reveal=str)
    return steps, page.locator("#out").inner_text().strip()


def test_of_three_that_read_alike_the_one_is_pressed_that_is_near_what_is_named(show: Show) -> None:
    model = Model(yes(2, "Green"))

    steps, pressed = steps_of(show(PAGE), model)

    assert pressed == "Green"
    assert [len(steps), len(model.questions)] == [1, 1]


def test_without_what_is_near_it_the_model_looks_again(show: Show) -> None:
    model = Model(yes(1), yes(3, "Blue"))

    steps, pressed = steps_of(show(PAGE), model)

    assert pressed == "Blue"
    assert len(steps) == 1
    again = model.questions[1]
    assert (again.second_look, again.action, again.unsure) == ("Yes", "click", False)
    assert again.near == {1: "Red", 2: "Green", 3: "Blue"}
    [decision] = model.decisions[:1]
    assert (decision.second_look, decision.calls, decision.status) == (True, 2, "performed")
    assert (decision.chosen[0].mark, decision.chosen[0].taken) == (1, 3)


@pytest.mark.parametrize(
    "second", [yes(1), yes(1, "Blue"), {"action": "done"}], ids=["nothing", "another", "given up"]
)
def test_what_stays_uncertain_is_neither_pressed_nor_kept_for_replay(
    show: Show, second: dict[str, Any]
) -> None:
    model = Model(yes(1), second)

    steps, pressed = steps_of(show(PAGE), model)

    assert (steps, pressed) == ((), "")
    refused = model.decisions[0]
    gave_up = second["action"] == "done"
    assert (refused.status, refused.refused_for) == ("refused", "gave_up" if gave_up else "choice")
    assert model.questions[2].marked.marks[0].failed is False


def test_the_text_of_a_pager_is_no_place_among_them(show: Show) -> None:
    model = Model(yes(1, "1 of 3"), yes(2, "Green"))

    _, pressed = steps_of(show(PAGE), model)

    assert pressed == "Green"


def test_a_model_that_is_not_sure_looks_again(show: Show) -> None:
    page = show(
        "<button onclick=\"out.append('a')\">A list</button>"
        "<button onclick=\"out.append('b')\">B list</button><div id=out></div>"
    )
    first = {"action": "click", "mark_id": 1, "expected_text": "A list", "confidence": 0.3}
    model = Model(first, {**first, "mark_id": 2, "expected_text": "B list", "confidence": 0.8})

    steps, pressed = steps_of(page, model)

    assert (pressed, [step.expected_text for step in steps]) == ("b", ["B list"])
    assert model.questions[1].unsure


@pytest.mark.long
@pytest.mark.parametrize("brief", [False, True])
def test_the_prompts_ask_for_what_is_near(
    browser: Browser, tmp_path: Path, site: Server, brief: bool
) -> None:
    replies = [json.dumps(yes(1)), json.dumps(yes(3, "Blue")), '{"action": "done"}']
    client = ScriptedClient({"navigate": replies, "explore": '{"action": "scroll_down"}'})
    run_one(
        browser,
        {
            "entry_url": site.put("/", PAGE),
            "user_task": "Collect.",
            "expect": [{"js": "true"}],
            "collect": {"navigate": 1, "rate": {"delay": 0}},
        },
        client,
        settings(tmp_path, check_timeout=0.5),
        strategy="collect",
        spec={"dialect": "refs", "model": "fake/small-1b", "constrained": "gbnf"}
        if brief
        else {"vision": True},
        opened=lambda page: None,
    )

    first, second = client.requests[:2]
    system = [str(request.messages[0].content) for request in (first, second)]
    assert ["near" in said for said in system] == [not brief, True]
    assert '[3] button "Yes" near "Blue"' in prompt(second)
    assert "near" not in prompt(first)
    if brief:
        assert "near" in str(second.grammar)
        assert "press" not in str(second.grammar)
