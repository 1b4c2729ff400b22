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
PAGES_A_CORE = 18
"""How many pages may be open for each core before further ones are opened one at a time only, and
after all work of cells that have one. A machine that is so busy would open them only to let them
wait, at 12 MB and more each."""
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
    and come back from their model go before those that would open one, which do so one by one.

    Args:
        cores: how many processors this process may use.
    """

    def __init__(self, cores: int) -> None:
        self._free = max(2, LANES_A_CORE * cores)
        self._many = PAGES_A_CORE * cores
        self._queue: dict[_Turn, Queueing] = {}
        self._lent: dict[Queueing, asyncio.TimerHandle] = {}
        self._with_page: set[Queueing] = set()
        self._opening: set[Queueing] = set()
        """Those who have their first lane."""

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
        if self._free and self._may_go(flight):
            self._let_go(flight)
        else:
            self._queue_up(flight, loop.create_future(), wait)
        self._lent[flight] = loop.call_later(LENT_S, self.give_back, flight)

    def give_back(self, flight: Queueing) -> None:
        """Pass the flight's lane on to the next cell; does nothing if it has none."""
        if (timer := self._lent.pop(flight, None)) is not None:
            timer.cancel()
            self._take_back(flight)

    def end(self, flight: Queueing) -> None:
        """Pass on the lane of a cell that has ended, and count its page as closed."""
        self._with_page.discard(flight)
        self.give_back(flight)

    def _queue_up(self, flight: Queueing, turn: _Turn, wait: Callable[[_Turn], None]) -> None:
        self._queue[turn] = flight
        flight.queue_up()
        try:
            wait(turn)
        except BaseException:
            if turn.done() and not turn.cancelled():
                # A cell that was let go for the first time has not come to open its page.
                self._with_page -= self._opening & {flight}
                self._take_back(flight)
            raise
        finally:
            self._queue.pop(turn, None)
            flight.leave_queue()

    @property
    def _crowded(self) -> bool:
        return len(self._with_page) >= self._many

    def _may_go(self, flight: Queueing) -> bool:
        return flight in self._with_page or not (self._crowded and self._opening)

    def _let_go(self, flight: Queueing) -> None:
        self._free -= 1
        if flight not in self._with_page:
            self._with_page.add(flight)
            self._opening.add(flight)

    def _take_back(self, flight: Queueing) -> None:
        self._free += 1
        self._opening.discard(flight)
        self._pass_on()

    def _pass_on(self) -> None:
        """Give the lanes that are free to those who may go."""
        while self._free and (turn := self._next()) is not None:
            self._let_go(self._queue.pop(turn))
            turn.set_result(None)

    def _next(self) -> "_Turn | None":
        waiting = [turn for turn in self._queue if not turn.done()]
        if self._crowded:
            waiting.sort(key=lambda turn: self._queue[turn] not in self._with_page)
        return next((turn for turn in waiting if self._may_go(self._queue[turn])), None)
