"""The proof of an exported test.

A test is proven if it passes three times, and fails without its actions. It runs as it would for
anyone who has only pytest-playwright: without this package, the project's settings and its conftest
files. A test that needs those can run within its project instead.
"""

import ast
import functools
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from msgspec import Struct, field
from playwright.sync_api import sync_playwright

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import Origin
from pytest_autoweb.tools.export.failing_page import FailureLook, read_looks
from pytest_autoweb.tools.export.walled_run import OwnOrigins, run_group, walled_plugin

TIMES = 3
MOST_S = 600.0
"""Wall-clock limit of a run for which nobody set another."""
_SECONDS_OF_A_LINE = 5.0
_START_S = 60.0
_DRAFT = "draft_of_"
_KEEPS_AWAY = """\
import sys

sys.modules["pytest_autoweb"] = None
"""
_LOOKS = """\
from pathlib import Path

from pytest_autoweb.tools.export.failing_page import FailingPage
"""
_CONFIGURES = """\


def pytest_configure(config):
    # Only now, because pytest-playwright's fixture of the same name must be there already.
    config.pluginmanager.import_plugin("browser_of_this_machine")
"""
_WALLS = '    config.pluginmanager.import_plugin("walls_of_the_proof")\n'
_REGISTERS = "    config.pluginmanager.register(FailingPage(Path({folder!r}), {budget}))\n"
_BROWSER = """\
import pytest


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {{**{args}, **browser_type_launch_args}}
"""

TestOutcome = Literal["passed", "failed", "error", "skipped"]
FAILED = "it failed"
"""The beginning of the reason if a test ran and failed."""
_SAID = {"failed": FAILED, "error": "it could not be set up", "skipped": "it was skipped"}


_NTH = {1: "first", 2: "second", 3: "third"}


class TestRun(Struct, frozen=True):
    """The outcomes of one session's tests."""

    outcomes: Mapping[str, TestOutcome]
    """By test name."""
    said: Mapping[str, str]
    """The last line of the error of each test that did not pass."""


class TooLong(AutowebError):
    """Raised when a run was ended because its time was over."""


class DraftRun(NamedTuple):
    """A session, and the records of its failed tests."""

    run: TestRun
    looks: Mapping[str, FailureLook]
    """By test name."""


