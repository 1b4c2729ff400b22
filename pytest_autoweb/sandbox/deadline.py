"""A step's remaining time, and limits for browser calls that have no timeout of their own."""

import asyncio
import re
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting import Countdown, time_of_others
from pytest_autoweb.base.waiting.calls import CallEnded, bounded_call
from pytest_autoweb.base.waiting.playwright_internals import driver_of
from pytest_autoweb.browser.egress.browser_watch import (
    WATCH,
    call_within,
    debugging_session,
)

DEFAULT_MS = 30_000.0
CLAIM_MS = 5_000.0
"""Playwright's own default timeouts, for calls and for `expect`."""

_TIMEOUT = re.compile(r"\b\d+(?=ms\b)")

GRACE_S = 1.0
"""Extra time for the worker to handle its timeout error."""


class Budget:
    """The time of one step, and what of it each of its calls gets.

    Args:
        seconds: how long the step may take.
        waited: returns the seconds spent so far on uncounted waits, such as model calls.
        call_s: limit in seconds for a call that waits for an element and names no timeout.
        nominal_s: how long the step might take if the attempt did not end before.

    Attributes:
        patience: the factor for the current call's timeout.
        granted_ms: the timeout of the current call.
        cut: whether the current call got less time than it asked for.
        spent: whether a call was ended by the step's limit.
    """

    def __init__(
        self,
        seconds: float,
        waited: Callable[[], float] = lambda: 0.0,
        *,
        call_s: float = float("inf"),
        nominal_s: float | None = None,
    ) -> None:
        # Others' time is part of `waited`, as the worker's deadlines are by the plain clock.
        self._countdown, self._grace_s = Countdown(seconds, time.monotonic, waited), 0.0
        self._call_ms = call_s * 1000
        self._step_ms, self._attempt_ends = (nominal_s or seconds) * 1000, nominal_s is not None
        self._cuts: set[float] = set()
        self.patience = 1.0
        self.granted_ms = 0.0
        self.cut = False
        self.spent = False

    @property
    def hard_deadline(self) -> float:
        """Return the `time.monotonic()` at which a worker that still computes is stopped."""
        return self._countdown.ends_at + self._grace_s

    @property
    def remaining_s(self) -> float:
        """Return the seconds left, never a negative number."""
        return max(0.0, self._countdown.left_s)

    def grant_ms(self, requested: object, default: float, *, for_element: bool = True) -> float:
        """Return a call's timeout: the one it asks for, but at most the time left.

        Args:
            requested: what the code asks for.
            default: the timeout of a call that asks for none.
            for_element: whether the call waits for an element, and not for a page or a server.

        Raises:
            TypeError: the requested timeout is not a number.
        """
        left = self.remaining_s * 1000
        default = min(default, self._call_ms) if for_element else default
        wanted = _milliseconds(requested, default) * self.patience
        # Only then is a timeout the fault of the step's limit instead of the call's own timeout.
        self.cut = wanted > left
        # At least one millisecond, because zero would mean "no limit" to Playwright.
        self.granted_ms = float(max(1, round(min(wanted, left))))
        if self.cut:
            self._cuts.add(self.granted_ms)
        return self.granted_ms

    @property
    def limit_s(self) -> float:
        """Return the limit of the current call in seconds, or the step's if that ends it first."""
        return (self._step_ms if self.cut else self.granted_ms) / 1000

    def with_limits(self, message: str) -> str:
        """Return an error's message with the step's limit in place of the time that was left of it.

        The limit is what the code can do something about; what was left of it is chance.
        """
        whole = _TIMEOUT.sub(
            lambda found: f"{self._step_ms:g}" if float(found[0]) in self._cuts else found[0],
            message,
        )
        if whole == message or not self._attempt_ends:
            return whole
        return f"{whole.rstrip()}\n(the attempt's own time was over)"

    def allow_grace(self) -> None:
        """Give the worker a moment to handle a late reply."""
        late = GRACE_S - self._countdown.left_s
        # Capped, so that code which catches each timeout cannot extend its time without end.
        self._grace_s = min(max(self._grace_s, late), 3 * GRACE_S)


def _milliseconds(requested: object, default: float) -> float:
    if requested is None:
        return default
    if isinstance(requested, timedelta):
        return requested.total_seconds() * 1000
    if isinstance(requested, bool) or not isinstance(requested, int | float):
        raise TypeError(f"timeout must be a number of milliseconds, not {requested!r:.80}")
    # Zero means "no limit" to Playwright; here the step's own limit remains.
    return float(requested) if requested > 0 else float("inf")


T = TypeVar("T")

