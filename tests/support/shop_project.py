"""A project with a small site and two cases, in which sessions of the whole plugin run."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from session_server import session_command

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


LEAN = "-p no:anyio -p no:hypothesispytest -p no:schemathesis"
"""Leaves out plugins of the developers' environment: to import them would double what a small
session costs."""
INI = (
    "[pytest]\n"
    # A check that fails waits so long; here nothing comes late.
    "autoweb_check_timeout = 1\n"
    # The scripted models answer with a plan and a whole script.
    "autoweb_codegen = once\n"
    f"addopts = {LEAN}\n"
)
SCRIPTED = """from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.testing import ScriptedClient, scripted_plan
ANSWERS = {answers}
def pytest_autoweb_client(spec):
    if spec.name in ANSWERS:
        return ScriptedClient(ANSWERS[spec.name])
"""


def furnish(folder: Path) -> None:
    """Make the folder a project with a site and two cases."""
    (folder / "site").mkdir()
    for name, text in SITE.items():
        (folder / "site" / name).write_text(text, encoding="utf-8")
    (folder / "cases").mkdir()
    cases = CASES.replace("static: site", "static: ../site")
    (folder / "cases/shop.yaml").write_text(cases, encoding="utf-8")
    (folder / "tox.ini").write_text(INI, encoding="utf-8")


class SharedProject:
    """A project with a site and two cases, in which a module runs a session for several tests."""

    def __init__(self, path: Path, *, furnished: bool = False) -> None:
        self.path = path
        if not furnished:
            furnish(path)

    @classmethod
    def at(cls, path: Path) -> "SharedProject":
        """A project that is furnished already, such as that of the fixture `project`."""
        return cls(path, furnished=True)

    def script(self, answers: str) -> None:
        """Add a conftest with models `fake/...`, as the fixture `scripted` does."""
        (self.path / "conftest.py").write_text(SCRIPTED.format(answers=answers), encoding="utf-8")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, as pytester does."""
        begin = time.perf_counter()
        home = {"HOME": str(self.path), "USERPROFILE": str(self.path), "PY_COLORS": "0"}
        done = subprocess.run(
            [*session_command(), *arguments],
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
