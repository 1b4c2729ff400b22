"""The plugin and the command where Linux's modules, signals and calls are missing.

Nothing here is macOS or Windows; `tests/support/elsewhere` only takes away what they lack.
"""

import json
import os
from pathlib import Path

import pytest
from other_systems import SYSTEMS, browser_for_root, run_elsewhere
from shop_project import SharedProject

pytestmark = pytest.mark.long


@pytest.fixture
def ready_browser(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in browser_for_root(tmp_path_factory.mktemp("browser")).items():
        monkeypatch.setenv(name, value)


IMPORT_ALL = """
import importlib, pkgutil, pytest_autoweb
for found in pkgutil.walk_packages(pytest_autoweb.__path__, "pytest_autoweb."):
    # Alembic alone can run it, and `-m` the other.
    if found.name not in ("pytest_autoweb.store.migrations.env", "pytest_autoweb.cli.__main__"):
        importlib.import_module(found.name)
        print(found.name)
"""
PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis")
NAMES = {"darwin": "macOS", "win32": "Windows"}
COMMAND = "'{python} -m http.server {port} --bind 127.0.0.1 --directory site'"


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_can_be_imported(system: str, tmp_path: Path) -> None:
    done = run_elsewhere(system, tmp_path, "-c", IMPORT_ALL)

    assert (done.ret, done.errlines) == (0, [])
    assert len(done.outlines) > 400
    assert "pytest_autoweb.sandbox.worker_template" in done.outlines


def test_what_is_taken_away_is_gone(tmp_path: Path) -> None:
    seen = tmp_path / "pytest_autoweb" / "seen.py"
    seen.parent.mkdir()
    seen.write_text(
        "import os, select, signal, sys\n"
        "print(sys.platform, *[hasattr(a, b) for a, b in ((os, 'fork'), (signal, 'SIGKILL'), "
        "(select, 'poll'), (os, 'getpid'))])\n"
        "import fcntl\n",
        encoding="utf-8",
    )
    done = run_elsewhere("win32", tmp_path, str(seen))

    assert done.outlines == ["win32 False False False True"]
    assert done.errlines[-1] == "ModuleNotFoundError: No module named 'fcntl'"


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_project_that_names_no_models_notices_nothing(system: str, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n", encoding="utf-8")
    plain = run_elsewhere(system, tmp_path, *PYTEST, "-q")
    assert plain.ret == 0
    assert "passed" in plain.stdout.str()
    assert "autoweb" not in plain.stdout.str() + plain.stderr.str()

    helped = run_elsewhere(system, tmp_path, *PYTEST, "--help")
    assert helped.ret == 0
    helped.stdout.fnmatch_lines("*--autoweb-models=*")


@pytest.mark.usefixtures("ready_browser")
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_command_starts_a_project(system: str, tmp_path: Path) -> None:
    helped = run_elsewhere(system, tmp_path, "-m", "pytest_autoweb.cli", "--help")
    assert (helped.ret, helped.errlines) == (0, [])

    page = tmp_path / "site" / "index.html"
    page.parent.mkdir()
    page.write_text("<!doctype html><title>Tea</title><h1>Tea</h1>", encoding="utf-8")
    command = ("-m", "pytest_autoweb.cli", "init", "--static", "site")
    made = run_elsewhere(system, tmp_path, *command)
    assert made.ret == 0, made.stdout.str() + made.stderr.str()
    made.stdout.fnmatch_lines("Proven: solving cases*first.yaml passes and doing nothing fails.*")


@pytest.mark.usefixtures("ready_browser")
@pytest.mark.parametrize(("system", "workers"), [("win32", ("-n", "2")), ("darwin", ())])
def test_controls_run_on_a_page_and_on_a_server(
    system: str, workers: tuple[str, ...], tmp_path: Path
) -> None:
    project = SharedProject(tmp_path)
    cases = tmp_path / "cases" / "shop.yaml"
    text = cases.read_text(encoding="utf-8")
    (tmp_path / "cases" / "own_server.yaml").write_text(
        text.replace(
            "webserver: {static: ../site}",
            "webserver: {command: " + COMMAND + ", url: 'http://127.0.0.1:{port}/', cwd: ..}",
        ),
        encoding="utf-8",
    )
    controls = "--autoweb-models=builtin/oracle,builtin/noop"
    done = run_elsewhere(system, project.path, *PYTEST, "cases", controls, *workers)

    assert done.ret == 0, done.stdout.str()
    done.stdout.fnmatch_lines(
        [
            "autoweb: sandbox WITHOUT kernel walls; *(-v says why)",
            f"autoweb: pytest-autoweb has not been tried on {NAMES[system]} yet, *",
        ]
    )
    report = json.loads((tmp_path / "autoweb-report" / "report.json").read_text("utf-8"))
    cells = [cell for case in report["cases"] for cell in case["cells"]]
    assert {cell["outcome"] for cell in cells if cell["model"] == "builtin/oracle"} == {"passed"}
    assert len(cells) == 8
    assert not left_behind(tmp_path)


def left_behind(folder: Path) -> list[str]:
    """Processes that still run in a folder's servers."""
    found = []
    for one in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = one.read_bytes()
        except OSError:
            continue
        if os.fsencode(f"_AUTOWEB_SERVER={folder}") in environment:
            found.append(one.parent.name)
    return found
