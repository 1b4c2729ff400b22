"""A living browser for each cell: one that died, or grew too large, is replaced by a new one.

The browser and Playwright's driver are fixtures of pytest-playwright that last for the session. A
dead one is replaced by ending its fixture early, so that the next cell, or the next test of the
user, gets a new one from the same fixtures, with the same flags.
"""

import gc
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page

from pytest_autoweb.agents.outside.agent_page import open_agent_page
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.waiting.playwright_internals import LOST_DRIVER
from pytest_autoweb.browser.egress.browser_watch import (
    KEEP_MB,
    LOST_S,
    WATCH,
    browser_processes,
    driver_ended,
    is_lost,
    megabytes_of,
)
from pytest_autoweb.session.pytest_internals import definition_of, made_fixtures

# What to end, the least first: if Playwright's driver lives, only its browser is replaced.
_BROWSER, _DRIVER = "browser", "playwright"
# Arguments of contexts that nobody else may set; all others are a default for what cases say.
_OF_CELLS = frozenset({"proxy", "service_workers", "storage_state"})


def open_living(request: pytest.FixtureRequest, context_args: dict[str, Any]) -> Page:
    """Return a page in a fresh context of a browser that lives, new if the last one died.

    Args:
        request: the request of the running test.
        context_args: arguments for the context; they win over those of `browser_context_args`.

    Raises:
        BrowserError: `browser_context_args` sets something that cells set.
    """
    for _ in range(2):
        try:
            return _opened(request, context_args)
        except Error:
            if not (dead := dead_part(request)):
                raise
            end_fixture(request, dead)
    return _opened(request, context_args)


def _opened(request: pytest.FixtureRequest, context_args: dict[str, Any]) -> Page:
    given = request.getfixturevalue("browser_context_args")
    _refuse_both(given, context_args)
    with _without(given, context_args):
        # pytest-playwright copies the arguments once, when a test asks for contexts.
        new_context = request.getfixturevalue("new_context")
    page: Page = new_context(**context_args).new_page()
    WATCH.reason = ""
    WATCH.trust(again=True)
    return page


def open_apart(
    request: pytest.FixtureRequest,
    context_args: dict[str, Any],
    held: Sequence[str] | None = None,
) -> Page:
    """Return a page of a browser that only this cell has, for an outside agent to connect to.

    Args:
        request: the request of the running test.
        context_args: arguments for its context; they win over those of `browser_context_args`.
        held: the files that a held browser may read besides its own; None if it is not held.

    Raises:
        BrowserError: the browser is no Chromium or not on this machine, or `browser_context_args`
            sets something that cells set.
    """
    if request.getfixturevalue("connect_options"):
        raise BrowserError("an outside agent needs a browser on this machine, which it connects to")
    given = request.getfixturevalue("browser_context_args")
    _refuse_both(given, context_args)
    taken = _set_by(context_args)
    kept = {name: value for name, value in given.items() if name not in taken}
    launch_args = request.getfixturevalue("browser_type_launch_args")
    browser_type = request.getfixturevalue("browser_type")
    page = open_agent_page(browser_type, launch_args, {**kept, **context_args}, held)
    WATCH.reason = ""
    WATCH.trust(again=True)
    return page


def _refuse_both(given: dict[str, Any], own: dict[str, Any]) -> None:
    if both := sorted(given.keys() & own.keys() & _OF_CELLS):
        # Otherwise Python would only complain of a keyword argument that is given twice.
        raise BrowserError(f"browser_context_args sets {', '.join(both)}, which cells set")


def _set_by(own: dict[str, Any]) -> set[str]:
    return {*own, *(["no_viewport"] if "viewport" in own else [])}


@contextmanager
def _without(given: dict[str, Any], own: dict[str, Any]) -> Iterator[None]:
    """Take out of the arguments of all contexts, for a while, what the case sets itself."""
    taken = {name: given.pop(name) for name in _set_by(own) & given.keys()}
    try:
        yield
    finally:
        given.update(taken)


def new_page(browser: Browser, given: dict[str, Any], own: dict[str, Any]) -> Page:
    """Return a page in a fresh context of a browser that cells in flight share.

    Args:
        browser: the browser.
        given: the arguments of `browser_context_args`.
        own: those of the case, which win.

    Raises:
        BrowserError: `browser_context_args` sets something that cells set.
    """
    _refuse_both(given, own)
    taken = _set_by(own)
    context = browser.new_context(**{k: v for k, v in given.items() if k not in taken}, **own)
    try:
        return context.new_page()
    except BaseException:
        close_contexts([context])
        raise


