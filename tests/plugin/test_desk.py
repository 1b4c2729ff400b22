"""The bundled desk, done by fakes that know only what they are shown.

A listing that loses something, or a way of working that lacks something, fails a case here.
"""

import json
import shutil
from pathlib import Path

import pytest
from desk_recipes import RECIPES
from shop_project import SharedProject

ROOT = Path(__file__).parents[2]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/support")!r})
from desk_recipes import RECIPES
from recipe_players import CodeHands, MarkHands, NumberHands, Player

PLAYERS = {{
    "fake/code": Player(RECIPES, CodeHands()),
    "fake/numbers": Player(RECIPES, NumberHands()),
    "fake/marks": Player(RECIPES, MarkHands()),
}}

def pytest_autoweb_client(spec):
    return PLAYERS.get(spec.name)
"""
MODELS = """
fake/code: {dialect: playwright, codegen: turns}
fake/numbers: {dialect: refs}
"""
UNDONE = {
    "fake/code": (),
    "fake/numbers": (),
    "fake/marks": (),
}
"""The cases that a way of working cannot do yet. One that is done must leave this list."""
FLAGS = ("--autoweb-max-repairs=0", "--autoweb-models-file=models.yaml", "--tb=no", "-q")


@pytest.fixture
def desk(tmp_path: Path) -> SharedProject:
    """A project whose models follow recipes."""
    project = SharedProject(tmp_path)
    shutil.copytree(ROOT / "cases/apps", tmp_path / "cases/apps")
    shutil.copy(ROOT / "cases/desk.yaml", tmp_path / "cases")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "models.yaml").write_text(MODELS)
    return project


def outcomes(project: SharedProject, *arguments: str) -> dict[str, str]:
    """Run the desk, and return what became of each case; of a failed one, what was not found."""
    project.run("cases/desk.yaml", *FLAGS, *arguments)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return {case["id"]: told(case["cells"][0]) for case in report["cases"]}


def told(cell: dict[str, object]) -> str:
    """Return a cell's outcome, with what the fake said where it gave up."""
    attempts = cell["attempts"]
    assert isinstance(attempts, list)
    asked = attempts[-1].get("plan_question") if attempts else ""
    return f"{cell['outcome']}: {asked}" if asked else str(cell["outcome"])


@pytest.mark.parametrize("model", ["fake/code", "fake/numbers"])
def test_the_desk_is_done_by_what_is_listed(desk: SharedProject, model: str) -> None:
    few = "desk-parcel or desk-course or desk-room"

    found = outcomes(desk, f"--autoweb-models={model}", "-k", few)

    assert found == dict.fromkeys(("desk-parcel", "desk-course", "desk-room"), "passed")


@pytest.mark.journeys
@pytest.mark.parametrize("model", UNDONE)
def test_all_of_the_desk_is_done_by_what_is_listed(desk: SharedProject, model: str) -> None:
    agent = "act" if model == "fake/marks" else "codegen"
    found = outcomes(desk, f"--autoweb-models={model}", f"--autoweb-agents={agent}", "-n", "2")

    undone = [case for case, outcome in found.items() if outcome != "passed"]
    assert sorted(undone) == sorted(UNDONE[model]), found
    assert found.keys() == RECIPES.keys()


@pytest.mark.long
def test_marks_alone_lead_through_rows_and_answers(desk: SharedProject) -> None:
    few = ("desk-parcel", "desk-chairs", "desk-discount")

    found = outcomes(
        desk, "--autoweb-models=fake/marks", "--autoweb-agents=act", "-k", " or ".join(few)
    )

    assert found == dict.fromkeys(few, "passed")
