"""The proof of an exported test, and the repair of a broken one.

A test is proven if it passes three times, and fails without its actions. It runs as it would for
anyone who has only pytest-playwright: without this package, the project's settings and its conftest
files. A test that needs those can run within its project instead.

A model repairs a broken test by writing new action lines; the proof decides.
"""

import ast
import functools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from playwright.sync_api import sync_playwright

from pytest_autoweb.agents.codegen.generate import extract_code
from pytest_autoweb.base.errors import AutowebError, ModelError
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import Origin
from pytest_autoweb.models.client import Client, Request, ask_once
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import closed_block, strip_reasoning
from pytest_autoweb.report.wording import one_line
from pytest_autoweb.results.records import Record, Usage
from pytest_autoweb.tools.export.action_lines import NoActions, PlainTest, RefusedLines
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

PROMPT_OVERHEAD_TOKENS = 2_500
"""Estimate of the tokens of rules, test and error around the page."""
_HEAD = re.compile(r"^[ \t]*# ?[Bb]lock (\d+):?[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"^[ \t]*#(?:>>>|<<<) ?block \d+[ \t]*\n?", re.MULTILINE)
_CANNOT = re.compile(r"^\W*CANNOT:\s*(.+)", re.MULTILINE)
_TRIED_CHARS = 4_000

NEAREST = 0
"""Placeholder for the number of the block that failed, or of the last one before the failure."""

HealVerdict = Literal["passes", "healed", "not healed"]


@dataclass(frozen=True, slots=True)
class TestRun:
    """The outcomes of one session's tests."""

    outcomes: Mapping[str, TestOutcome]
    """By test name."""
    said: Mapping[str, str]
    """The last line of the error of each test that did not pass."""


class TooLong(AutowebError):
    """Raised when a run was ended because its time was over."""


class Looked(NamedTuple):
    """A session, and the records of its failed tests."""

    run: TestRun
    looks: Mapping[str, FailureLook]
    """By test name."""


@dataclass(frozen=True, slots=True)
class Prover:
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
    ) -> Looked:
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
            return Looked(run, read_looks(Path(folder)))

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
    """Return the names of a file's tests."""
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


class HealedTest(Record):
    """What became of one test."""

    name: str
    verdict: HealVerdict
    reason: str = ""
    """Why it could not be mended, or what it failed of before it was."""
    attempts: int = 0
    """How often the model was asked."""
    usage: Usage = Usage()


class Mended(NamedTuple):
    """The outcome of a test, and the text of its file."""

    test: HealedTest
    text: str


@dataclass(frozen=True, slots=True)
class Healer:
    """Repairs a file's tests.

    Args:
        prover: runs drafts of the file.
        client: asks the model.
        spec: the model.
        redact: removes secrets from everything shown to the model.
        attempts: maximum number of model calls per test.
        say: called with progress messages.
    """

    prover: Prover
    client: Client
    spec: ModelSpec
    redact: Callable[[str], str]
    attempts: int = 3
    say: Callable[[str], None] = lambda line: None

    @property
    def budget(self) -> int:
        """Return the token limit of a page shown to the model."""
        room = self.spec.context_tokens - self.spec.max_tokens - PROMPT_OVERHEAD_TOKENS
        return max(400, min(room, self.spec.page_tokens))

    def heal(self, file: Path, text: str, only: str = "") -> tuple[list[HealedTest], str]:
        """Run a file, and repair its failing tests one by one.

        Args:
            file: the file; drafts have the same name.
            text: its text.
            only: the only test to consider; by default all of them.

        Returns:
            The outcome of each test, and the text with the repaired ones.

        Raises:
            AutowebError: pytest cannot run the file.
            ModelError: the model cannot be called.
        """
        # No line of a model is in it yet.
        run, looks = self.prover.look(file.name, text, self.budget, only, walled=False)
        done = []
        for name, outcome in run.outcomes.items():
            if outcome in ("passed", "skipped"):
                why = "" if outcome == "passed" else "it was skipped"
                done.append(HealedTest(name=name, verdict="passes", reason=why))
                continue
            seen = looks.get(name) or FailureLook(error=run.said.get(name, ""))
            self.say(f"{name} fails: {_first(self.redact(seen.error))}")
            if outcome == "error":
                why = f"it could not be set up: {_first(self.redact(seen.error))}"
                done.append(HealedTest(name=name, verdict="not healed", reason=why))
                continue
            try:
                mended = self._mended(file, PlainTest(text, name), seen)
            except ModelError as error:
                if not any(test.attempts for test in done):
                    raise
                # Earlier repairs, which cost money, are not discarded.
                failed = HealedTest(name=name, verdict="not healed", reason=_first(str(error)))
                mended = Mended(failed, text)
            done.append(mended.test)
            text = mended.text
        return done, text

    def _mended(self, file: Path, test: PlainTest, seen: FailureLook) -> Mended:
        """Ask for new lines until the proof accepts some."""
        before, usage, tried, reason, number = test, Usage(), "", "", 0
        try:
            _refuse_too_early(test, seen)
            for number in range(1, self.attempts + 1):
                self.say(f"{test.name}: asking {self.spec.name}, {number} of {self.attempts}")
                reply, used = self._ask(test, seen, tried)
                usage += used
                changed, reason = self._tried(file, test, _new_lines(reply), seen)
                if changed and not reason:
                    told = f"it failed with: {_first(self.redact(seen.error))}"
                    if self.prover.blocked:
                        told += f"; {blocked_sentence(self.prover.blocked)}"
                    return Mended(self._done(test, "healed", told, number, usage), changed.text)
                self.say(f"{test.name}: {_first(reason)}")
                tried = _said(reply, reason)
                if changed and number < self.attempts:
                    seen, test = self._further(file, test, changed, seen)
        except NoActions as problem:
            reason = str(problem)
        except _Unable as unable:
            reason = f"{self.spec.name} says that it cannot: {unable}"
        done = self._done(test, "not healed", _first(reason), number, usage)
        return Mended(done, before.text)

    @staticmethod
    def _done(
        test: PlainTest, verdict: HealVerdict, reason: str, attempts: int, usage: Usage
    ) -> HealedTest:
        return HealedTest(
            name=test.name, verdict=verdict, reason=reason, attempts=attempts, usage=usage
        )

    def _tried(
        self, file: Path, test: PlainTest, code: Mapping[int, str], seen: FailureLook
    ) -> tuple[PlainTest | None, str]:
        """Return the test with new lines if these are allowed, and why it is not accepted."""
        if NEAREST in code:
            code = {_nearest(test, seen): code[NEAREST]}
        try:
            changed = PlainTest(test.mended(code), test.name)
        except RefusedLines as refusal:
            return None, f"its lines were refused: {refusal}"
        self.say(f"{test.name}: proving new lines, three times and once without actions")
        self.prover.blocked.clear()
        wrong = self.prover.why_not(file.name, changed.text, changed.idle(), test.name)
        why = self.redact(wrong.get(test.name, ""))
        if why and self.prover.blocked:
            why += f"; {blocked_sentence(self.prover.blocked)}"
        return changed, f"the proof refused its lines: {why}" if why else ""

    def _further(
        self, file: Path, test: PlainTest, changed: PlainTest, seen: FailureLook
    ) -> tuple[FailureLook, PlainTest]:
        """Return the start of the next try: the changed test if it got further, else as before."""
        try:
            run, looks = self.prover.look(file.name, changed.text, self.budget, test.name)
        except TooLong:
            return seen, test
        look = looks.get(test.name)
        if look is None or run.outcomes.get(test.name) != "failed":
            return seen, test
        return (look, changed) if _left(changed, look) < _left(test, seen) else (seen, test)

    def _ask(self, test: PlainTest, seen: FailureLook, tried: str) -> tuple[str, Usage]:
        """Return the model's reply.

        Raises:
            ModelError: there was no reply.
        """
        messages = render("heal", **_prompt(test, seen, tried, self.redact))
        request = Request(
            model=self.spec.name, messages=messages, stage="repair", case_id=test.name
        )
        answered = ask_once(self.client, request, self.redact, usable=closed_block)
        if isinstance(answered.outcome, ModelError):
            raise answered.outcome
        return answered.outcome.text, answered.exchange.usage


