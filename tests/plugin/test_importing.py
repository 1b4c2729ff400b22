"""`autoweb benchmark import miniwob`, with the pages of the package and a real browser."""

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from session_server import autoweb_command, session_command
from shop_project import LEAN

from pytest_autoweb.cases.loader import load_case_file


def run(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    lean = {**os.environ, "PYTEST_ADDOPTS": LEAN}
    return subprocess.run(command, cwd=root, env=lean, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_imported_tasks_are_proven_by_their_controls(tmp_path: Path) -> None:
    spec = find_spec("miniwob")
    assert spec is not None, "pip install 'pytest-autoweb[demo]'"
    pages = tmp_path / "html"
    installed = Path(next(iter(spec.submodule_search_locations or ()))) / "html"
    shutil.copytree(installed / "core", pages / "core")
    shutil.copytree(installed / "common", pages / "common")
    (pages / "miniwob").mkdir()
    for task in ("unicode-test", "circle-center", "drag-cube"):
        shutil.copy(installed / f"miniwob/{task}.html", pages / "miniwob")
    page = pages / "miniwob/unicode-test.html"
    # A goal that would be an expression, and a page that asks for what is not its own.
    page.write_text(
        page.read_text("utf-8")
        .replace("Click on the", "{{ webserver.url }} \U0001f6d2 Click on the")
        .replace("<body>", '<body><img src="http://127.0.0.1:9/x"><img src="../../../secret">'),
        "utf-8",
    )
    command = (
        *autoweb_command(),
        "benchmark",
        "import",
        "miniwob",
        "--pages",
        "html",
        "--seeds",
        "2-2",
    )

    wrong = run(tmp_path, *command, "--tasks", "unicode-tset")
    assert wrong.returncode == 4
    assert "did you mean 'unicode-test'?" in wrong.stderr
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert "3 cases" in done.stdout
    assert "without an oracle: drag-cube" in done.stdout

    cases = {case.id: case for case in load_case_file(tmp_path / "cases/miniwob/miniwob.yaml")}
    assert set(cases) == {
        f"miniwob-{name}-2" for name in ("circle-center", "drag-cube", "unicode-test")
    }
    controls = "--autoweb-models=builtin/oracle,builtin/noop"
    ran = run(tmp_path, *session_command(), "cases", controls, "--autoweb-check-timeout=1")
    cells = [
        json.loads(file.read_bytes())
        for file in tmp_path.glob("autoweb-report/cells/*/*/*/cell.json")
    ]
    outcomes = {(cell["case_id"], cell["model"]): cell["outcome"] for cell in cells}
    assert outcomes == {
        ("miniwob-circle-center-2", "builtin/oracle"): "passed",
        ("miniwob-circle-center-2", "builtin/noop"): "failed",
        ("miniwob-unicode-test-2", "builtin/oracle"): "passed",
        ("miniwob-unicode-test-2", "builtin/noop"): "failed",
        ("miniwob-drag-cube-2", "builtin/oracle"): "skipped",
        ("miniwob-drag-cube-2", "builtin/noop"): "failed",
    }, ran.stdout
    (task,) = {cell["user_task"] for cell in cells if "unicode" in cell["case_id"]}
    assert task.startswith('{{ webserver.url }} \U0001f6d2 Click on the "')
