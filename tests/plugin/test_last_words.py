"""The end of a session: what stays on the screen, and how it ends without a verdict."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from session_server import session_command
from terminal import on_a_terminal

LAZY = "```python\n# Step 1\npage.get_by_label('Name').fill('bob')\n```"
ARGUMENTS = ("cases", "-k", "login", "--autoweb-models=fake/m", "--autoweb-max-repairs=0")


@pytest.fixture
def losing(scripted: Callable[[str], None]) -> None:
    scripted(f'{{"fake/m": {{"plan": scripted_plan("log in"), "generate": {LAZY!r}}}}}')


@pytest.mark.long
@pytest.mark.usefixtures("losing")
def test_a_lost_cell_fails_its_test_without_a_wall_of_red(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest_subprocess(*ARGUMENTS, "--color=yes")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["unsolved"] == 1
    assert "failed" not in result.parseoutcomes()
    text = result.stdout.str()
    assert "\x1b[31m" not in text.partition("autoweb: sandbox")[2]
    assert "FAILED cases/" not in text
    result.stdout.fnmatch_lines(
        [
            "*login on fake/m: FAILED - *",
            "*1 of 1 cell did not pass",
            "*model *first attempt*",
            "*fake/m *0%*",
            "*report: *autoweb-report/index.html*",
        ]
    )
    assert "index.html" in result.outlines[-1]


@pytest.mark.long
@pytest.mark.usefixtures("losing")
def test_asked_for_lost_cells_are_listed_like_other_tests(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(*ARGUMENTS, "-rf")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAILED cases/shop.yaml::login?fake/m?*"])


@pytest.mark.long
def test_a_run_without_any_verdict_is_not_green(project: pytest.Pytester) -> None:
    path = project.path / "cases/shop.yaml"
    check = '- http: {url: "http://127.0.0.1:9/orders", status: 200}'
    path.write_text(path.read_text().replace('- text: "Welcome, ana"', check))

    result = project.runpytest_subprocess("cases", "-k", "login", "--autoweb-models=builtin/oracle")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["autoweb: no verdict on builtin/oracle: *check 1 (http)*"])
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    assert report["exit_status"] == 1


@pytest.mark.long
def test_ctrl_c_in_a_terminal_leaves_a_report(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    """It reaches the whole process group: the browser and its driver end as well."""
    waits = "```python\n# Step 1\npage.wait_for_timeout(60_000)\n```"
    good = "```python\n# Step 1\npage.get_by_label('Name').fill('ana')\n```"
    scripted(
        f'{{"fake/a": {{"plan": scripted_plan("log in"), "generate": {good!r}}}, '
        f'"fake/b": {{"plan": scripted_plan("wait"), "generate": {waits!r}}}}}'
    )
    flags = ("-k", "login", "--autoweb-models=fake/a,fake/b", "--autoweb-max-repairs=0")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "cases", *flags, "--autoweb-step-timeout=60", "-v"],
        cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as session:  # fmt: skip
        wait_for(project.path / "autoweb-report", "cells/login/fake-b*/*/attempt-1")
        os.killpg(session.pid, signal.SIGINT)
        said, _ = session.communicate(timeout=60)

    assert session.returncode == pytest.ExitCode.INTERRUPTED, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].endswith("autoweb-report/index.html")
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    (case,) = report["cases"]
    ended = {cell["model"]: (cell["outcome"], cell["reason"]) for cell in case["cells"]}
    assert ended["fake/a"][0] == "failed"
    assert ended["fake/b"] == ("broken", "interrupted while it ran")
    assert report["interrupted"]


LATE = """
import os, signal
from pytest_autoweb import Panel, PanelContent

def pytest_sessionfinish():
    if "torn" in os.environ["LATE"]:
        os.kill(os.getpid(), signal.SIGINT)

def shown(report):
    if "told" in os.environ["LATE"]:
        os.kill(os.getpid(), signal.SIGINT)
    return PanelContent(facts={"told": "in full"})

def pytest_autoweb_register(registry):
    registry.add_report_panel(Panel("late", "Late", "late", shown, order=50))
"""


@pytest.mark.long
@pytest.mark.parametrize("when", ["torn down", "told"])
def test_ctrl_c_after_the_last_cell_lets_the_report_be_written(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    project.makeconftest(LATE)
    monkeypatch.setenv("LATE", when)

    result = project.runpytest_subprocess(
        "cases", "-k", "title", "--autoweb-models=builtin/oracle", "--autoweb-max-repairs=0"
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stderr.str()
    assert result.outlines[-1].endswith("autoweb-report/index.html")
    assert "told: in full" in (project.path / "autoweb-report/summary.md").read_text()


def wait_for(folder: Path, pattern: str) -> None:
    """Wait until the cell has been under way for three seconds."""
    until = time.monotonic() + 60
    while not any(folder.glob(pattern)):
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(3)


@pytest.mark.long
def test_a_failed_attempt_waits_for_a_person_with_its_page_open(
    project: pytest.Pytester,
) -> None:
    noop = ("cases", "-k", "title", "--autoweb-models=builtin/noop", "--autoweb-pause")
    said = on_a_terminal(
        *session_command(), *noop, cwd=project.path, keys={"Press Enter to go on.": "\n"}
    )

    told = said[said.index("Paused at http://") :]
    assert "the script never touched the page and gave no answer" in told
    assert "1 xfailed" in told
    refused = project.runpytest_subprocess(*noop, "-n", "2")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--autoweb-pause needs the terminal for itself*"])
