"""A conftest adds a strategy, a capture mode and a correction arm, and a run uses all three."""

import json
from collections.abc import Callable

import pytest
from session_server import autoweb_command

REGISTER = """
from pytest_autoweb import CaptureMode, CorrectionArm, Message, Strategy, stages
from pytest_autoweb.stages import NamedStage, ask, take_code

RUN = (stages.LINT, stages.EXECUTE, stages.JUDGE)
WRITE_AGAIN = NamedStage("repair", stages.GENERATE.run)

def write_once_more(attempt, tools):
    ending = tools.guidance.evidence[0]
    message = Message(role="user", content=f"{tools.case.user_task} But {ending}")
    attempt, reply = ask(attempt, tools, "repair", (message,))
    return attempt if attempt.failure else take_code(attempt, tools, reply)

def pytest_autoweb_register(registry):
    registry.add_strategy(
        Strategy(
            name="at_once",
            summary="a script without a plan",
            first=(stages.OPEN, stages.PLAN_AS_TASK, stages.CAPTURE, stages.GENERATE, *RUN),
            repair=(stages.OPEN, stages.PLAN_AS_TASK, WRITE_AGAIN, *RUN),
            prompts=("generate",),
        )
    )
    registry.add_capture_mode(
        CaptureMode(
            name="TITLE",
            summary="nothing but the title",
            show=lambda root, budget_tokens: f"The title is {root.title()}.",
        )
    )
    registry.add_correction_arm(
        CorrectionArm(
            name="ending",
            summary="told how the run ended",
            label="told the ending",
            writer=NamedStage("repair", write_once_more),
        )
    )
"""
FILL = 'page.get_by_label("Name").fill("ana")'
PRESS = 'page.get_by_role("button").click()'
ANSWERS = {
    "fake/m": {
        "generate": f"```python\n# Step 1\n{FILL}\n```",
        "repair": f"```python\n# Step 1\n{FILL}\n{PRESS}\n```",
    }
}


@pytest.fixture
def extended(project: pytest.Pytester, scripted: Callable[[str], None]) -> pytest.Pytester:
    """The project with one case that names a strategy of the project's own."""
    scripted(repr(ANSWERS))
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + REGISTER)
    cases = project.path / "cases/shop.yaml"
    cases.write_text(cases.read_text().replace("tags: [smoke]", "strategy: at_once"))
    return project


@pytest.mark.long
def test_a_run_on_workers_uses_them_and_the_report_shows_them(extended: pytest.Pytester) -> None:
    result = extended.runpytest_subprocess(
        *("cases", "-k", "login", "--autoweb-models=fake/m", "--autoweb-capture=title,RAW_HTML"),
        *("--autoweb-correction=ending,plain", "--autoweb-max-repairs=1", "-n", "2"),
    )

    assert result.parseoutcomes()["passed"] == 2
    folder = extended.path / "autoweb-report"
    report = json.loads((folder / "report.json").read_text())
    cells = {cell["capture_mode"]: cell for cell in report["cases"][0]["cells"]}
    assert cells.keys() == {"TITLE", "RAW_HTML"}
    cell = cells["TITLE"]
    assert (cell["strategy"], cell["outcome"], cell["correction"]) == (
        "at_once",
        "healed",
        "ending",
    )
    assert "TITLE" in cell["folder"]
    assert "login[fake/m-TITLE]" in cell["nodeid"]
    first, retry = cell["attempts"]
    assert [each["stage"] for each in first["exchanges"]] == ["generate"]
    assert "The title is Shop." in first["exchanges"][0]["prompt"]
    assert "But the run ended with" in retry["exchanges"][0]["prompt"]
    # The control arm writes again with the stage of the same name.
    assert [each["stage"] for each in cell["arms"][0]["attempts"][0]["exchanges"]] == ["generate"]
    arms = {arm["label"]: arm for arm in report["corrections"][0]["arms"]}
    assert (arms["told the ending"]["gain"], arms["plain (control)"]["control"]) == (1.0, True)
    page = (folder / "index.html").read_text()
    assert all(word in page for word in ("told the ending", "TITLE", "at_once"))


def test_help_and_the_schema_of_case_files_list_them(extended: pytest.Pytester) -> None:
    told = extended.runpytest("--help")
    told.stdout.fnmatch_lines(["*TITLE: nothing but the title*"])
    told.stdout.fnmatch_lines(["*at_once: a script without a plan*"])
    told.stdout.fnmatch_lines(["*ending: told how the run ended*"])

    printed = extended.run(*autoweb_command(), "debug", "schema", "case")
    fields = json.loads(printed.stdout.str())["$defs"]["Case"]["properties"]
    *built_in, added = fields["strategy"]["anyOf"][0]["enum"]
    assert {"act", "codegen", "collect"} < set(built_in)
    assert added == "at_once"
    assert "at_once: a script without a plan" in fields["strategy"]["description"]


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("--autoweb-strategy=at_onse", "*unknown strategy 'at_onse'; did you mean 'at_once'?*"),
        ("--autoweb-capture=TITEL", "*unknown capture mode 'TITEL'; did you mean 'TITLE'?*"),
        ("--autoweb-correction=endings", "*arm 'endings'; did you mean 'ending'?*"),
    ],
)
def test_a_misspelt_name_is_told_the_nearest_one(
    extended: pytest.Pytester, flag: str, told: str
) -> None:
    result = extended.runpytest("cases", "--autoweb-models=fake/m", flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_they_are_forgotten_when_the_session_ends(extended: pytest.Pytester) -> None:
    extended.runpytest("cases", "--autoweb-models=fake/m", "--collect-only")
    (extended.path / "conftest.py").write_text("")

    result = extended.runpytest("cases", "--autoweb-models=builtin/noop", "--collect-only")

    result.stdout.fnmatch_lines(["*unknown strategy 'at_once' (allowed: act, *"])
