"""Many cells in flight in one process: each ends as it would alone, and in its turn."""

import json
from typing import Any

import pytest
from made_up_run import assert_all_time_is_in_stages
from shop_project import SharedProject

pytestmark = pytest.mark.long

COUNT = 6
SECRET = "k9-Wombat-71"


def test_cells_in_flight_end_as_they_would_alone(
    shared: SharedProject, ran: pytest.RunResult
) -> None:
    ended = {name: cell["outcome"] for name, cell in read(shared).items()}

    assert ran.ret == 1
    assert ended == {**{f"c{n}": "passed" for n in range(COUNT)}, "own": "passed", "c5": "failed"}
    assert int((shared.path / "peak").read_text()) >= 5
    # One of them lost its browser, and was made again.
    assert_all_time_is_in_stages(read(shared).values())
    # pytest's own order, whoever ended first.
    finished = (shared.path / "finished").read_text().split()
    assert finished == ["own", *(f"c{n}" for n in range(COUNT))]


def test_a_cell_that_needs_its_turn_runs_alone_and_the_output_says_why(
    ran: pytest.RunResult,
) -> None:
    why = "the fixture `own` of cases/alone/conftest.py is set up for each function"

    ran.stdout.fnmatch_lines([f"*1 cell ran alone: {why}*"])


def test_a_browser_that_dies_costs_every_cell_in_flight_one_more_try(
    shared: SharedProject, ran: pytest.RunResult
) -> None:
    attempts = {name: cell["attempts"][0] for name, cell in read(shared).items()}
    again = {name for name, made in attempts.items() if made.get("rerun_because")}

    assert "own" not in again
    assert len(again) >= 4
    assert not any(cell["failure"] for name, cell in read(shared).items() if name != "c5")


def test_no_cell_finds_what_is_another_ones(shared: SharedProject, ran: pytest.RunResult) -> None:
    for name, cell in read(shared).items():
        folder = shared.path / "autoweb-report" / cell["folder"]
        texts = [file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()]
        assert not any(SECRET in text for text in texts)
        assert any(f"I was {name}" in text for text in texts)
        others = {f"I was c{n}" for n in range(COUNT)} - {f"I was {name}"}
        assert not any(other in text for other in others for text in texts)
    assert SECRET not in ran.stdout.str() + ran.stderr.str()


def test_workers_have_cells_in_flight_too(project: pytest.Pytester) -> None:
    shop = furnished(SharedProject.at(project.path), COUNT)

    ran = shop.run(*flags(4, "-n", "2"))

    assert ran.ret == 1
    assert {name: cell["outcome"] for name, cell in read(shop).items()} == {
        **{f"c{n}": "passed" for n in range(COUNT)}, "c5": "failed"
    }  # fmt: skip
    assert int((shop.path / "peak").read_text()) >= 3
    assert "Traceback" not in ran.stdout.str() + ran.stderr.str()


def test_ctrl_c_ends_all_that_is_in_flight_and_keeps_what_had_ended(
    project: pytest.Pytester,
) -> None:
    shop = furnished(SharedProject.at(project.path), COUNT)
    (shop.path / "interrupt").touch()
    (shop.path / "finished").touch()

    ran = shop.run(*flags(4))

    assert ran.ret == pytest.ExitCode.INTERRUPTED
    cells = read(shop)
    reasons = {name: cell["reason"] for name, cell in cells.items() if cell["outcome"] == "broken"}
    assert {"c3"} <= {name for name, why in reasons.items() if "interrupted" in why}
    # While one cell kept the thread busy, the step of another one went on for too long.
    assert (cells["c0"]["outcome"], cells["c2"]["outcome"]) == ("passed", "passed")
    assert not cells["c2"]["slow"]
    assert "never retrieved" not in ran.stderr.str()


def test_what_was_begun_ahead_of_the_first_failure_counts_as_never_begun(
    project: pytest.Pytester,
) -> None:
    shop = furnished(SharedProject.at(project.path), COUNT)

    ran = shop.run(*flags(3, "-x", "-k", "c5 or c6 or c7", "--autoweb-check-timeout=0.2"))

    assert ran.ret == 1
    outcomes = {name: cell["outcome"] for name, cell in read(shop).items()}
    assert outcomes["c5"] == "failed"
    assert set(outcomes.values()) <= {"failed", "passed", "skipped"}


