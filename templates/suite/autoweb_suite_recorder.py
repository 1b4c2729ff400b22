"""Records what tests of pytest-playwright do: a plugin for the suite's own session of pytest.

It runs in the environment of the suite and needs nothing but pytest and Playwright. A record is
sent when its test ends, over a connection and not through a file, because it holds the secrets that
were typed.
"""

import functools
import inspect
import json
import os
import sys
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from typing import Any

import pytest
from autoweb_suite_calls import Recorder, Recording, wrap_playwright
from autoweb_suite_claims import OF_UNITTEST, claims_of, condition_of

PORT = "AUTOWEB_SUITE_PORT"
KEY = "AUTOWEB_SUITE_KEY"
CACHE = "AUTOWEB_SUITE_CACHE"
"""A folder for compiled tests: those in the usual one do not tell of assertions that hold."""


class Plugin:
    """The hooks of the session of pytest."""

    def __init__(self, recorder: Recorder, connection: Connection) -> None:
        self._recorder, self._connection = recorder, connection
        self._of_fixtures: dict[Any, Recording] = {}
        self._own: Recording | None = None
        self._phases: dict[str, Any] = {}
        self._took_s = 0.0

    def _send(self, record: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self._connection.send_bytes(json.dumps(record).encode())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell how many tests there are."""
        ini = session.config.inipath
        self._send(
            {
                "collected": len(session.items),
                "rootdir": str(session.config.rootpath),
                "inifile": str(ini) if ini else "",
            }
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record a test, its fixtures and its teardown."""
        self._own, self._phases, self._took_s = Recording(), {}, 0.0
        self._recorder.begin_test()
        self._recorder.begin(self._own)
        try:
            result: None = yield
        finally:
            self._recorder.begin(None)
        self._send(self._record(item))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Keep what a fixture of several tests does apart, because each of them needs it."""
        shared = fixturedef.scope != "function"
        mine = self._of_fixtures.setdefault(fixturedef, Recording()) if shared else self._own
        before = self._recorder.begin(mine)
        try:
            return (yield)
        finally:
            self._recorder.begin(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Leave out what cleans up."""
        self._recorder.begin(None)
        return (yield)

    def pytest_assertion_pass(self, orig: str) -> None:
        """Write down a plain `assert` on what was read from the page."""
        if self._recorder.current is not None and self._recorder.is_asserting():
            self._asserted(orig, f"assert {' '.join(orig.split())[:120]}")

    def of_unittest(self, original: Callable[..., None]) -> Callable[..., None]:
        """Return a method of `unittest.TestCase` that is written down like a plain `assert`."""

        @functools.wraps(original)
        def asserting(case: Any, *args: Any, **kwargs: Any) -> None:
            original(case, *args, **kwargs)
            recorder, name = self._recorder, original.__name__
            if recorder.current is not None and recorder.is_asserting():
                shown = ", ".join(repr(one)[:60] for one in args)
                self._asserted(condition_of(name, args, recorder.reads), f"assert {name}({shown})")

        return asserting

    def _asserted(self, condition: str, shown: str) -> None:
        recorder = self._recorder
        claims = claims_of(condition, recorder.reads)
        for code in claims:
            recorder.add("expect", code)
        if claims:
            recorder.end_reads()
        else:
            recorder.leave_out(shown)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[Any]:
        """Note how each phase ended."""
        report = yield
        why = str(call.excinfo.value).strip() if call.excinfo else ""
        self._phases[report.when] = (report.outcome, why, hasattr(report, "wasxfail"))
        if report.when != "teardown":
            self._took_s += report.duration
        return report

    def _record(self, item: Any) -> dict[str, Any]:
        own = self._own or Recording()
        whole = Recording()
        for name in item.fixturenames:
            for fixturedef in item._fixtureinfo.name2fixturedefs.get(name, ())[-1:]:
                if done := self._of_fixtures.get(fixturedef):
                    whole.extend(done)
        whole.extend(own)
        outcome, why = "passed", ""
        for when in ("setup", "call"):
            ended, said, xfailed = self._phases.get(when, ("passed", "", False))
            if ended != "passed" or xfailed:
                outcome, why = ("failed" if xfailed else ended), said
                break
        file, line, _ = item.location
        function = getattr(item, "function", None)
        return {
            "nodeid": item.nodeid,
            "where": f"{file}:{(line or 0) + 1}",
            "name": getattr(item, "originalname", None) or item.name,
            "variant": _variant(item),
            "doc": inspect.getdoc(function) or "" if function else "",
            "fixtures": sorted(_server_fixtures(item)),
            "outcome": outcome,
            "why": why[:500],
            "took_s": self._took_s,
            "steps": whole.steps,
            "unsaid": whole.unsaid,
            "secrets": whole.secrets,
            "files": whole.files,
            "context": whole.context,
            "given_state": whole.given_state,
        }


def _variant(item: Any) -> str:
    """Return what distinguishes a parametrised test, other than its browser."""
    parts = item.callspec.id.split("-") if hasattr(item, "callspec") else []
    return "-".join(part for part in parts if part not in ("chromium", "firefox", "webkit"))


_OF_PLAYWRIGHT = frozenset(
    {"page", "context", "new_context", "browser", "browser_type", "browser_name", "playwright"}
    | {"browser_context_args", "browser_type_launch_args", "browser_channel", "launch_browser"}
    | {"is_chromium", "is_firefox", "is_webkit", "connect_options", "device", "output_path"}
    | {"pytestconfig", "request", "_artifacts_recorder", "_pw_artifacts_folder", "tmp_path"}
    | {"tmp_path_factory", "delete_output_dir", "_pw_api_request_contexts"}
    | {"_pw_trace_api_requests", "_verify_url", "base_url", "slow_mo", "screen", "video"}
)


def _server_fixtures(item: Any) -> Iterator[str]:
    """Yield the fixtures that may make a server's state, with their parameters."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    for name in item.fixturenames:
        defined = item._fixtureinfo.name2fixturedefs.get(name)
        if name not in _OF_PLAYWRIGHT and defined:
            # What pytest's own parametrisation provides is a value, and no fixture of the suite.
            plain = name in given and getattr(defined[-1], "params", None) is None
            if not plain:
                yield f"{name}={given[name]!r}" if name in given else name


def pytest_configure(config: pytest.Config) -> None:
    """Wrap Playwright's methods, and connect to the command."""
    # Only now, since what pytest and Playwright consist of need not be compiled again.
    sys.pycache_prefix = os.environ[CACHE]
    address = ("127.0.0.1", int(os.environ[PORT]))
    connection = Client(address, authkey=bytes.fromhex(os.environ[KEY]))
    recorder = Recorder(config.rootpath)
    wrap_playwright(recorder)
    plugin = Plugin(recorder, connection)
    for name in OF_UNITTEST:
        setattr(unittest.TestCase, name, plugin.of_unittest(getattr(unittest.TestCase, name)))
    config.pluginmanager.register(plugin, "autoweb-suite-recorder")
