"""Time limits for browser calls that have no timeout of their own.

`page.evaluate("while (true) {}")` blocks the test process for ever, and no signal, thread or
timeout of Playwright ends it. A timer on Playwright's own event loop does: it asks the browser to
stop the script and, if that does not help, throws into the waiting call. Playwright offers no
public access to that loop, so two of its private attributes are used here and nowhere else. Where
they are missing, calls run without a limit, as they would without this module.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import greenlet  # type: ignore[import-untyped]

T = TypeVar("T")

# Time for the browser to answer after its script was stopped.
_AFTER_STOP_S = 0.6
_PROBE_S = 1.5
_SLOW_ERRORS = frozenset({"TimeoutError", "AssertionError"})
_ATTACH_S = 5.0
_DETACH_S = 1.0


class StuckError(Exception):
    """Raised when a browser call had to be ended because it exceeded its limit."""

    def __init__(self) -> None:
        super().__init__("the browser did not answer in time")


class _EndedError(BaseException):
    """Thrown into a call that exceeded its limit; not an `Exception`, so nothing swallows it."""


class _Watch:
    """State of one running call."""

    def __init__(self, waited: float) -> None:
        self.waited = waited
        self.over = False
        self.stopped = False
        self.timers: list[asyncio.TimerHandle] = []


class BrowserDeadline:
    """A runner for browser calls that enforces an upper time limit.

    Attributes:
        page_lost: whether a page stopped answering and could not be recovered.
    """

    def __init__(self) -> None:
        self.page_lost = False
        self._sessions: dict[int, tuple[Any, Any]] = {}

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
            seconds: how long the call may take.
            call: the function that calls the browser.
            waited: returns the seconds spent so far on what is not counted, such as model calls.

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
        """Let Playwright's event loop run for a moment without asking the browser anything."""
        loop, fiber = _loop_of(page), getattr(page, "_dispatcher_fiber", None)
        if loop is None or fiber is None or fiber.dead:
            return
        me, waiting = greenlet.getcurrent(), [True]

        def resume() -> None:
            if waiting:
                me.switch()

        timer = loop.call_later(seconds, resume)
        try:
            fiber.switch()
        finally:
            waiting.clear()
            timer.cancel()

    def close(self) -> None:
        """Detach all debugging sessions."""
        for page, session in self._sessions.values():
            if session is not None and not page.is_closed():
                self._detach(page, session)
        self._sessions.clear()

    def _detach(self, page: Any, session: Any) -> None:
        # A page that is lost never answers this request either.
        _result_or_none(lambda: self._bounded(page, None, _DETACH_S, session.detach))

    def _session(self, page: Any) -> Any:
        """Return a debugging session of the page, or None outside Chromium.

        It is opened before the first call, because a page that hangs no longer accepts one.
        """
        known = self._sessions.get(id(page))
        if known is None:
            session = None
            if _loop_of(page) is not None and not page.is_closed():
                session = _result_or_none(
                    lambda: self._bounded(
                        page, None, _ATTACH_S, lambda: page.context.new_cdp_session(page)
                    )
                )
            known = self._sessions[id(page)] = (page, session)
        return known[1]

    def _bounded(
        self,
        page: Any,
        session: Any,
        seconds: float,
        call: Callable[[], T],
        waited: Callable[[], float] = lambda: 0.0,
    ) -> T:
        loop = _loop_of(page)
        if loop is None:
            return call()
        watch, caller = _Watch(waited()), greenlet.getcurrent()

        def end() -> None:
            if not watch.over:
                caller.throw(_EndedError())

        def stop() -> None:
            if watch.over:
                return
            # Time spent waiting for a model is not the call's fault, so the limit moves.
            if (more := waited() - watch.waited) > 0:
                watch.waited += more
                watch.timers.append(loop.call_later(more, stop))
                return
            watch.stopped = True
            _terminate(session)
            watch.timers.append(loop.call_later(_AFTER_STOP_S, end))

        watch.timers.append(loop.call_later(max(0.05, seconds), stop))
        try:
            result = call()
        except _EndedError:
            raise StuckError from None
        except Exception:
            if watch.stopped:
                raise StuckError from None
            raise
        finally:
            watch.over = True
            for timer in watch.timers:
                timer.cancel()
        return result

    def _revive(self, page: Any, session: Any) -> None:
        """Stop a script that may still run after a timeout of Playwright's own."""
        if self._answers(page, _AFTER_STOP_S):
            return
        _terminate(session)
        self.page_lost = not self._answers(page, _PROBE_S)

    def _answers(self, page: Any, seconds: float) -> bool:
        loop = _loop_of(page)
        if loop is None or page.is_closed():
            return not page.is_closed()
        caller = greenlet.getcurrent()
        over: list[bool] = []
        timer = loop.call_later(seconds, lambda: over or caller.throw(_EndedError()))
        try:
            page.title()
        except (_EndedError, Exception):  # whatever the error is, the page did not answer
            return False
        finally:
            over.append(True)
            timer.cancel()
        return True


def _terminate(session: Any) -> None:
    """Ask the browser to stop the running script, from inside or outside the event loop."""
    if session is not None:
        request = greenlet.greenlet(
            lambda: _result_or_none(lambda: session.send("Runtime.terminateExecution"))
        )
        request.switch()


def _loop_of(page: Any) -> asyncio.AbstractEventLoop | None:
    loop = getattr(page, "_loop", None)
    return loop if isinstance(loop, asyncio.AbstractEventLoop) and not loop.is_closed() else None


def _result_or_none(call: Callable[[], T]) -> T | None:
    """Return the call's result, or None if it fails; used for calls that may fail harmlessly."""
    try:
        return call()
    except Exception:  # a closed page, another browser, a dead connection
        return None
