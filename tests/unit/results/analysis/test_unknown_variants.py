"""Results of other projects, whose variants are not registered here, stay readable."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from pytest_autoweb.results.analysis.correction_facts import corrections_of
from pytest_autoweb.results.records import ArmRun, Attempt, CellResult, Failure


def cell(mode: str = "THEIRS", arm: str = "their_arm") -> CellResult:
    return CellResult.model_validate(
        {
            "case_id": "a",
            "case_path": "a.yaml",
            "entry_url": "http://a/",
            "user_task": "Do it.",
            "model": "m",
            "capture_mode": mode,
            "strategy": "their_strategy",
            "outcome": "failed",
            "correction": arm,
            "attempts": (Attempt(failure=Failure(kind="step", message="no")),),
            "arms": (ArmRun(arm="plain"),),
            "started": datetime(2026, 11, 22, tzinfo=UTC),
        }
    )


def test_arms_that_nobody_registered_are_called_by_their_names() -> None:
    theirs, plain = corrections_of([CellResult.model_validate_json(cell().model_dump_json())])[
        0
    ].arms

    assert (theirs.arm, theirs.label, theirs.control) == ("their_arm", "their_arm", False)
    assert (plain.label, plain.control) == ("plain (control)", True)
    assert theirs.pairs == 1


@pytest.mark.parametrize("changed", [{"mode": "<b>"}, {"mode": "../up"}, {"arm": "a|b"}])
def test_names_that_would_not_be_safe_to_show_are_refused(changed: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        cell(**changed)
