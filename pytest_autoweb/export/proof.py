"""The proof of an exported test: it passes three times, and fails without its actions.

It runs as anybody would run it who has only pytest-playwright: without this package, the project's
settings and its conftest files. A test that needs those can be run within its project instead.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from playwright.sync_api import sync_playwright

from pytest_autoweb.egress.chromium import launch_args
from pytest_autoweb.errors import AutowebError
from pytest_autoweb.export.failing_page import FailureLook, read_looks
from pytest_autoweb.llm.provider_keys import without_secrets

TIMES = 3
_SECONDS = 600
_DRAFT = "draft_of_"
_KEEPS_AWAY = """\
import sys

sys.modules["pytest_autoweb"] = None
"""
_LOOKS = """\
from pathlib import Path

from pytest_autoweb.export.failing_page import FailingPage
"""
_CONFIGURES = """\


def pytest_configure(config):
    # Only now, because pytest-playwright's fixture of the same name must be there already.
    config.pluginmanager.import_plugin("browser_of_this_machine")
"""
_REGISTERS = "    config.pluginmanager.register(FailingPage(Path({folder!r}), {budget}))\n"
_BROWSER = """\
import pytest


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {{**{args}, **browser_type_launch_args}}
"""

TestOutcome = Literal["passed", "failed", "error", "skipped"]
FAILED = "it failed"
"""How the reason begins if a test ran, and failed."""
_SAID = {"failed": FAILED, "error": "it could not be set up", "skipped": "it was skipped"}


_NTH = {1: "first", 2: "second", 3: "third"}


@dataclass(frozen=True, slots=True)
class TestRun:
    """What became of the tests of one session."""

    outcomes: Mapping[str, TestOutcome]
    """By the names of the tests."""
    said: Mapping[str, str]
    """The last line of the error of each test that did not pass."""


class Looked(NamedTuple):
    """A session, and what was seen of the tests that failed in it."""

    run: TestRun
    looks: Mapping[str, FailureLook]
    """By the names of the tests."""


@dataclass(frozen=True, slots=True)
class Prover:
    """Runs drafts of a file beside the place where it is to lie.

    Args:
        out: the folder of the file.
        secrets: the environment variables that the tests need, with their values.
        browser: the name of the browser for Playwright.
        flags: more flags for pytest.
        in_project: whether the project's settings and conftest files take part.
    """

    out: Path
    secrets: Mapping[str, str]
    browser: str = "chromium"
    flags: tuple[str, ...] = ()
    in_project: bool = False

    def look(self, name: str, text: str, budget: int, only: str = "") -> Looked:
        """Run a file once, and look at what fails.

        Args:
            name: of the file.
            text: its text.
            budget: the most tokens of a page.
            only: the one test to run; by default all are.

        Raises:
            AutowebError: pytest could not run the file at all.
        """
        with tempfile.TemporaryDirectory(prefix="looks") as folder:
            plugin = _LOOKS + _CONFIGURES + _REGISTERS.format(folder=folder, budget=budget)
            run = self._run(name, text, only, plugin)
            return Looked(run, read_looks(Path(folder)))

    def why_not(self, name: str, whole: str, idle: str, only: str = "") -> dict[str, str]:
        """Return why tests are not accepted, by their names; tests that are have no entry.

        Args:
            name: of the file.
            whole: its text.
            idle: the same without any actions.
            only: the one test that is proven; by default all are.

        Raises:
            AutowebError: pytest could not run the file at all.
        """
        refused: dict[str, str] = {}
        for number in range(1, TIMES + 1):
            run = self._run(name, whole, only)
            for test, outcome in run.outcomes.items():
                if outcome != "passed" and test not in refused:
                    why = run.said.get(test, "") or outcome
                    refused[test] = (
                        f"{_SAID[outcome]} when it was run for the {_NTH[number]} time: {why}"
                    )
            if len(refused) == len(run.outcomes):
                return refused
        for test, outcome in self._run(name, idle, only).outcomes.items():
            if outcome != "failed":
                why = "passes without its actions as well, so passing would tell nothing"
                if outcome != "passed":
                    why = "cannot be set up without its actions, so nothing was proven"
                refused.setdefault(test, f"it {why}")
        return refused

    def _run(self, name: str, text: str, only: str = "", plugin: str = "") -> TestRun:
        draft = self.out / f"{_DRAFT}{os.getpid()}_{name}"
        draft.write_text(text, encoding="utf-8")
        try:
            with tempfile.TemporaryDirectory(prefix="export") as folder:
                return self._run_draft(draft, Path(folder), only, plugin)
        finally:
            draft.unlink(missing_ok=True)

    def _run_draft(self, draft: Path, folder: Path, only: str, plugin: str) -> TestRun:
        browser = _BROWSER.format(args=repr(_launch_args(self.browser)))
        kept_away = "" if self.in_project else _KEEPS_AWAY
        (folder / "browser_of_this_machine.py").write_text(browser, encoding="utf-8")
        plugin = plugin or kept_away + _CONFIGURES
        (folder / "only_playwright.py").write_text(plugin, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        results = folder / "results.xml"
        alone = (
            *("-c", str(folder / "pytest.ini"), "--rootdir", str(self.out.resolve())),
            *("--noconftest", "-p", "no:autoweb"),
        )
        target = f"{draft.resolve()}::{only}" if only else str(draft.resolve())
        command = [
            *(sys.executable, "-m", "pytest", target, "-q"),
            *(() if self.in_project else alone),
            *("-p", "no:cacheprovider", "-p", "only_playwright"),
            *(f"--junitxml={results}", f"--browser={self.browser}", *self.flags),
        ]
        try:
            done = subprocess.run(
                command,
                env=_environment(folder, self.secrets),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise AutowebError(f"the draft of {draft.name} ran longer than {_SECONDS} s") from None
        if done.returncode not in (0, 1) or not results.is_file():
            last = (done.stdout + done.stderr).strip().splitlines()[-1:]
            raise AutowebError(f"pytest could not run the draft: {_readable(''.join(last))}")
        return _read(results)


def _environment(folder: Path, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return what a session without this package sees, and no provider's key."""
    kept = without_secrets(os.environ)
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        kept.pop(name, None)
    path = os.pathsep.join(filter(None, (str(folder), kept.get("PYTHONPATH", ""))))
    return {**kept, **secrets, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


@functools.cache
def _launch_args(browser: str) -> dict[str, Any]:
    """Return what starts a browser of this machine where Playwright's own is not installed."""
    if browser != "chromium":
        return {}
    with sync_playwright() as playwright:
        executable = playwright.chromium.executable_path
    found = launch_args({}, playwright_executable=executable, own_sandbox=False)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def browser_of_the_machine(browser: str) -> str:
    """Return the path of the browser that proofs run on if it is not Playwright's own, else ""."""
    return str(_launch_args(browser).get("executable_path", ""))


def _read(results: Path) -> TestRun:
    outcomes: dict[str, TestOutcome] = {}
    said: dict[str, str] = {}
    # The file was written by pytest; what tests printed is escaped in it.
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        outcomes.setdefault(name, "passed")
        for kind in ("failure", "error", "skipped"):
            if (problem := case.find(kind)) is not None:
                outcomes[name] = "failed" if kind == "failure" else kind  # type: ignore[assignment]
                said[name] = _readable((problem.get("message") or "").strip().split("\n")[0])
    return TestRun(outcomes, said)


def _readable(text: str) -> str:
    """Return the beginning of a text without characters that steer a terminal."""
    return "".join(char for char in text if char.isprintable())[:300]
