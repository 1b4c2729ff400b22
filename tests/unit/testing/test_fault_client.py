"""The fake that errs on purpose does so as often as it says, and knows what it did."""

import json
from typing import Any

import pytest

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.testing import Faults, FaultyClient, Right

MARKS = "\n".join(f'[{number}] button "Name {number}" @(10,{number})' for number in range(1, 31))
NEXT = Right({"action": "click"}, '"Name 7"', "Name 7")
TOLD = "## wrong\n  - [3] 验证失败: 期望'Name 7' 实际'Name 3'"


def ask(client: FaultyClient, prompt: str = MARKS) -> dict[str, Any]:
    request = Request(
        model="fake/faulty", messages=(Message(role="user", content=prompt),), stage="decide"
    )
    decision: dict[str, Any] = json.loads(client.complete(request).text)
    return decision


def test_without_faults_it_names_the_right_mark_and_its_text() -> None:
    client = FaultyClient(lambda prompt: NEXT, Faults())

    decision = ask(client)

    assert (decision["action"], decision["mark_id"]) == ("click", 7)
    assert decision["expected_text"] == "Name 7"
    assert [slip.kind for slip in client.slips] == ["none"]


@pytest.mark.parametrize("kind", ["swap", "drop", "malformed"])
def test_it_errs_as_often_as_it_is_told_to(kind: str) -> None:
    slips = []
    for seed in range(2000):
        client = FaultyClient(lambda prompt: NEXT, Faults(**{kind: 0.2}), seed=seed)
        try:
            decision = ask(client)
        except (ValueError, TypeError):
            decision = {}
        slips += client.slips
        wrong = not isinstance(decision, dict) or decision.get("mark_id") != 7
        wrong |= isinstance(decision, dict) and decision.get("expected_text") != "Name 7"

        assert wrong == (client.slips[-1].kind != "none")

    assert 0.17 < sum(slip.kind != "none" for slip in slips) / len(slips) < 0.23


def test_a_swapped_number_keeps_what_is_near_the_right_element_unless_it_is_left_out() -> None:
    rows = '[1] button "Edit" near "Ann"\n[2] button "Edit" near "Bo"\n[3] button "Add"'
    meant = Right({"action": "click"}, 'near "Bo"', "Edit")

    kept = ask(FaultyClient(lambda prompt: meant, Faults(swap=1.0)), rows)
    read = ask(FaultyClient(lambda prompt: meant._replace(near="Bo X."), Faults()), rows)
    left_out = ask(FaultyClient(lambda prompt: meant, Faults(drop_near=1.0)), rows)
    alone = Right({"action": "click"}, '"Add"', "Add", "never said")

    assert (kept["mark_id"] == 2, kept["near"], read["near"]) == (False, "Bo", "Bo X.")
    assert "near" not in {**left_out, **ask(FaultyClient(lambda prompt: alone, Faults()), rows)}


def test_a_swapped_number_keeps_the_text_of_the_right_element() -> None:
    client = FaultyClient(lambda prompt: NEXT, Faults(swap=1.0))

    decision = ask(client)

    [slip] = client.slips
    assert (slip.kind, slip.right, slip.given) == ("swapped", 7, decision["mark_id"])
    assert decision["mark_id"] != 7
    assert decision["expected_text"] == "Name 7"


def test_it_repeats_its_mistake_until_it_thinks_anew() -> None:
    faults = Faults(swap=1.0, heeds=1.0, rethinks=0.0)
    client = FaultyClient(lambda prompt: NEXT, faults)

    first, second = ask(client), ask(client)
    told = [ask(client, f"{TOLD}\n{MARKS}")["mark_id"] for _ in range(8)]

    assert second == first
    assert len(set(told)) > 1


def test_a_page_that_changed_is_looked_at_anew() -> None:
    client = FaultyClient(lambda prompt: NEXT, Faults(rethinks=0.0))
    ask(client)

    moved = "\n".join(reversed([line.replace("[7]", "[31]") for line in MARKS.splitlines()]))

    assert ask(client, moved)["mark_id"] == 31


def test_two_clients_of_one_seed_err_alike() -> None:
    answers = [
        [ask(FaultyClient(lambda prompt: NEXT, Faults(swap=0.5), seed=s)) for s in range(20)]
        for _ in range(2)
    ]

    assert answers[0] == answers[1]


def test_an_action_without_an_element_needs_no_mark() -> None:
    client = FaultyClient(lambda prompt: Right({"action": "done", "answer": "42"}), Faults(swap=1))

    assert ask(client, "nothing to see").keys() == {"thinking", "action", "answer", "confidence"}


def test_a_truth_that_is_not_on_the_page_is_an_error_of_the_test() -> None:
    client = FaultyClient(lambda prompt: NEXT, Faults())

    with pytest.raises(ModelError, match="no mark in the prompt fits"):
        ask(client, '[1] button "Cancel" @(1,1)')


def test_chances_outside_of_0_to_1_are_refused() -> None:
    with pytest.raises(ValueError, match="swap is a probability"):
        Faults(swap=10)