class _Unable(Exception):
    """Raised when the model reports that the actions are not at fault."""


def _refuse_too_early(test: PlainTest, seen: FailureLook) -> None:
    """Reject a test whose failure cannot be caused by its actions.

    Raises:
        NoActions: it has none, or fails before the first one.
    """
    first = test.blocks[0].first
    if seen.line and seen.line < first:
        raise NoActions(f"it fails in line {seen.line}, before its first action in line {first}")


def _prompt(
    test: PlainTest, seen: FailureLook, tried: str, redact: Callable[[str], str]
) -> dict[str, Any]:
    lines = test.text.split("\n")
    at = lines[seen.line - 1].strip() if 0 < seen.line <= len(lines) else ""
    inside = any(block.first <= seen.line <= block.last for block in test.blocks)
    kind = "An action failed" if inside else "An assertion, or a line that stays, failed"
    numbers = [str(block.number) for block in test.blocks]
    return {
        "test": fence(redact(test.shown()), "test"),
        "where": f"{kind}:" if not at else f"{kind}, in the line `{redact(at)[:300]}`:",
        "error": fence(redact(seen.error), "error"),
        "url": redact(seen.url),
        "page": fence(redact(seen.page), "page"),
        "tried": redact(tried),
        "blocks": "the block" if len(numbers) == 1 else f"the blocks among {', '.join(numbers)}",
    }


def _new_lines(reply: str) -> dict[int, str]:
    """Return the new lines of a reply, by the numbers of their blocks.

    Raises:
        _Unable: the model reports that no lines would help.
    """
    code = _MARKER.sub("", extract_code(reply))
    if (unable := _CANNOT.search(strip_reasoning(reply))) and "page." not in code:
        raise _Unable(one_line(unable[1]))
    heads = list(_HEAD.finditer(code))
    if not heads:
        return {NEAREST: code}
    ends = [head.start() for head in heads[1:]] + [len(code)]
    return {int(head[1]): code[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def _nearest(test: PlainTest, seen: FailureLook) -> int:
    """Return the number of the block that failed, or else of the last one before the failure."""
    before = [block.number for block in test.blocks if block.first <= (seen.line or block.first)]
    return before[-1] if before else test.blocks[0].number


def _left(test: PlainTest, seen: FailureLook) -> int:
    """Return how many statements a test still had to run when it failed."""
    return sum((node.end_lineno or 0) >= seen.line for node in test.function.body)


def _said(reply: str, why: str) -> str:
    said = fence(extract_code(reply)[:_TRIED_CHARS], "tried")
    return f"This was tried before:\n{said}\nIt was not accepted:\n{fence(why, 'reason')}"


def _first(text: str) -> str:
    return one_line(text.strip().split("\n")[0], 300)
