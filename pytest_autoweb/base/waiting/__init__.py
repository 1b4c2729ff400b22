"""How this process waits: it blocks, or lets the other cells in flight continue in the meantime.

Playwright's sync API runs an event loop in a greenlet of its own, to which each of its calls
switches until it is answered. With several cells in flight each of them is a greenlet too, and
whatever else takes time does as those calls do, by the functions here. Limits are measured in a
cell's own time. What is private in Playwright is named here alone (`playwright_internals`); which
cells are in flight, and when, is decided in `session/flights`.
"""

from pytest_autoweb.base.waiting.calls import run_later, start_call
from pytest_autoweb.base.waiting.hidden_loop import (
    HiddenLoop,
    loop_hidden,
    loop_hidden_again,
    see_driver,
)
from pytest_autoweb.base.waiting.hub import CancelledFlight, Flight, Hub, flight_of
from pytest_autoweb.base.waiting.own_time import (
    Countdown,
    OwnTimer,
    Stopwatch,
    now,
    own_clock,
    time_of_others,
)
from pytest_autoweb.base.waiting.switches import SWITCHES
from pytest_autoweb.base.waiting.waits import (
    blocking,
    call_model,
    file_lock,
    in_lane,
    others_in_flight,
    readable,
    sleep,
    wait_until_alone,
)

__all__ = [
    "SWITCHES",
    "CancelledFlight",
    "Countdown",
    "Flight",
    "HiddenLoop",
    "Hub",
    "OwnTimer",
    "Stopwatch",
    "blocking",
    "call_model",
    "file_lock",
    "flight_of",
    "in_lane",
    "loop_hidden",
    "loop_hidden_again",
    "now",
    "others_in_flight",
    "own_clock",
    "readable",
    "run_later",
    "see_driver",
    "sleep",
    "start_call",
    "time_of_others",
    "wait_until_alone",
]
