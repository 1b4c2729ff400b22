"""Time as one cell sees it: while others hold the thread, its clock stands still.

Only one greenlet runs at a time. What others need of it must count neither towards a cell's limits
nor in its record.

Nothing here ends anything but `OwnTimer`, which calls a function. A `Countdown` only tells how much
is left; whoever has one asks it, and decides what to do when its time is over.
"""

import asyncio
import time
from collections.abc import Callable

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting.hub import flight_of

# Below this it does not matter who held the thread.
_LEAST_S = 0.005


def time_of_others() -> Callable[[], float]:
    """Return a function that tells for how many seconds others held the thread.

    It speaks of the cell that asked for it, and may be called in any greenlet or thread.
    """
    flight = flight_of(greenlet.getcurrent())
    return flight.others_s if flight else _none


def own_clock() -> Callable[[], float]:
    """Return a clock in seconds that stands still while others hold the thread."""
    held = time_of_others()
    return time.monotonic if held is _none else lambda: time.monotonic() - held()


def now() -> float:
    """Return the caller's own time in seconds."""
    return own_clock()()


def _none() -> float:
    return 0.0


class Stopwatch:
    """A measured stretch of time, from now on, apart from what does not count.

    Args:
        clock: tells the time in seconds.
        not_counted: returns the seconds spent so far on what does not count, such as model calls.
    """

    def __init__(
        self, clock: Callable[[], float] = now, not_counted: Callable[[], float] = _none
    ) -> None:
        self._clock, self._not_counted = clock, not_counted
        self._began, self._not_counted_before = clock(), not_counted()

    @property
    def seconds(self) -> float:
        """Return how long the stretch is by now."""
        return self._clock() - self._began - (self._not_counted() - self._not_counted_before)

    def lap(self) -> float:
        """Return how long the stretch is, and begin the next one at the same moment."""
        began, before = self._began, self._not_counted_before
        self._began, self._not_counted_before = self._clock(), self._not_counted()
        return self._began - began - (self._not_counted_before - before)


class Countdown(Stopwatch):
    """The time that is left of a limited stretch, which begins now.

    Args:
        seconds: how long the stretch may be.
        clock: see `Stopwatch`.
        not_counted: see `Stopwatch`.
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = now,
        not_counted: Callable[[], float] = _none,
    ) -> None:
        self._limit_s = seconds
        super().__init__(clock, not_counted)

    @property
    def left_s(self) -> float:
        """Return the seconds left; a negative number tells for how long the time has been over."""
        return self._limit_s - self.seconds

    @property
    def ends_at(self) -> float:
        """Return when the time is over, by the clock, if nothing more goes uncounted."""
        return self._began + self._limit_s + self._not_counted() - self._not_counted_before


class OwnTimer:
    """A timer that counts a cell's own time.

    It is set for the whole time. When it rings, it is set again for what is left because others
    held the thread; so it never rings early, and late only by what nobody could know.

    Args:
        loop: the event loop that rings it.
        seconds: when.
        others: tells for how many seconds others held the thread; see `time_of_others`.
        call: is called then.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        others: Callable[[], float],
        call: Callable[[], object],
    ) -> None:
        self._loop, self._call = loop, call
        self._countdown = Countdown(seconds, time.monotonic, others)
        self._handle = loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        # The loop reads answers that came in the meantime only after this.
        if (left := self._countdown.left_s) > _LEAST_S:
            self._handle = self._loop.call_later(left, self._ring)
        else:
            self._call()

    def cancel(self) -> None:
        """Never ring."""
        self._handle.cancel()
