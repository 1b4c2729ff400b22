"""Who changed: made-up arms, in which it is known."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from made_up_rows import cases, run

from pytest_autoweb.results.analysis.blaming import (
    ArmName,
    Blame,
    Factor,
    blame,
    harness_differences,
)
from pytest_autoweb.results.analysis.controls import ORACLE

GOOD, BAD, LEFT = "P" * 12, "F" * 12, "O" * 12


def blamed(
    arms: Mapping[str, str], same: Sequence[Factor] = (), played: Mapping[str, str] = {}
) -> Blame:
    names = dict.fromkeys((*arms, *played))
    runs = {
        cast(ArmName, name): run(
            cases(arms.get(name, ""), "m"), cases(played.get(name, ""), ORACLE), day=day
        )
        for day, name in enumerate(names)
    }
    return blame("m", runs, ORACLE, same)


def full(**changed: str) -> dict[str, str]:
    names = ("old", "replies_recorded", "model_recorded", "replies_live", "new")
    return dict.fromkeys(names, GOOD) | {"new": BAD} | changed


@pytest.mark.parametrize(
    ("arms", "culprit"),
    [
        (full(replies_live=BAD), "app"),
        (full(model_recorded=BAD), "model"),
        (full(replies_recorded=BAD, model_recorded=BAD, replies_live=BAD), "harness"),
        # The changed model leaves the recorded site at once: the other way tells.
        (full(model_recorded=LEFT), "model"),
        # Old replies cannot cope with the new page, but the model can: it is not the page.
        (full(model_recorded=BAD, replies_live=BAD), "model"),
    ],
)
def test_the_one_that_changed_is_named(arms: dict[str, str], culprit: str) -> None:
    found = blamed(arms)

    assert (found.answer, found.culprits) == ("named", (culprit,))
    assert found.verdict.startswith(
        f"the {culprit} changed (12 lost and 0 gained of 12 cases, −100 points"
    )
    # The differences of the way add up to the whole one.
    assert sum(step.difference or 0 for step in found.steps) == found.total.difference == -1


def test_two_that_changed_are_both_named() -> None:
    half = "P" * 12 + "F" * 12
    arms = dict.fromkeys(("old", "replies_recorded"), "P" * 24)
    arms |= {"model_recorded": half, "replies_live": half, "new": "F" * 24}
    found = blamed(arms)

    assert found.culprits == ("app", "model")


def test_the_way_without_a_recorded_site_needs_the_same_harness() -> None:
    arms = {"old": GOOD, "replies_live": GOOD, "new": BAD}

    assert blamed(arms, ("harness",)).culprits == ("model",)
    assert blamed({**arms, "replies_live": BAD}, ("harness",)).culprits == ("app",)
    unsure = blamed({**arms, "replies_live": BAD})
    assert unsure.answer == "cannot tell"
    assert unsure.verdict.startswith("cannot tell: the harness or the app (12 lost")


def test_without_anything_recorded_it_cannot_tell_but_the_oracle_may() -> None:
    ends = {"old": GOOD, "new": BAD}
    oracle = {"old": GOOD, "replies_live": BAD}

    nothing = blamed(ends, ("harness",))
    told = blamed(ends, ("harness",), oracle)
    sound = blamed(ends, (), {"old": GOOD, "replies_live": GOOD})

    assert nothing.verdict.startswith("cannot tell: the app or the model (12 lost")
    assert nothing.advice[0].startswith("run the cases on the earlier version of the app: where")
    assert sound.verdict.startswith("cannot tell: the harness, the app or the model (12 lost")
    assert len(sound.advice) == 3
    assert sound.notes == (
        "The oracle passes 12 cases on the live app as before: it still does what they ask for.",
    )
    assert told.culprits == ("app",)
    assert told.verdict.startswith("the app changed (by the oracle: 12 lost")
    assert any(
        note.startswith("The oracle fails in 12 of 12 cases since the app") for note in told.notes
    )


def test_recordings_of_another_run_name_nobody() -> None:
    arms = full(replies_recorded=BAD, model_recorded=BAD, replies_live=BAD)

    found = blamed(arms, ("harness",))

    assert found.culprits == ()
    assert "they are not the recordings of that run" in found.verdict


def test_few_cases_name_a_suspect_only() -> None:
    arms = {name: outcomes[:3] for name, outcomes in full(replies_live=BAD).items()}

    found = blamed(arms)

    assert found.answer == "cannot tell"
    assert "3 of 3 cases differ between the runs, and fewer than 6 decide nothing" in found.verdict
    assert found.verdict.endswith("most is lost where the app changed")
    assert found.advice == ("run more cases or repeats, in OLD and NEW alike",)
    assert [way.case_id for way in found.lost] == ["c01", "c02", "c03"]
    assert found.lost[0].outcomes["replies_live"] == ("failed",)


def test_a_run_that_is_no_worse_has_nobody_to_blame() -> None:
    found = blamed({"old": "PPFF", "new": "PPPF"})

    assert found.answer == "nothing to blame"
    assert found.culprits == ()


def test_a_site_that_both_runs_replayed_cannot_be_it() -> None:
    found = blamed({"old": GOOD, "replies_recorded": GOOD, "new": BAD}, ("app",))

    assert found.culprits == ("model",)


def test_the_harness_is_what_the_records_say_of_it() -> None:
    old = run(cases("PP"), environment={"playwright": "1.1", "git": "a"})
    sums = {**old.rows[0].checksums, "settings": "s2", "traffic": "t"}
    new = run(cases("PP", checksums=sums), environment={"playwright": "1.2", "git": "b"})

    assert harness_differences(old, old, "m") == ()
    assert harness_differences(old, new, "m") == ("playwright 1.1 → 1.2", "settings of 2 cells")
