"""Runs a suite under the recorder, in its own environment, and returns what its tests did."""

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Listener
from pathlib import Path
from secrets import token_bytes
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import AutowebError, BrowserError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.tools.importing.suite.held import FOLDER

_PLUGIN = "autoweb_suite_recorder"
_RAN = (0, 1)
_NO_TESTS = 5
_SAID_CHARS = 1500


class RecordedStep(NamedTuple):
    """A line of what a test did."""

    kind: str
    """`act`, `wait` or `expect`."""
    code: str
    where: str
    """The place in the suite, as `file:line`."""


class Unsaid(NamedTuple):
    """Something that a test did and no case can repeat."""

    what: str
    where: str


class TypedSecret(NamedTuple):
    """Why a text that a test types is a secret."""

    kind: str
    """The kind of its field, such as `password`, or the variable that it is from."""
    env: str
    """The environment variable that holds it; empty if there is none."""


class RecordedTest(Struct, frozen=True):
    """One test as it was run."""

    nodeid: str
    where: str
    name: str
    variant: str
    """What distinguishes a parametrised test."""
    doc: str
    fixtures: tuple[str, ...]
    """The fixtures that may make the state of a server, with their parameters."""
    outcome: str
    why: str
    steps: tuple[RecordedStep, ...]
    unsaid: tuple[Unsaid, ...]
    secrets: Mapping[str, TypedSecret]
    """What was typed as a secret, by its value."""
    files: tuple[str, ...]
    context: Mapping[str, Any]
    """How the test wants its browser, under Playwright's names."""
    given_state: bool
    """Whether the browser was given cookies or storage that no page had made."""
    took_s: float
    """How long its fixtures and itself took, in seconds."""

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "RecordedTest":
        """Return the test that the recorder tells of."""
        return cls(
            **{name: told[name] for name in ("nodeid", "where", "name", "variant", "doc")},
            fixtures=tuple(told["fixtures"]),
            outcome=told["outcome"],
            why=told["why"],
            steps=tuple(RecordedStep(**one) for one in told["steps"]),
            unsaid=tuple(Unsaid(**one) for one in told["unsaid"]),
            secrets={value: TypedSecret(**one) for value, one in told["secrets"].items()},
            files=tuple(told["files"]),
            context=told["context"],
            given_state=told["given_state"],
            took_s=told["took_s"],
        )


class RecordedSuite(NamedTuple):
    """All tests of a session."""

    tests: tuple[RecordedTest, ...]
    rootdir: Path
    inifile: str
    """pytest's configuration file; empty if there is none."""


class SuiteOrder(NamedTuple):
    """What to record, and how."""

    paths: tuple[str, ...]
    further: tuple[str, ...] = ()
    """More arguments of pytest."""
    python: str = sys.executable
    base_url: str = ""
    """Where the tests find their site, if the command has started it."""


Run = Callable[[Sequence[str], Mapping[str, str], Path], int]
"""Runs a command with these variables, keeps its output in a file, and returns its exit status."""


def record_suite(
    order: SuiteOrder, log: Path, run: Run, say: Callable[[str], None] = lambda text: None
) -> RecordedSuite:
    """Run the suite and return what each test did, also of a session that ended early.

    Args:
        order: the suite.
        log: the file for what pytest says.
        run: runs pytest.
        say: is told of each test that ended.

    Raises:
        AutowebError: pytest could not run the tests, or found none.
    """
    key = token_bytes(16)
    told: list[dict[str, Any]] = []
    with (
        Listener(("127.0.0.1", 0), authkey=key) as listener,
        tempfile.TemporaryDirectory(prefix="autoweb-") as cache,
    ):
        threading.Thread(target=_listen, args=(listener, told, say), daemon=True).start()
        environ = _environ(order, listener.address[1], key, cache)
        own = ("-p", _PLUGIN, "-o", "enable_assertion_pass_hook=true")
        command = [order.python, "-m", "pytest", *own, *order.paths, *order.further]
        status = run(command, environ, log)
    tests = {one["nodeid"]: RecordedTest.read(one) for one in told if "nodeid" in one}
    session = next((one for one in told if "collected" in one), None)
    if session is None or (status not in _RAN and not tests):
        raise AutowebError(_refusal(status, log))
    return RecordedSuite(tuple(tests.values()), Path(session["rootdir"]), session["inifile"])


def _refusal(status: int, log: Path) -> str:
    if status == _NO_TESTS:
        return "pytest found no tests there"
    said = log.read_text("utf-8", "replace").strip()[-_SAID_CHARS:]
    return f"pytest could not run the tests (exit status {status}); it said:\n{said}"


def _environ(order: SuiteOrder, port: int, key: bytes, cache: str) -> dict[str, str]:
    folder = str(asset_dir("templates") / FOLDER)
    before = os.environ.get("PYTHONPATH")
    given = {
        "AUTOWEB_SUITE_PORT": str(port),
        "AUTOWEB_SUITE_KEY": key.hex(),
        "AUTOWEB_SUITE_CACHE": cache,
        "AUTOWEB_SUITE_BROWSER": json.dumps(_browser()),
        "PYTHONPATH": os.pathsep.join([folder, *([before] if before else [])]),
    }
    if order.base_url:
        # The former is pytest-base-url's, the latter what many suites read themselves.
        given |= {"PYTEST_BASE_URL": order.base_url, "BASE_URL": order.base_url}
    return {**os.environ, **given}


def _browser() -> dict[str, Any]:
    """Return how to start this machine's browser, where Playwright has none of its own."""
    with suppress(BrowserError):
        args = launch_args({}, playwright_executable="")
        return {name: args[name] for name in ("executable_path", "args") if name in args}
    return {}


def _listen(listener: Listener, told: list[dict[str, Any]], say: Callable[[str], None]) -> None:
    """Take what the recorder tells until it is gone; with workers there are several recorders."""
    with suppress(OSError, EOFError):
        while True:
            connection = listener.accept()
            threading.Thread(target=_take, args=(connection, told, say), daemon=True).start()


def _take(connection: Any, told: list[dict[str, Any]], say: Callable[[str], None]) -> None:
    with suppress(OSError, EOFError, ValueError):
        while True:
            record = json.loads(connection.recv_bytes())
            told.append(record)
            if "nodeid" in record:
                done = sum("nodeid" in one for one in told)
                planned = max(one["collected"] for one in told if "collected" in one)
                say(f"[{done}/{planned}] {record['nodeid']}: {record['outcome']}")
