"""What a cell tells while it goes on, and only while somebody watches."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_autoweb.agents.attempt.film import Film
from pytest_autoweb.agents.attempt.tools import RunLog
from pytest_autoweb.cell.so_far import tell_so_far
from pytest_autoweb.results.records import Attempt, PlanStep, StepResult
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar, touch_watched

ATTEMPT = Attempt(
    attempt_index=1,
    code="page.reload()",
    plan_steps=(PlanStep(index=1, description="open"), PlanStep(index=2, description="buy")),
    step_results=(StepResult(step_index=1, ok=True, status="ok"),),
)


def tools(cell: Path, *, pictures: bool) -> Any:
    cell.mkdir()
    log, film = RunLog(redact=lambda text: text.replace("demo", "<secret:password>")), Film()
    log.write("typed demo")
    film.add("attempt-1/opened.jpg", "opened")
    case = SimpleNamespace(pictures=pictures)
    folder = cell / "attempt-1"
    return SimpleNamespace(folder=folder, cell_folder=cell, log=log, film=film, case=case)


@pytest.mark.parametrize("pictures", [True, False])
def test_an_attempt_is_told_while_somebody_watches(tmp_path: Path, pictures: bool) -> None:
    cell = tmp_path / "cell"
    hands = tools(cell, pictures=pictures)
    tell_so_far(hands, tmp_path, ATTEMPT)
    assert list(cell.iterdir()) == []

    touch_watched(tmp_path)
    tell_so_far(hands, tmp_path, ATTEMPT)
    told = SoFar.model_validate_json((cell / SO_FAR_FILE).read_bytes())
    assert [(step.description, step.status) for step in told.steps] == [
        ("open", "ok"),
        ("buy", None),
    ]
    assert (told.attempt, told.code, told.log) == (
        "attempt-1",
        "page.reload()",
        "typed <secret:password>",
    )
    # Where a case wants no pictures, none is shown before it is deleted.
    assert [frame.picture for frame in told.film] == ["attempt-1/opened.jpg"] * pictures
