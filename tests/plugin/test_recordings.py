"""What pytest-playwright records of cells: kept with them, linked, opened; never with secrets."""

import json
import os
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from session_server import autoweb_command
from shop_project import SharedProject

from pytest_autoweb.base.display import has_display

SECRET = "hunter2-hunter2"
BEHIND = """
  - id: secret
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Type the password."
    secrets: {password: {default: hunter2-hunter2}}
    expect: [{element: {label: Password, value: "<secret:password>"}}, {text: "Never there"}]
    oracle: |
      # Step 1
      page.get_by_label("Password").fill("<secret:password>")
"""
ANSWERS = """{"fake/wrong": {
    "plan": scripted_plan("log in"), "generate": CODE, "repair": CODE.replace("bo", "bob")
}}"""
# Playwright films with an ffmpeg of its own, which few machines have; what it leaves is a file.
FILMING = """
import pathlib, pytest

@pytest.fixture(autouse=True)
def film(output_path):
    yield
    pathlib.Path(output_path).mkdir(parents=True, exist_ok=True)
    pathlib.Path(output_path, "video.webm").write_bytes(b"film")
"""
CODE = 'CODE = """```python\n# Step 1\npage.get_by_label("Name").fill("bo")\n```"""\n'


@pytest.fixture(scope="module")
def recorded(shared_project: SharedProject) -> SharedProject:
    """A session with all recordings: a cell of two attempts, one with a secret, one that passed."""
    project = shared_project
    with (project.path / "cases/shop.yaml").open("a") as file:
        file.write(BEHIND)
    project.script(ANSWERS)
    conftest = project.path / "conftest.py"
    conftest.write_text(CODE + conftest.read_text() + FILMING)
    result = project.run(
        *("cases", "-k", "secret and oracle or login and wrong or title and oracle"),
        "--autoweb-models=builtin/oracle,fake/wrong",
        *("--tracing=retain-on-failure", "--screenshot=only-on-failure"),
    )
    result.assert_outcomes(passed=1, failed=1, warnings=1)
    return project


def cell(project: SharedProject, case_id: str) -> dict[str, Any]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    (found,) = (case["cells"] for case in report["cases"] if case["id"] == case_id)
    only: dict[str, Any] = found[0]
    return only


def test_each_attempt_has_its_trace_and_video_in_the_cells_folder(recorded: SharedProject) -> None:
    found = cell(recorded, "login")
    assert len(found["attempts"]) == 2

    names = [recording["file"] for recording in found["recordings"]]
    assert names[:2] == ["trace-1.zip", "trace-2.zip"]
    assert names[2:] == ["video.webm", "test-failed-1.png", "test-failed-2.png"]
    folder = recorded.path / "autoweb-report" / found["folder"]
    for recording in found["recordings"]:
        assert (folder / recording["path"]).stat().st_size > 0
    with zipfile.ZipFile(folder / "recordings/trace-2.zip") as trace:
        actions = trace.read("trace.trace").decode()
    assert '"fill"' in actions
    page = (recorded.path / "autoweb-report/index.html").read_text()
    assert '"path":"recordings/trace-2.zip"' in page


def test_what_passed_has_no_trace_where_only_failures_are_traced(recorded: SharedProject) -> None:
    names = [recording["file"] for recording in cell(recorded, "title")["recordings"]]

    assert names == ["video.webm"]


def test_recordings_of_secrets_are_not_in_the_run(recorded: SharedProject) -> None:
    found = cell(recorded, "secret")

    assert {recording["path"] for recording in found["recordings"]} == {""}
    notes = {recording["file"]: recording["note"] for recording in found["recordings"]}
    assert notes["video.webm"].startswith("left at test-results/")
    assert notes["trace.zip"].startswith("kept outside of the run")
    assert all(note.endswith("it shows the case's secrets") for note in notes.values())
    assert not (recorded.path / "autoweb-report" / found["folder"] / "recordings").exists()


def test_a_trace_with_secrets_is_opened_from_where_only_its_owner_reads_it(
    recorded: SharedProject,
) -> None:
    done = trace(recorded, "secret", "--print")

    assert done.returncode == 0, done.stderr
    assert "this trace shows the case's secrets: do not share it" in done.stderr
    kept = Path(done.stdout.strip())
    assert not kept.is_relative_to(recorded.path / "autoweb-report")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with zipfile.ZipFile(kept) as opened:
        assert SECRET in opened.read("trace.trace").decode()


def trace(project: SharedProject, *arguments: str) -> "subprocess.CompletedProcess[str]":
    hidden = ("DISPLAY", "WAYLAND_DISPLAY")
    return subprocess.run(
        [*autoweb_command(), "run", "trace", *arguments],
        cwd=project.path,
        env={name: value for name, value in os.environ.items() if name not in hidden}
        | {"HOME": str(project.path), "USERPROFILE": str(project.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "printed", "told"),
    [
        (("login", "--print"), 0, "recordings/trace-2.zip\n", ""),
        (("login", "--print", "--number=1"), 0, "recordings/trace-1.zip\n", ""),
        (("login", "--number=3"), 4, "", "the cell has 2 traces, numbered from 1"),
        (("login",), 1, "recordings/trace-2.zip\n", "-m playwright show-trace --host 127.0.0.1"),
        (
            ("title",),
            1,
            "",
            "the cell has no trace; make one with\n  autoweb run rerun autoweb-report cells/title/",
        ),
        (("pay",), 4, "", "no cell of the run fits 'pay'"),
    ],
)
def test_the_command_opens_prints_or_says_what_to_do(
    recorded: SharedProject, arguments: tuple[str, ...], code: int, printed: str, told: str
) -> None:
    done = trace(recorded, *arguments)

    assert done.returncode == code, done.stderr
    assert done.stdout.endswith(printed)
    assert bool(done.stdout) == bool(printed)
    assert told in done.stderr
    if printed:
        assert (recorded.path / Path(done.stdout.strip())).is_file()


def test_a_window_is_opened_only_where_somebody_sees_it() -> None:
    over_ssh = {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}

    assert has_display({"DISPLAY": ":0"}, "linux")
    assert has_display({**over_ssh, "DISPLAY": "localhost:10.0"}, "linux")
    assert not has_display(over_ssh, "linux")
    assert not has_display(over_ssh, "darwin")
    assert has_display({}, "win32")