CONFTEST = '''
import os, signal, sys, threading, time
from pathlib import Path

from pytest_autoweb.testing import ScriptedClient, scripted_plan

os.environ["WORD"] = "SECRET"
SCRIPT = """```python
# Step 1: fill
page.get_by_label("Name").fill("{who}")
{more}
# Step 2: press
page.get_by_role("button", name="Log in").click()
log("I was {who}")
```"""
MORE = {
    # Longer than its step may take only if another cell's time counted.
    "c2": "page.wait_for_timeout(1500)\\npage.get_by_label('Name').fill('c2')",
    "c4": 'page.get_by_label("Password").fill("<secret:word>")',
}
lock, asked, peak = threading.Lock(), [], 0
killing = Path("kill").exists()


def slow(stage):
    def answer(request):
        global peak
        with lock:
            asked.append(request.case_id)
            peak = max(peak, len(asked))
            Path("peak").write_text(str(peak))
        time.sleep(0.8)
        with lock:
            asked.remove(request.case_id)
        if stage == "plan":
            return scripted_plan("fill", "press")
        act(request.case_id)
        return SCRIPT.format(who=request.case_id, more=MORE.get(request.case_id, ""))
    return answer


def act(case):
    """What else happens while the cells are in flight."""
    if killing and case not in ("own", "c0"):
        # The cells that were begun ahead are still there when the first one has ended.
        until = time.monotonic() + 20
        while "c0" not in Path("finished").read_text() and time.monotonic() < until:
            time.sleep(0.05)
    if case == "c1" and Path("kill").exists():
        word = Path("kill").read_text()
        Path("kill").unlink()
        kill(word)
    if Path("interrupt").exists() and case == "c3":
        until = time.monotonic() + 40
        while "c2" not in Path("finished").read_text() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(2)


def kill(word):
    """End the browser, or Playwright's driver, whose command holds the word."""
    from pytest_autoweb.browser.egress.browser_watch import browser_processes
    for process in browser_processes():
        if word in process.command:
            os.kill(process.pid, signal.SIGKILL)


def pytest_autoweb_client(spec):
    if spec.name == "fake/slow":
        return ScriptedClient({"plan": slow("plan"), "generate": slow("generate")})


def pytest_autoweb_cell_finished(result):
    with open("finished", "a") as file:
        file.write(result.case_id + "\\n")
'''
HOG = '''
import time
from pathlib import Path


def hog(context):
    """Keep the thread busy, as no cell should."""
    until = time.monotonic() + 4 * Path("interrupt").exists()
    while time.monotonic() < until:
        pass
    return True
'''
FIXTURE = """
import pytest


@pytest.fixture(autouse=True)
def own():
    yield
"""


def cases(*names: str) -> str:
    """Cases that log in under their own names."""
    lines = ["version: 1", "webserver: {static: ../site}", "cases:"]
    for name in names:
        lines += [
            f"  - id: {name}",
            '    entry_url: "{{ webserver.url }}index.html"',
            f"    user_task: Log in as {name}.",
            *(["    secrets: {word: {env: WORD}}"] if name == "c4" else []),
            "    expect:",
            f"      - text: Welcome, {'nobody' if name == 'c5' else name}",
            *(["      - python: hogging:hog"] if name == "c0" else []),
        ]
    return "\n".join(lines) + "\n"


def furnished(project: SharedProject, count: int) -> SharedProject:
    conftest = CONFTEST.replace("SECRET", SECRET)
    (project.path / "conftest.py").write_text(conftest, encoding="utf-8")
    (project.path / "cases/hogging.py").write_text(HOG, encoding="utf-8")
    shop = cases(*(f"c{number}" for number in range(count)))
    (project.path / "cases/shop.yaml").write_text(shop, encoding="utf-8")
    return project


def read(project: SharedProject) -> dict[str, dict[str, Any]]:
    """The report's cells by their cases."""
    report = json.loads((project.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    return {case["id"]: case["cells"][0] for case in report["cases"]}


def flags(concurrency: int, *more: str) -> tuple[str, ...]:
    return (
        "-v", "cases", "--autoweb-models=fake/slow", "--autoweb-max-repairs=0",
        f"--autoweb-concurrency={concurrency}", "--autoweb-step-timeout=3", *more,
    )  # fmt: skip


@pytest.fixture(
    scope="module", params=["--remote-debugging-pipe", "run-driver"], ids=["browser", "driver"]
)
def shared(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> SharedProject:
    """A session in one process, whose browser or driver is killed under five cells in flight."""
    project = furnished(SharedProject(tmp_path_factory.mktemp("shared")), COUNT)
    alone = project.path / "cases/alone"
    alone.mkdir()
    (alone / "conftest.py").write_text(FIXTURE, encoding="utf-8")
    (alone / "own.yaml").write_text(cases("own").replace("../", "../../"), encoding="utf-8")
    (project.path / "kill").write_text(request.param, encoding="utf-8")
    return project


@pytest.fixture(scope="module")
def ran(shared: SharedProject) -> pytest.RunResult:
    return shared.run(*flags(COUNT))