def close_contexts(opened: "Sequence[BrowserContext]") -> None:
    """Close contexts, whatever they raise, without waiting long for a page that does not answer."""
    for context in opened:
        with WATCH.limit(LOST_S), suppress(Exception):
            context.close()


def begin_close(context: BrowserContext) -> Callable[[], object]:
    """Begin to close a context, and return a function that waits as `close_contexts` does."""

    def close() -> None:
        with suppress(Exception):
            context.close()

    def wait() -> None:
        with WATCH.limit(LOST_S), suppress(Exception):
            closed()

    # Where nothing else can be done meanwhile, it is closed at once.
    with WATCH.limit(LOST_S):
        closed = waiting.start_call(context, close)
    return wait


def leave_living(request: pytest.FixtureRequest, opened: "Sequence[BrowserContext]") -> None:
    """Close the contexts of a finished cell, and end its browser if it died or is too large.

    A page that is too much for the driver must bring it down here and not when fixtures end, where
    it would be an error and take the next cell with it.
    """
    close_contexts(opened)
    if dead := dead_part(request):
        end_fixture(request, dead)
    elif too_large():
        end_fixture(request, _BROWSER)


_WEIGH_EVERY_S = 2.0
_weighed: tuple[float, float] = (0.0, math.inf)
"""When the browser was weighed, and the megabytes that it had."""


def too_large(more_mb: int = 0) -> bool:
    """Tell whether the browser takes so much memory that it is better replaced.

    A light one is weighed now and then only, because that takes milliseconds.

    Args:
        more_mb: what it may take besides, for cells in flight.
    """
    global _weighed
    at, megabytes = _weighed
    if megabytes > (KEEP_MB + more_mb) / 2 or time.monotonic() - at > _WEIGH_EVERY_S:
        megabytes = megabytes_of(browser_processes())
        _weighed = time.monotonic(), megabytes
    return megabytes > KEEP_MB + more_mb


def end_fixture(request: pytest.FixtureRequest, name: str) -> None:
    """End a fixture and its dependents, ignoring their errors, so that pytest makes it again."""
    active = made_fixtures(request)
    if name not in active:
        return
    # Playwright's future of a driver that died is forgotten when Python ends at the latest, and
    # would be complained of below the report's path.
    logging.getLogger("asyncio").addFilter(_no_lost_driver)
    # What is dead cannot be closed properly, and a frozen one would take its time.
    with WATCH.limit(LOST_S), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with suppress(Exception):
            active[name].finish(request)
        # Python warns of calls that nobody can answer any more when it forgets them.
        gc.collect()
    for ended in [name for name, fixture in active.items() if fixture.cached_result is None]:
        del active[ended]


@contextmanager
def forgotten_if_failed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forget a fixture that fails in the block, so that the next request makes it again.

    Otherwise pytest would from then on find the one that it overrides under its name.
    """
    active = made_fixtures(request)
    known = set(active)
    try:
        yield
    except BaseException:
        for name in active.keys() - known:
            if active[name] is not definition_of(request.node, name):
                del active[name]
        raise


def _no_lost_driver(record: logging.LogRecord) -> bool:
    """Leave out what asyncio says of the pipe to a driver that has been replaced."""
    error = record.exc_info[1] if record.exc_info else None
    return not str(error).startswith(LOST_DRIVER)


def made_browser(request: pytest.FixtureRequest) -> Browser | None:
    """Return the session's browser; None if none has been started yet."""
    fixture = made_fixtures(request).get(_BROWSER)
    made = fixture.cached_result if fixture is not None else None
    return made[0] if made is not None else None


def dead_part(request: pytest.FixtureRequest) -> str:
    """Return the fixture to end: the driver's, the browser's, or "" if both live.

    A browser that was never started is not dead; one that did not start may lack its driver.
    """
    active = made_fixtures(request)
    # One that failed is not among them.
    fixture = active.get(_BROWSER) or definition_of(request.node, _BROWSER)
    if fixture is None or fixture.cached_result is None:
        return ""
    browser, _, failed = fixture.cached_result
    if failed is not None:
        # A browser that is not installed is no reason to replace the driver for each cell.
        return _DRIVER if type(failed[0]).__name__ == "TargetClosedError" else ""
    if browser is None or driver_ended(browser):
        return _DRIVER
    return _BROWSER if is_lost(browser) else ""
