"""Serves the site of one test as the test finds it: a program, started as a case's web server.

It runs the test without a browser until it first acts on a page, and holds it there: fixtures have
started the application and filled its database, and so has the beginning of the test itself. What
they do in a browser is left out, since the case does it. The application's own port is only known
now, so the connections of the case's port are passed on to it.
"""

import argparse
import asyncio
import functools
import json
import os
import signal
import socket
import sys
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import playwright.async_api
import playwright.async_api._generated
import playwright.sync_api
import playwright.sync_api._generated
import pytest

STATE = "storage_state.json"
"""The file, in the data folder, of cookies and storage that fixtures give to the browser."""

_ACTING = frozenset(
    {"click", "dblclick", "fill", "type", "press", "press_sequentially", "check", "uncheck", "tap"}
    | {"set_checked", "select_option", "hover", "drag_to", "drag_and_drop", "set_input_files"}
    | {"wait_for", "wait_for_selector", "wait_for_url", "wait_for_load_state", "expect", "reload"}
    | {"goto", "inner_text", "text_content", "count", "is_visible", "title"}
)
_CHUNK = 65_536
_LOOK_S = 0.2


class Held:
    """What is known of the test so far."""

    def __init__(self, port: int, data: Path) -> None:
        self.port, self.data = port, data
        self.in_test = False
        self.base, self.address = "", ""
        self.state: dict[str, Any] = {"cookies": [], "origins": []}
        self._serving = False

    def called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Take note of a call on the stand-in; return whether the test is to be held here."""
        if name in ("new_context", "new_page", "launch_persistent_context"):
            self.base = str(kwargs.get("base_url") or self.base)
            self._take_state(kwargs.get("storage_state"))
        elif name == "add_cookies" and args:
            self._take_cookies(args[0])
        elif name == "goto":
            url = str(args[0] if args else kwargs.get("url", ""))
            whole = urljoin(self.base, url) if self.base else url
            if whole.startswith("http") and not self.address:
                self.address = whole
        return self.in_test and bool(self.address) and name in _ACTING

    def _take_state(self, state: Any) -> None:
        if isinstance(state, str | os.PathLike):
            with suppress(OSError, ValueError):
                state = json.loads(Path(state).read_text("utf-8"))
        if isinstance(state, dict):
            self._take_cookies(state.get("cookies", []))
            self.state["origins"] += state.get("origins", [])

    def _take_cookies(self, cookies: Any) -> None:
        for cookie in cookies if isinstance(cookies, list) else []:
            given = dict(cookie)
            if url := given.pop("url", ""):
                parts = urlsplit(str(url))
                given |= {"domain": parts.hostname or "", "path": "/"}
            usual = {"path": "/", "expires": -1, "httpOnly": False, "secure": False}
            self.state["cookies"].append({**usual, "sameSite": "Lax", **given})

    def serve(self) -> None:
        """Begin to pass connections on."""
        if self._serving:
            return
        self._serving = True
        parts = urlsplit(self.address)
        own = f"{parts.scheme}://{parts.netloc}"
        there = f"{parts.scheme}://{parts.hostname}:{self.port}"
        kept = json.dumps(self.state).replace(own, there)
        (self.data / STATE).write_text(kept, encoding="utf-8")
        target = (parts.hostname or "127.0.0.1", parts.port or 80)
        listener = socket.create_server(("127.0.0.1", self.port), backlog=100)
        threading.Thread(target=_accept, args=(listener, target), daemon=True).start()
        print(f"holding the test before its first action at {self.address}", flush=True)

    def wait(self) -> None:
        """Serve until the process is told to end."""
        self.serve()
        while True:
            time.sleep(_LOOK_S)


def _accept(listener: socket.socket, target: tuple[str, int]) -> None:
    while True:
        with suppress(OSError):
            near, _ = listener.accept()
            threading.Thread(target=_pass_on, args=(near, target), daemon=True).start()


def _pass_on(near: socket.socket, target: tuple[str, int]) -> None:
    try:
        far = socket.create_connection(target)
    except OSError:
        near.close()
        return
    there = threading.Thread(target=_copy, args=(near, far), daemon=True)
    there.start()
    _copy(far, near)
    there.join()
    near.close()
    far.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class StandIn:
    """Takes the place of the browser and of all that comes from it: any call gives another one."""

    def __init__(self, held: Held, name: str) -> None:
        self._held, self._name = held, name

    def __getattr__(self, name: str) -> "StandIn":
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(self._held, name)

    def __call__(self, *args: Any, **kwargs: Any) -> "StandIn":
        if not self._held.called(self._name, args, kwargs):
            return self
        if _in_event_loop():
            return _HeldCall(self._held, self._name)
        self._held.wait()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __await__(self) -> Iterator[Any]:
        yield from ()
        return self

    def __getitem__(self, key: object) -> "StandIn":
        return self

    def keys(self) -> list[str]:
        """Return nothing, so that `**` of a device or of options adds nothing."""
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return ""

    def __fspath__(self) -> str:
        return os.devnull

    def __int__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, other: object) -> bool:
        return True


class _HeldCall(StandIn):
    """A call of an asynchronous test, which holds without stopping the event loop.

    So does what is called on it, such as the assertion behind `expect`.
    """

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return _HeldCall(self._held, name)

    def __call__(self, *args: Any, **kwargs: Any) -> StandIn:
        return self

    def __await__(self) -> Iterator[Any]:
        self._held.serve()
        while True:
            yield from asyncio.sleep(_LOOK_S).__await__()


def _in_event_loop() -> bool:
    # Playwright's synchronous flavour runs an event loop of its own in the same thread, of which
    # the test knows nothing: there a call has to wait where it is.
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None


class _Driver:
    """Playwright without its own process, which is only started for requests of its API."""

    def __init__(self, held: Held, start: Callable[[], Any]) -> None:
        self._held, self._start = held, start
        self._started: Any = None

    def start(self) -> "_Driver":
        return self

    def stop(self) -> None:
        if self._started is not None:
            self._started.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name != "request":
            return StandIn(self._held, name)
        if self._started is None:
            self._started = self._start().start()
        return self._started.request


def _without_browser(held: Held) -> None:
    """Have every browser that is started be a stand-in."""

    def started(name: str) -> Callable[..., Any]:
        def start(self: Any, *args: Any, **kwargs: Any) -> StandIn:
            held.called(name, (), kwargs)
            return StandIn(held, name)

        return start

    real: Any = playwright.sync_api.sync_playwright
    # Before the suite imports it, which happens when pytest starts.
    playwright.sync_api.sync_playwright = lambda: _Driver(held, real)  # type: ignore[assignment]
    for flavour in (playwright.sync_api, playwright.async_api):
        launcher = flavour._generated.BrowserType
        for name in ("launch", "launch_persistent_context", "connect", "connect_over_cdp"):
            setattr(launcher, name, started(name))
        claims = type(flavour.expect)
        for name in ("__call__", "soft"):
            if hasattr(claims, name):
                setattr(claims, name, _expecting(held, getattr(claims, name)))


def _expecting(held: Held, original: Callable[..., Any]) -> Callable[..., Any]:
    def expecting(self: Any, actual: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(actual, StandIn):
            return StandIn(held, "expect")()
        return original(self, actual, *args, **kwargs)

    return expecting


class _Plugin:
    def __init__(self, held: Held) -> None:
        self._held = held

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[Any]:
        """Hold the test at its first action, or at its end if fixtures have opened a page."""
        self._held.in_test = True
        result = yield
        if self._held.address:
            self._held.wait()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Hold a test of a `unittest.TestCase` alike, whose method pytest does not call itself."""
        kind = getattr(item, "cls", None)
        of_unittest = isinstance(kind, type) and issubclass(kind, unittest.TestCase)
        if of_unittest and not asyncio.iscoroutinefunction(item.obj):
            item.obj = self._holding(item.obj)
        return (yield)

    def _holding(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def held(*args: Any, **kwargs: Any) -> Any:
            self._held.in_test = True
            result = method(*args, **kwargs)
            if self._held.address:
                self._held.wait()
            return result

        return held


def main() -> int:
    """Run one test of the suite until it is held; it ends when this process is told to.

    What stands behind `--` goes to pytest.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodeid")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    held = Held(args.port, args.data)
    _without_browser(held)
    # As Ctrl-C does, so that fixtures end what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    own = ["-p", "no:cacheprovider", "--capture=no", args.nodeid, *words[at + 1 :]]
    code = pytest.main(own, plugins=[_Plugin(held)])
    print(f"the test was never held: it opened no page (pytest ended with {int(code)})", flush=True)
    return int(code) or 1


if __name__ == "__main__":
    sys.exit(main())