# Ending a call leaves a page whose script never ends as dead as before, so that script is stopped
# first. This is the time that the browser then gets to answer.
_AFTER_STOP_S = 0.6
_PROBE_S = 1.5
_SLOW_ERRORS = frozenset({"TimeoutError", "AssertionError"})


class StuckError(Exception):
    """Raised when a browser call had to be ended because it exceeded its limit."""

    def __init__(self) -> None:
        super().__init__("the browser did not answer in time")


class BrowserDeadline:
    """Runs browser calls and enforces an upper time limit.

    Attributes:
        page_lost: whether a page stopped answering and could not be recovered.
    """

    def __init__(self) -> None:
        self.page_lost = False
        self._sessions: dict[Any, Any] = {}

    def run(
        self,
        page: Any,
        seconds: float,
        call: Callable[[], T],
        waited: Callable[[], float] = lambda: 0.0,
    ) -> T:
        """Perform the call for at most `seconds`, plus the time it takes to stop it.

        Args:
            page: the page whose browser performs the call.
            seconds: the call's time limit.
            call: the function that calls the browser.
            waited: returns the seconds spent so far on uncounted waits: model calls, and what
                other cells held.

        Raises:
            StuckError: the call had to be ended.
        """
        session = self._session(page)
        try:
            return self._bounded(page, session, seconds, call, waited)
        except StuckError:
            self.page_lost = not self._answers(page, _PROBE_S)
            raise
        except Exception as error:
            if type(error).__name__ in _SLOW_ERRORS:
                self._revive(page, session)
            raise

    def spin(self, page: Any, seconds: float) -> None:
        """Run Playwright's event loop for a moment, without a call to the browser."""
        driver = driver_of(page)
        if driver is None or driver.ended:
            return
        me, waits = greenlet.getcurrent(), [True]

        def resume() -> None:
            if waits:
                me.switch()

        timer = driver.loop.call_later(seconds, resume)
        try:
            driver.fiber.switch()
        finally:
            waits.clear()
            timer.cancel()

    def _session(self, page: Any) -> Any:
        """Return a debugging session of the page, or None outside Chromium.

        It is opened before the first call, because a page that hangs no longer accepts one.
        """
        if page not in self._sessions:
            session = debugging_session(page) if _loop_of(page) is not None else None
            self._sessions[page] = session
            if session is not None:
                WATCH.know(partial(_crash, page, session))
        return self._sessions[page]

    def _bounded(
        self,
        page: Any,
        session: Any,
        seconds: float,
        call: Callable[[], T],
        waited: Callable[[], float],
    ) -> T:
        def stop() -> float:
            _terminate(session)
            return _AFTER_STOP_S

        # Time spent waiting for a model is not the call's fault. What others held is part of
        # `waited`, and `bounded_call` leaves it out itself.
        others = time_of_others()

        def for_models() -> float:
            return waited() - others()

        try:
            return bounded_call(page, max(0.05, seconds), call, not_counted=for_models, stop=stop)
        except CallEnded:
            raise StuckError from None

    def _revive(self, page: Any, session: Any) -> None:
        """Stop a script that may still run after a timeout of Playwright's own."""
        if self._answers(page, _AFTER_STOP_S):
            return
        _terminate(session)
        self.page_lost = not self._answers(page, _PROBE_S)

    def _answers(self, page: Any, seconds: float) -> bool:
        if page.is_closed():
            return False
        try:
            call_within(page, seconds * 1000, page.title)
        except Exception:  # Any error means that the page did not answer.
            return False
        return True


def _crash(page: Any, session: Any) -> None:
    """End the process of a page that hangs, from any thread; the browser itself does it."""
    loop = _loop_of(page)
    if loop is not None:
        request = greenlet.greenlet
        loop.call_soon_threadsafe(
            lambda: request(lambda: _result_or_none(lambda: session.send("Page.crash"))).switch()
        )


def _terminate(session: Any) -> None:
    """Ask the browser to stop the running script, from inside or outside the event loop."""
    if session is not None:
        request = greenlet.greenlet(
            lambda: _result_or_none(lambda: session.send("Runtime.terminateExecution"))
        )
        request.switch()


def _loop_of(page: Any) -> asyncio.AbstractEventLoop | None:
    """Return the loop on which a page is called; None where it is not known, or closed."""
    driver = driver_of(page)
    return None if driver is None or driver.loop.is_closed() else driver.loop


def _result_or_none(call: Callable[[], T]) -> T | None:
    """Return the call's result, or None if it fails; used for calls that may fail harmlessly."""
    try:
        return call()
    except Exception:  # a closed page, another browser, a dead connection
        return None
