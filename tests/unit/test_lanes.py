"""Cells in flight that want to work at once, on a loop like that of Playwright's sync API."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace

import greenlet  # type: ignore[import-untyped]
import pytest

from pytest_autoweb import waiting
from pytest_autoweb.waiting import LENT_S, CancelledFlight, Hub


class Flown:
    """A hub with one lane, whose loop runs in a greenlet of its own, as Playwright's does."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.fiber = greenlet.greenlet(self.loop.run_forever)
        self.hub = Hub(lambda: None, lanes=1)
        self.hub.open(SimpleNamespace(_loop=self.loop, _dispatcher_fiber=self.fiber))
        self.said: list[str] = []

    def begin(self, name: str, work: Callable[[], None]) -> None:
        """Begin a cell that works in a lane."""

        def run() -> None:
            with suppress(CancelledFlight):
                with waiting.working():
                    self.said.append(f"{name} works")
                    work()
                self.said.append(f"{name} ended")

        self.hub.launch(run)

    def fly(self, seconds: float) -> None:
        """Let the cells go on for a while."""
        future: asyncio.Future[None] = self.loop.create_future()
        self.loop.call_later(seconds, future.set_result, None)
        self.hub.wait(future)


@pytest.fixture
def flown() -> Iterator[Flown]:
    before = asyncio._get_running_loop()
    flown = Flown()
    yield flown
    flown.hub.close()
    asyncio._set_running_loop(before)
    if not flown.fiber.dead:
        flown.loop.call_soon(flown.loop.stop)
        flown.fiber.switch()
    flown.loop.close()


def test_one_works_after_the_other_and_the_queue_is_nobodys_own_time(flown: Flown) -> None:
    clocks: list[Callable[[], float]] = []
    read: list[float] = []

    def timed() -> None:
        clocks.append(waiting.own_clock())
        with waiting.working():
            read.append(clocks[0]())

    flown.begin("first", lambda: waiting.sleep(0.3))
    flown.hub.launch(timed)
    flown.fly(0.05)
    read.append(clocks[0]())
    # Nor does it count before the queue has ended.
    flown.fly(0.1)
    read.append(clocks[0]())
    flown.fly(0.4)

    assert flown.said == ["first works", "first ended"]
    assert read == [pytest.approx(read[0], abs=0.04)] * 3


def test_a_lane_is_lent_for_a_while_only(flown: Flown) -> None:
    flown.begin("first", lambda: waiting.sleep(LENT_S * 2))
    flown.begin("second", lambda: None)

    flown.fly(LENT_S * 1.4)

    assert flown.said == ["first works", "second works", "second ended"]


def test_whoever_waits_for_a_model_lets_another_one_work(flown: Flown) -> None:
    def asks() -> None:
        waiting.asking(lambda: threading.Event().wait(0.2))
        flown.said.append("first goes on")

    flown.begin("first", asks)
    flown.begin("second", lambda: waiting.sleep(0.1))

    flown.fly(0.6)

    assert flown.said == [
        "first works", "second works", "second ended", "first goes on", "first ended"
    ]  # fmt: skip


def test_who_queues_when_the_driver_dies_goes_on_without_a_lane(flown: Flown) -> None:
    flown.begin("first", lambda: waiting.sleep(10))
    flown.begin("second", lambda: None)
    flown.fly(0.05)
    second = list(flown.hub.flights.values())[-1]

    flown.loop.call_soon(flown.loop.stop)
    flown.fiber.switch()
    assert flown.hub.dead
    second.fiber.parent = greenlet.getcurrent()
    second.fiber.throw(RuntimeError("the driver ended"))

    assert flown.said == ["first works", "second works", "second ended"]


def test_a_cell_that_is_cancelled_in_the_queue_leaves_its_place(flown: Flown) -> None:
    flown.begin("first", lambda: waiting.sleep(0.2))
    flown.begin("second", lambda: None)
    flown.begin("third", lambda: None)
    flown.fly(0.05)
    second = list(flown.hub.flights.values())[1]

    flown.loop.call_soon(second.fiber.throw, CancelledFlight())
    flown.fly(0.5)

    assert flown.said == ["first works", "first ended", "third works", "third ended"]
