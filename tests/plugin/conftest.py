"""A small site and case files for tests that run the whole plugin.

A session costs seconds. Tests that look at different cells of one and the same session take it from
a fixture of their module, which runs it in a `SharedProject`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

# A session in this process forgets at its end what it imported. What is imported here stays, which
# saves each of them seconds.
import pytest_autoweb.session.controller
import pytest_autoweb.session.preview  # noqa: F401

HERE = Path(__file__).parent

SITE = {
    "index.html": """<!doctype html><title>Shop</title><h1>Shop</h1>
<label>Name <input id="name"></label>
<label>Password <input id="pw" type="password"></label>
<button onclick="document.getElementById('out').textContent =
  'Welcome, ' + document.getElementById('name').value">Log in</button>
<p id="out"></p>""",
}

CASES = """
version: 1
webserver: {static: site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana."
    tags: [smoke]
    expect:
      - text: "Welcome, ana"
    oracle: |
      # Step 1: fill
      page.get_by_label("Name").fill("ana")
      # Step 2: press
      page.get_by_role("button", name="Log in").click()
  - id: title
    entry_url: "{{ webserver.url }}index.html"
    user_task: "What is the heading?"
    expect:
      - answer: {equals: Shop}
    oracle: |
      # Step 1
      answer(page.get_by_role("heading").inner_text())
"""


INI = (
    "[pytest]\n"
    # A check that fails waits so long; here nothing comes late.
    "autoweb_check_timeout = 1\n"
    # Their imports would double what a small session costs.
    "addopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"
)
SCRIPTED = """from pytest_autoweb.errors import ModelError
from pytest_autoweb.testing import ScriptedClient, scripted_plan
ANSWERS = {answers}
def pytest_autoweb_client(spec):
    if spec.name in ANSWERS:
        return ScriptedClient(ANSWERS[spec.name])
"""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: each starts pytest itself, bare or with workers.

    Those that share a session have to be run by the same worker.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("session")
            if "shared_project" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(item.path.stem))


def furnish(folder: Path) -> None:
    """Make the folder a project with a site and two cases."""
    (folder / "site").mkdir()
    for name, text in SITE.items():
        (folder / "site" / name).write_text(text, encoding="utf-8")
    (folder / "cases").mkdir()
    cases = CASES.replace("static: site", "static: ../site")
    (folder / "cases/shop.yaml").write_text(cases, encoding="utf-8")
    (folder / "tox.ini").write_text(INI, encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a site and two cases."""
    furnish(pytester.path)
    return pytester


class SharedProject:
    """A project with a site and two cases, in which a module runs a session for several tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        furnish(path)

    def script(self, answers: str) -> None:
        """Add a conftest with models `fake/...`, as the fixture `scripted` does."""
        (self.path / "conftest.py").write_text(SCRIPTED.format(answers=answers), encoding="utf-8")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, as pytester does."""
        begin = time.perf_counter()
        home = {"HOME": str(self.path), "USERPROFILE": str(self.path), "PY_COLORS": "0"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.path,
            env={**os.environ, **home},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        seconds = time.perf_counter() - begin
        lines = (done.stdout.splitlines(), done.stderr.splitlines())
        return pytest.RunResult(done.returncode, *lines, seconds)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> SharedProject:
    """The project of a module's common session; the fixture that runs it is in the module."""
    return SharedProject(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def scripted(project: pytest.Pytester) -> Callable[[str], None]:
    """Adds a conftest whose hook answers for models named `fake/...`.

    The argument is Python source of a dict from model name to the answers per stage.
    """

    def write(answers: str) -> None:
        project.makeconftest(SCRIPTED.format(answers=answers))

    return write


@pytest.fixture(params=[(), ("-n", "2")], ids=["bare", "n2"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The same test alone and on two xdist workers."""
    chosen: tuple[str, ...] = request.param
    return chosen
