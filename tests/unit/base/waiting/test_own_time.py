"""Measured and limited stretches of time, apart from what does not count."""

import pytest

from pytest_autoweb.base.waiting import Countdown, Stopwatch


class Times:
    """A clock, and what of its time does not count, both set by hand."""

    def __init__(self) -> None:
        self.now, self.uncounted = 100.0, 7.0

    def clock(self) -> float:
        return self.now

    def not_counted(self) -> float:
        return self.uncounted


def test_a_stretch_is_measured_without_what_does_not_count() -> None:
    times = Times()
    watch = Stopwatch(times.clock, times.not_counted)
    assert watch.seconds == 0

    times.now, times.uncounted = 105.0, 9.0

    assert watch.seconds == 3


def test_laps_leave_no_moment_out() -> None:
    moments = iter((100.0, 102.0, 105.5))
    watch = Stopwatch(lambda: next(moments))

    assert (watch.lap(), watch.lap()) == (2.0, 3.5)


def test_a_lap_leaves_out_what_did_not_count_in_it() -> None:
    times = Times()
    watch = Stopwatch(times.clock, times.not_counted)
    times.now, times.uncounted = 104.0, 8.0
    assert watch.lap() == 3

    times.now = 106.0

    assert watch.seconds == 2


def test_a_countdown_stands_still_while_time_does_not_count() -> None:
    times = Times()
    countdown = Countdown(10, times.clock, times.not_counted)
    assert (countdown.left_s, countdown.ends_at) == (10, 110)

    times.now, times.uncounted = 104.0, 11.0

    assert (countdown.left_s, countdown.ends_at) == (10, 114)


def test_a_countdown_tells_for_how_long_its_time_has_been_over() -> None:
    times = Times()
    countdown = Countdown(10, times.clock)

    times.now = 112.5

    assert (countdown.left_s, countdown.seconds) == (-2.5, 12.5)


def test_a_countdown_takes_the_cells_own_clock_unless_told_otherwise() -> None:
    assert Countdown(60).left_s == pytest.approx(60, abs=5)
