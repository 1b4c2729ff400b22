"""Cells in flight share a few lanes, on a loop that runs in a greenlet as Playwright's does."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from types import SimpleNamespace
from unittest import mock

import greenlet  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Error

from pytest_autoweb.base import waiting
from pytest_autoweb.base.waiting import lanes
from pytest_autoweb.base.waiting.hub import CancelledFlight, Flight, Hub
from pytest_autoweb.base.waiting.playwright_internals import DRIVER_ENDED, Driver
from pytest_autoweb.sandbox.deadline import _AFTER_STOP_S, BrowserDeadline, StuckError

LANES = 2


def test_no_more_cells_work_at_once_than_there_are_lanes_and_the_first_comes_first(
    two_lanes: TwoLanes,
) -> None:
    def cell(number: int) -> None:
        with waiting.in_lane():
            two_lanes.work(number)

    two_lanes.run(7, cell)

    assert two_lanes.most == LANES
    assert two_lanes.did == list("0123456")


def test_a_cell_that_asks_its_model_lets_another_one_work(two_lanes: TwoLanes) -> None:
    def cell(number: int) -> None:
        with waiting.in_lane():
            two_lanes.did.append(f"{number} asks")
            waiting.call_model(lambda: time.sleep(0.2))
            two_lanes.work(number)

    began = time.monotonic()
    two_lanes.run(6, cell)

    # All ask at the same time, although only two may work.
    assert two_lanes.did[:6] == [f"{number} asks" for number in range(6)]
    assert time.monotonic() - began < 6 / LANES * 0.2
    assert two_lanes.most == LANES


@pytest.mark.parametrize(
    ("many", "sooner", "later"),
    [
        (16, "4 opens", "0 goes on"),
        (4, "0 goes on", "4 opens"),
        # What has ended has no page any more.
        (4, "4 opens", "2 goes on"),
    ],
)
def test_with_many_pages_open_those_who_have_one_go_on_before_others_begin(
    many: int, sooner: str, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "PAGES_A_CORE", many)
    with closing(TwoLanes()) as two_lanes:

        def cell(number: int) -> None:
            with waiting.in_lane():
                two_lanes.did.append(f"{number} opens")
                waiting.sleep(0.1)
                waiting.call_model(lambda: time.sleep(0.02))
                two_lanes.did.append(f"{number} goes on")
                waiting.sleep(0.1)

        two_lanes.run(6, cell)

        assert two_lanes.did.index(sooner) < two_lanes.did.index(later)
        assert len(two_lanes.did) == 12


def test_with_many_pages_open_further_ones_are_opened_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "PAGES_A_CORE", LANES)
    opening: set[int] = set()
    together: list[set[int]] = []
    with closing(TwoLanes()) as two_lanes:

        def cell(number: int) -> None:
            with waiting.in_lane():
                opening.add(number)
                together.append(set(opening))
                waiting.sleep(0.05)
                opening.discard(number)
                waiting.call_model(lambda: time.sleep(0.4))
                two_lanes.did.append(f"{number} goes on")

        two_lanes.run(6, cell)

    assert together[:LANES] == [{0}, {0, 1}]
    assert together[LANES:] == [{2}, {3}, {4}, {5}]
    assert len(two_lanes.did) == 6


@given(seed=st.integers(0, 999))
@settings(max_examples=15, deadline=None)
def test_whatever_cells_do_all_of_them_end_and_leave_the_lanes_as_they_were(seed: int) -> None:
    chance = random.Random(seed)
    naps = [[chance.choice((0, 0.002, 0.02)) for _ in range(3)] for _ in range(12)]
    cancelled = chance.sample(range(12), 3)
    with (
        mock.patch.multiple(lanes, PAGES_A_CORE=2, LENT_S=0.01),
        closing(TwoLanes()) as two_lanes,
    ):

        def cancel(number: int) -> None:
            if not two_lanes.launched[number].fiber.dead:
                two_lanes.launched[number].fiber.throw(CancelledFlight())

        def cell(number: int) -> None:
            opens, asks, works = naps[number]
            if number in cancelled:
                two_lanes.loop.call_later(chance.choice((0, 0.01, 0.03)), cancel, number)
            with waiting.in_lane():
                waiting.sleep(opens)
                waiting.call_model(lambda: time.sleep(asks))
                waiting.sleep(works)

        two_lanes.run(12, cell)

        # As many as at first may open their pages at once again.
        two_lanes.most = 0
        two_lanes.run(LANES, lambda number: _work_in_lane(two_lanes, number))
        assert two_lanes.most == LANES


def _work_in_lane(two_lanes: TwoLanes, number: int) -> None:
    with waiting.in_lane():
        two_lanes.work(number, 0.009)


def test_a_cell_that_waits_long_for_its_page_loses_its_lane(
    two_lanes: TwoLanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "LENT_S", 0.05)

    def cell(number: int) -> None:
        with waiting.in_lane():
            two_lanes.work(number, 1.0 if number < LANES else 0.01)

    began = time.monotonic()
    two_lanes.run(4, cell)

    assert two_lanes.did == list("0123")
    assert time.monotonic() - began < 1.5


def test_waiting_for_a_lane_is_not_the_cells_own_time(two_lanes: TwoLanes) -> None:
    own: dict[int, float] = {}

    def cell(number: int) -> None:
        clock = waiting.own_clock()
        began = clock()
        with waiting.in_lane():
            own[number] = clock() - began
            two_lanes.work(number, 0.1)

    began = time.monotonic()
    two_lanes.run(6, cell)

    assert time.monotonic() - began > 0.25
    assert max(own.values()) < 0.09


def test_a_cell_that_is_cancelled_while_it_queues_keeps_nobody_waiting(two_lanes: TwoLanes) -> None:
    def cell(number: int) -> None:
        if number == 0:
            two_lanes.loop.call_later(
                0.05, lambda: two_lanes.launched[3].fiber.throw(CancelledFlight())
            )
        with waiting.in_lane():
            two_lanes.work(number, 0.1)

    two_lanes.run(6, cell)

    assert two_lanes.did == ["0", "1", "3 cancelled", "2", "4", "5"]


def test_a_lane_that_was_passed_to_a_cancelled_cell_goes_to_the_next(two_lanes: TwoLanes) -> None:
    def cell(number: int) -> None:
        with waiting.in_lane():
            two_lanes.work(number)
            if number == 0:
                # It is cancelled after its lane was given, and before it could begin.
                two_lanes.loop.call_soon(two_lanes.launched[2].fiber.throw, CancelledFlight())
                two_lanes.hub.lanes.give_back(two_lanes.launched[0])

    two_lanes.run(5, cell)

    assert sorted(two_lanes.did) == ["0", "1", "2 cancelled", "3", "4"]


def test_nor_is_it_while_the_cell_still_queues(two_lanes: TwoLanes) -> None:
    clocks: dict[int, Callable[[], float]] = {}
    read: list[float] = []

    def cell(number: int) -> None:
        clocks[number] = waiting.own_clock()
        if number == 0:
            two_lanes.loop.call_later(0.05, lambda: read.append(clocks[LANES]()))
            two_lanes.loop.call_later(0.25, lambda: read.append(clocks[LANES]()))
        with waiting.in_lane():
            two_lanes.work(number, 0.3)

    two_lanes.run(LANES + 1, cell)

    assert read == [pytest.approx(read[0], abs=0.09)] * 2


def test_a_cell_that_queues_when_the_driver_dies_goes_on_without_a_lane(
    two_lanes: TwoLanes,
) -> None:
    def cell(number: int) -> None:
        if number == LANES:
            two_lanes.loop.call_later(0.05, two_lanes.loop.stop)
        with waiting.in_lane():
            two_lanes.work(number, 0.4)

    with pytest.raises(Error, match=DRIVER_ENDED):
        two_lanes.run(LANES + 1, cell)
    assert two_lanes.did == ["0", "1"]

    # As `Flights` does with all whom the loop will never resume.
    queues = two_lanes.launched[LANES].fiber
    queues.parent = greenlet.getcurrent()
    with two_lanes.hub.as_if_running(), suppress(Error):
        queues.throw(Error(DRIVER_ENDED))

    assert two_lanes.did == ["0", "1", "2"]


def test_a_call_in_the_background_is_the_work_of_the_cell_that_began_it(
    two_lanes: TwoLanes,
) -> None:
    owner = SimpleNamespace(_loop=two_lanes.loop, _dispatcher_fiber=two_lanes.hub.fiber)
    spent: dict[int, float] = {}

    def cell(number: int) -> None:
        clock = waiting.own_clock()
        began = clock()
        if number == 0:
            waiting.start_call(owner, lambda: time.sleep(0.3))()
        else:
            waiting.sleep(0.1)
        spent[number] = clock() - began

    two_lanes.run(2, cell)

    assert spent[0] >= 0.3
    assert spent[1] < 0.25
    assert len(two_lanes.hub.flights) == 2


def test_a_call_in_the_background_fails_when_the_driver_ends(two_lanes: TwoLanes) -> None:
    owner = SimpleNamespace(_loop=two_lanes.loop, _dispatcher_fiber=two_lanes.hub.fiber)
    never = two_lanes.loop.create_future()
    ended = waiting.start_call(owner, lambda: two_lanes.hub.wait(never))
    two_lanes.loop.call_soon(two_lanes.loop.stop)

    with pytest.raises(Error, match=DRIVER_ENDED):
        ended()


class SilentPage:
    """A page of these lanes' loop that answers nothing, as if it were closed."""

    def __init__(self, two_lanes: TwoLanes) -> None:
        self._loop, self._dispatcher_fiber = two_lanes.loop, two_lanes.hub.fiber

    def is_closed(self) -> bool:
        return True