class Prover(Struct, frozen=True):
    """Runs drafts of a file next to its final location.

    Args:
        out: the folder of the file.
        secrets: the environment variables that the tests need, with their values.
        browser: the name of the browser for Playwright.
        flags: more flags for pytest.
        in_project: whether the project's settings and conftest files take part.
        origins: the origins that the browser may reach, besides those of the tests' fixtures.
        seconds: the wall-clock limit of a run; None: it goes by the lines of the test.

    Attributes:
        blocked: the origins that were refused so far.
    """

    out: Path
    secrets: Mapping[str, str]
    browser: str = "chromium"
    flags: tuple[str, ...] = ()
    in_project: bool = False
    origins: frozenset[Origin] = frozenset()
    seconds: float | None = None
    blocked: dict[str, None] = field(default_factory=dict)

    def look(
        self, name: str, text: str, budget: int, only: str = "", *, walled: bool = True
    ) -> DraftRun:
        """Run a file once, and record its failures.

        Args:
            name: the file's name.
            text: its text.
            budget: the token limit of a page.
            only: the only test to run; by default all of them.
            walled: whether the browser is held back; the file as it stands is run as always.

        Raises:
            TooLong: it was ended because its time was over.
            AutowebError: pytest could not run the file at all.
        """
        with tempfile.TemporaryDirectory(prefix="looks") as folder:
            plugin = _LOOKS + _CONFIGURES + _REGISTERS.format(folder=folder, budget=budget)
            run = self._run(name, text, only, plugin, walled=walled)
            return DraftRun(run, read_looks(Path(folder)))

    def why_not(self, name: str, whole: str, idle: str, only: str = "") -> dict[str, str]:
        """Return why tests are not accepted, by name; accepted tests have no entry.

        Args:
            name: the file's name.
            whole: its text.
            idle: the same text without any actions.
            only: the only test to prove; by default all of them.

        Raises:
            AutowebError: pytest could not run the file at all.
        """
        try:
            return self._why_not(name, whole, idle, only)
        except TooLong as error:
            names = [only] if only else _tests_of(whole)
            if len(names) == 1:
                return {names[0]: str(error)}
        # One of several tests does not end, and the others must not suffer from it.
        refused: dict[str, str] = {}
        for one in names:
            refused |= self.why_not(name, whole, idle, one)
        return refused

    def _why_not(self, name: str, whole: str, idle: str, only: str) -> dict[str, str]:
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

    def _run(
        self, name: str, text: str, only: str = "", plugin: str = "", *, walled: bool = True
    ) -> TestRun:
        draft = self.out / f"{_DRAFT}{os.getpid()}_{name}"
        draft.write_text(text, encoding="utf-8")
        target = f"{draft.resolve()}::{only}" if only else str(draft.resolve())
        try:
            with tempfile.TemporaryDirectory(prefix="export") as place:
                folder = Path(place)
                plugin = plugin or ("" if self.in_project else _KEEPS_AWAY) + _CONFIGURES
                _write(folder, "browser_of_this_machine", _browser_plugin(self.browser))
                if not walled:
                    _write(folder, "only_playwright", plugin)
                    return self._run_draft(target, folder, self._limit(text))
                policy = OwnOrigins(self.origins, folder / "own_origins.txt")
                with EgressProxy(policy, lambda origin: self.blocked.setdefault(origin)) as proxy:
                    _write(folder, "only_playwright", plugin + _WALLS)
                    _write(folder, "walls_of_the_proof", walled_plugin(proxy, policy.told))
                    return self._run_draft(target, folder, self._limit(text))
        finally:
            draft.unlink(missing_ok=True)

    def _limit(self, text: str) -> float:
        """Return the seconds that a run may take."""
        if self.seconds is not None:
            return self.seconds
        return min(MOST_S, _START_S + _SECONDS_OF_A_LINE * len(text.splitlines()))

    def _run_draft(self, target: str, folder: Path, seconds: float) -> TestRun:
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        results = folder / "results.xml"
        alone = (
            *("-c", str(folder / "pytest.ini"), "--rootdir", str(self.out.resolve())),
            *("--noconftest", "-p", "no:autoweb"),
        )
        command = [
            *(sys.executable, "-m", "pytest", target, "-q"),
            *(() if self.in_project else alone),
            *("-p", "no:cacheprovider", "-p", "only_playwright"),
            *(f"--junitxml={results}", f"--browser={self.browser}", *self.flags),
        ]
        env = _environment(folder, self.secrets)
        done = run_group(command, env, seconds, folder / "output.txt")
        if done.status is None:
            raise TooLong(f"it was ended after {seconds:g} s, the limit of a run")
        if done.status not in (0, 1) or not results.is_file():
            last = done.output.strip().splitlines()[-1:]
            raise AutowebError(f"pytest could not run the draft: {_readable(''.join(last))}")
        return _read(results)


def _write(folder: Path, module: str, text: str) -> None:
    (folder / f"{module}.py").write_text(text, encoding="utf-8")


def _browser_plugin(browser: str) -> str:
    return _BROWSER.format(args=repr(_launch_args(browser)))


def _tests_of(text: str) -> list[str]:
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return [node.name for node in functions if node.name.startswith("test")]


def _environment(folder: Path, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a session without this package and without provider keys."""
    kept = without_secrets(os.environ)
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        kept.pop(name, None)
    path = os.pathsep.join(filter(None, (str(folder), kept.get("PYTHONPATH", ""))))
    return {**kept, **secrets, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


@functools.cache
def _launch_args(browser: str) -> dict[str, Any]:
    """Return arguments to launch this machine's browser if Playwright's own is not installed."""
    if browser != "chromium":
        return {}
    with sync_playwright() as playwright:
        executable = playwright.chromium.executable_path
    found = launch_args({}, playwright_executable=executable, own_sandbox=False)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def browser_of_the_machine(browser: str) -> str:
    """Return the path of the browser for proofs if it is not Playwright's own, else ""."""
    return str(_launch_args(browser).get("executable_path", ""))


def _read(results: Path) -> TestRun:
    outcomes: dict[str, TestOutcome] = {}
    said: dict[str, str] = {}
    # The file was written by pytest, with the tests' output escaped.
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        outcomes.setdefault(name, "passed")
        for kind in ("failure", "error", "skipped"):
            if (problem := case.find(kind)) is not None:
                outcomes[name] = "failed" if kind == "failure" else kind  # type: ignore[assignment]
                said[name] = _readable((problem.get("message") or "").strip().split("\n")[0])
    return TestRun(outcomes, said)


def _readable(text: str) -> str:
    """Return the beginning of a text without terminal control characters."""
    return "".join(char for char in text if char.isprintable())[:300]


def blocked_sentence(origins: Iterable[str]) -> str:
    """Say which origins a proof did without, and how it would do with them."""
    return (
        f"requests to {', '.join(origins)} were blocked in the proof; if the test needs them, name "
        "them with --allow-origin"
    )
