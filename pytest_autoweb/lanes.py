"""Lanes: how many cells in flight may work at once, and in which order the others follow.

Sixteen pages that open at the same moment are all late. Opened a few at a time, most of them are
ready long before the last, and their cells ask their models meanwhile.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

LANES_A_CORE = 2
"""How many cells may work at once for each core: while one waits for the browser to draw, another
one computes."""
PAGES_A_CORE = 20
"""How many pages may be open for each core before cells that have one go first. A machine that is
so busy would open further pages only to let them wait, at 12 MB and more each."""
LENT_S = 0.5
"""For how long a lane is lent. A cell that is not done by then waits for its page, most likely."""


class Queueing(Protocol):
    """A cell in flight, as the lanes see it."""

    def queue_up(self) -> None:
        """Begin to wait for a lane."""

    def leave_queue(self) -> None:
        """Wait for a lane no longer."""


_Turn: TypeAlias = "asyncio.Future[None]"


class Lanes:
    """The lanes of one process.

    The cells queue, first come, first served. Only when many pages are open, those that have a page
    and come back from their model go before those that would open one.

    Args:
        cores: how many processors this process may use.
    """

    def __init__(self, cores: int) -> None:
        self._free = max(2, LANES_A_CORE * cores)
        self._many = PAGES_A_CORE * cores
        self._queue: dict[_Turn, Queueing] = {}
        self._lent: dict[Queueing, asyncio.TimerHandle] = {}
        self._with_page: set[Queueing] = set()

    def take(
        self,
        flight: Queueing,
        loop: asyncio.AbstractEventLoop,
        wait: Callable[[_Turn], None],
    ) -> None:
        """Wait for a lane, unless the cell has one; the time does not count as its own.

        Args:
            flight: the cell, which has a page from its first lane until it ends.
            loop: the loop on which all wait.
            wait: waits for a future of this loop.
        """
        if flight in self._lent:
            return
        if self._free:
            self._free -= 1
        else:
            self._queue_up(flight, loop.create_future(), wait)
        self._with_page.add(flight)
        self._lent[flight] = loop.call_later(LENT_S, self.give_back, flight)

    def give_back(self, flight: Queueing) -> None:
        """Let the next cell go on; does nothing if the flight has no lane any more."""
        if (timer := self._lent.pop(flight, None)) is not None:
            timer.cancel()
            self._pass_on()

    def end(self, flight: Queueing) -> None:
        """Let the next cell go on, as this one has ended and with it its page."""
        self._with_page.discard(flight)
        self.give_back(flight)

    def _queue_up(self, flight: Queueing, turn: _Turn, wait: Callable[[_Turn], None]) -> None:
        self._queue[turn] = flight
        flight.queue_up()
        try:
            wait(turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise
        finally:
            self._queue.pop(turn, None)
            flight.leave_queue()

    def _pass_on(self) -> None:
        waiting = [turn for turn in self._queue if not turn.done()]
        if not waiting:
            self._free += 1
            return
        chosen = waiting[0]
        if len(self._with_page) >= self._many:
            have_pages = (turn for turn in waiting if self._queue[turn] in self._with_page)
            chosen = next(have_pages, chosen)
        del self._queue[chosen]
        chosen.set_result(None)