def test_what_others_held_is_left_out_of_the_limit_of_a_call_once(two_lanes: TwoLanes) -> None:
    spent: list[float] = []

    def cell(number: int) -> None:
        if number == 1:
            time.sleep(1.5)
            return
        page, never = SilentPage(two_lanes), two_lanes.loop.create_future()
        others, clock = waiting.time_of_others(), waiting.own_clock()
        began = clock()
        with pytest.raises(StuckError):
            # As in an attempt, `waited` holds what others held.
            BrowserDeadline().run(page, 0.2, lambda: two_lanes.hub.wait(never), waited=others)
        spent.append(clock() - began)

    with mock.patch("pytest_autoweb.sandbox.deadline.debugging_session", return_value=None):
        two_lanes.run(2, cell)

    assert 0.2 <= spent[0] < 0.2 + _AFTER_STOP_S + 1


class TwoLanes:
    """A hub with two lanes, and what its cells did, in order."""

    def __init__(self) -> None:
        # Other tests of this process may have left Playwright's loop marked as running.
        self._before = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        self.loop = asyncio.new_event_loop()
        self.hub = Hub(lambda: None, cores=1)
        fiber = greenlet.greenlet(self.loop.run_forever)
        self.hub.open(Driver(self.loop, fiber))
        self.launched: list[Flight] = []
        self.did: list[str] = []
        self.most = 0
        self._inside = 0

    def close(self) -> None:
        if not self.hub.dead:
            self.loop.call_soon(self.loop.stop)
            self.hub.fiber.switch()
        self.hub.close()
        asyncio._set_running_loop(None)
        self.loop.close()
        asyncio._set_running_loop(self._before)

    def run(self, cells: int, work: Callable[[int], None]) -> None:
        """Start so many cells and wait until all are over."""
        over = self.loop.create_future()
        running = set(range(cells))

        def flight(number: int) -> None:
            try:
                work(number)
            except CancelledFlight:
                self.did.append(f"{number} cancelled")
            finally:
                running.discard(number)
                if not running:
                    over.set_result(None)

        self.launched = [self.hub.launch(partial(flight, number)) for number in range(cells)]
        self.hub.wait(over)

    def work(self, number: int, seconds: float = 0.02) -> None:
        """Note who is at work, for a while in which others could begin."""
        self._inside += 1
        self.most = max(self.most, self._inside)
        self.did.append(str(number))
        waiting.sleep(seconds)
        self._inside -= 1


@pytest.fixture
def two_lanes() -> Iterator[TwoLanes]:
    two_lanes = TwoLanes()
    yield two_lanes
    two_lanes.close()
