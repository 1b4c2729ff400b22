"""--autoweb-sandbox: what a session says about it, and what it refuses."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.browser.egress.chromium import planned_sandbox

WITHOUT_WALLS = Path(__file__).parents[1] / "support" / "refusing_kernel.py"
ORACLE, OFF = "--autoweb-models=builtin/oracle", "--autoweb-sandbox=off"
SCRIPT = "answer(page.evaluate('() => document.title'))"


@pytest.fixture(autouse=True)
def _not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def report_of(project: pytest.Pytester) -> dict[str, Any]:
    path = project.path / "autoweb-report/report.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


@pytest.mark.long
def test_strict_refuses_scripts_of_models_and_says_which_layers_stand(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    if sys.platform != "linux":
        pytest.skip("strict needs the walls of Linux")
    cases = project.path / "cases/shop.yaml"
    text = cases.read_text(encoding="utf-8")
    own = 'answer(page.get_by_role("heading").inner_text())'
    assert own in text
    cases.write_text(text.replace(own, SCRIPT), encoding="utf-8")
    reply = f"```python\n# Step 1\n{SCRIPT}\n```"
    scripted(
        f"{{'fake/scripts': {{'plan': scripted_plan('Read the title'), 'generate': {reply!r}}}}}"
    )
    result = project.runpytest_subprocess(
        "cases",
        "-k",
        "title",
        ORACLE + ",fake/scripts",
        "--autoweb-sandbox=strict",
        "--autoweb-max-repairs=0",
        "-v",
    )

    assert result.parseoutcomes() == {"passed": 1, "unsolved": 1, "deselected": 2}
    own = planned_sandbox(["chromium"], "auto")
    result.stdout.fnmatch_lines(
        [
            "autoweb sandbox: lint, worker, facade, *seccomp (strict)",
            f"autoweb browser: Chromium's own sandbox is {own}",
        ]
    )
    report = report_of(project)
    cells = {cell["model"]: cell for case in report["cases"] for cell in case["cells"]}
    assert cells["fake/scripts"]["failure"]["rule"] == "AW310"
    assert "landlock abi" in report["environment"]["sandbox"]
    assert re.fullmatch(r"chromium \d+(\.\d+)+", report["environment"]["browser"])
    found = report["environment"]["browser_sandbox"]
    assert found == (own if own.startswith("OFF") else "on")
    assert report["notes"] == []


@pytest.mark.long
def test_off_is_loud_in_the_header_and_in_the_report(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("cases", "-k", "title", ORACLE, OFF)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["autoweb: sandbox OFF; egress by proxy*(-v says why)"])
    assert report_of(project)["environment"]["sandbox"].startswith("OFF!")
    assert any("--autoweb-sandbox=off" in note for note in report_of(project)["notes"])


@pytest.mark.parametrize("place", ["env", "ini", "addopts", "CI"])
def test_off_is_refused_from_anywhere_but_the_command_line_and_in_ci(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    arguments = ["cases", ORACLE, "--collect-only", "-q"]
    if place == "env":
        monkeypatch.setenv("AUTOWEB_SANDBOX", "off")
    elif place == "CI":
        monkeypatch.setenv("CI", "true")
        arguments.append(OFF)
    else:
        line = "autoweb_sandbox = off" if place == "ini" else f"addopts = {OFF}"
        project.makeini(f"[pytest]\n{line}\n")
    result = project.runpytest(*arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = "is refused in CI" if place == "CI" else "may only be given on the command line"
    result.stderr.fnmatch_lines([f"ERROR: --autoweb-sandbox=off *{told}*"])


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
def test_strict_does_not_start_on_a_machine_without_the_walls(project: pytest.Pytester) -> None:
    python = sys.executable
    result = project.run(
        python, WITHOUT_WALLS, "landlock", python, "-m", "pytest",
        "cases", ORACLE, "--autoweb-sandbox=strict",
    )  # fmt: skip

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --autoweb-sandbox=strict: Landlock cannot be used on*"])
    assert not (project.path / "autoweb-report").exists()


ENGINE = """
from pytest_autoweb.sandbox.engine import StepOutcome

class Answering:
    '''Runs nothing; it answers what the code would.'''

    def __init__(self, border, level):
        self.answer = (False, None)
        self.level = level

    def run_step(self, index, code, *, root, limits, resume=()):
        self.answer = ("answer(" in code, "Shop")
        return StepOutcome(ok=True, log="level " + self.level)

    def close(self):
        pass

def pytest_autoweb_engine(border, level):
    return Answering(border, level)
"""


@pytest.mark.long
def test_a_plugin_may_bring_an_engine_of_its_own(project: pytest.Pytester) -> None:
    project.makeconftest(ENGINE)
    result = project.runpytest_subprocess("cases", ORACLE)

    # The page was never touched, so only the case that asks for an answer passes.
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["autoweb: sandbox of a plugin; egress by proxy*"])
    cells = {case["id"]: case["cells"][0] for case in report_of(project)["cases"]}
    assert (cells["title"]["outcome"], cells["login"]["outcome"]) == ("passed", "failed")


def test_a_sandbox_of_the_browser_that_is_asked_for_and_cannot_be_stops_the_session(
    project: pytest.Pytester,
) -> None:
    if not planned_sandbox(["chromium"], "auto").startswith("OFF"):
        pytest.skip("this machine allows the sandbox")
    result = project.runpytest("cases", ORACLE, "--autoweb-browser-sandbox=strict")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--autoweb-browser-sandbox=strict: Chromium's own sandbox is OFF, because *"]
    )


def test_a_browser_that_turns_out_to_be_without_its_sandbox_breaks_the_cell(
    project: pytest.Pytester,
) -> None:
    # Somebody else's fixture takes away what the plugin asked for.
    project.makeconftest(
        "import pytest\n"
        "import pytest_autoweb.browser.egress.chromium as own\n"
        "own.obstacle = lambda executable='': ''\n"
        "@pytest.fixture(scope='session')\n"
        "def browser_type_launch_args(browser_type_launch_args):\n"
        "    args = [*browser_type_launch_args.get('args', []), '--no-sandbox']\n"
        "    return {**browser_type_launch_args, 'args': args, 'chromium_sandbox': False}\n"
    )
    result = project.runpytest_subprocess(
        "cases", "-k", "title", ORACLE, "--autoweb-browser-sandbox=strict", "-v"
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["autoweb browser: Chromium's own sandbox is asked for;*"])
    report = report_of(project)
    (cell,) = [cell for case in report["cases"] for cell in case["cells"]]
    why = "OFF: the browser runs with --no-sandbox"
    assert cell["outcome"] == "broken"
    assert f"--autoweb-browser-sandbox=strict: Chromium's own sandbox is {why}" in cell["reason"]
    assert report["environment"]["browser_sandbox"] == why
