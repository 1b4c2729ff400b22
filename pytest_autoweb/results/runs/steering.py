"""Orders to a run that is going on, such as to pause or to stop a model, and what they add up to.

They are lines of one file in the run folder. Whoever gives an order appends a line; the processes
of the session look at the file before they begin a cell. It stays with the run, so that its report
can tell what was changed while it ran.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from pytest_autoweb.base.specs import documented_schema

STEERING_FILE = "steering.jsonl"
MOST_BYTES = 1_000_000
"""How much of the file is read. A run may come from anyone; this is some thousand orders."""

OrderKind = Literal[
    "pause",
    "go-on",
    "stop-model",
    "stop-case",
    "again",
    "cap-cost",
    "cap-time",
    "in-flight",
    "stop",
]
"""What an order is about; `stop` ends the session, the others leave it running."""

_ALONE = ("pause", "go-on", "stop")
_NUMBERS = ("cap-cost", "cap-time", "in-flight")


@checked_dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Order:
    """One order to a run that is going on."""

    kind: OrderKind
    """What is to happen."""
    value: str = Field(default="", max_length=1000)
    """The model, the case, the cell, the US dollars, the seconds or the number of cells; empty for
    a pause, its end, and the end of the session."""
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    """When it was given, with its time zone."""
    by: str = Field(default="autoweb run ctl", max_length=100)
    """What gave it: a command or a page, not a person."""

    __get_pydantic_json_schema__ = classmethod(documented_schema)

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("the time of an order has no time zone")
        if bool(self.value) is (self.kind in _ALONE):
            raise ValueError(f"an order {self.kind} with the value {self.value!r}")
        if self.kind in _NUMBERS and not self.number >= 0:
            raise ValueError(f"{self.value!r} is not a number that an order {self.kind} may have")

    @property
    def number(self) -> float:
        """Return the value as a number; NaN if it is none."""
        if not re.fullmatch(r"\d{1,12}(\.\d{1,12})?", self.value, re.ASCII):
            return math.nan
        return float(self.value)

    @property
    def time(self) -> str:
        """Return the local time of day at which it was given."""
        return f"{self.at.astimezone():%H:%M:%S}"

    @property
    def told(self) -> str:
        """Return the order in words, without its time."""
        match self.kind:
            case "cap-cost":
                return f"cap cost ${self.number:g}"
            case "cap-time":
                short = self.number < 60
                return f"cap time {f'{self.number:g}s' if short else f'{self.number / 60:g}m'}"
            case _:
                return f"{self.kind} {self.value}".strip()


_ORDER = TypeAdapter(Order)


def as_line(order: Order) -> bytes:
    """Return the line of the file that is an order, with its end."""
    return _ORDER.dump_json(order) + b"\n"


def orders(run: Path) -> tuple[Order, ...]:
    """Return the orders to a run in the order in which they were given; none if there is no file.

    Lines that are no orders are passed over, such as one that was cut off by the end of a process.
    """
    try:
        with (run / STEERING_FILE).open("rb") as file:
            content = file.read(MOST_BYTES)
    except OSError:
        return ()
    return tuple(_read(content))


def _read(content: bytes) -> Iterator[Order]:
    for line in content.split(b"\n"):
        try:
            yield _ORDER.validate_json(line)
        except (ValidationError, ValueError, RecursionError, OverflowError):
            continue


class Course(Struct, frozen=True):
    """What the orders to a session add up to."""

    pause: Order | None = None
    """The order by which it is paused now."""
    models: Mapping[str, Order] = field(default_factory=dict)
    """The models that were stopped."""
    cases: Mapping[str, Order] = field(default_factory=dict)
    """The ids of the cases that were stopped."""
    cost: Order | None = None
    """The cap of its cost that holds now, if it was changed."""
    time: Order | None = None
    """The cap of its time that holds now, if it was changed."""
    in_flight: Order | None = None
    """How many cells each process may have in flight now, if that was changed."""
    again: tuple[Order, ...] = ()
    """The orders to run a cell again."""

    def why_not(self, model: str, case_id: str) -> str:
        """Return why a cell is not to begin; empty if it may."""
        order = self.models.get(model) or self.cases.get(case_id)
        return f"stopped by `{order.told}` at {order.time}" if order else ""


def course(given: Sequence[Order]) -> Course:
    """Add orders up, the latest of those that exclude each other winning."""
    last = {order.kind: order for order in given}
    paused = [order for order in given if order.kind in ("pause", "go-on")]
    return Course(
        pause=paused[-1] if paused and paused[-1].kind == "pause" else None,
        models={order.value: order for order in given if order.kind == "stop-model"},
        cases={order.value: order for order in given if order.kind == "stop-case"},
        cost=last.get("cap-cost"),
        time=last.get("cap-time"),
        in_flight=last.get("in-flight"),
        again=tuple(order for order in given if order.kind == "again"),
    )


def since(given: Sequence[Order], started: float) -> tuple[Order, ...]:
    """Return the orders that were given to a session, and not to an earlier one of the same run.

    Args:
        given: all orders to the run.
        started: when the session began, in seconds since the epoch.
    """
    return tuple(order for order in given if order.at.timestamp() >= started)


class OrdersSource(Protocol):
    """What knows the orders to a run."""

    @property
    def given(self) -> tuple[Order, ...]:
        """Return all orders by now; the same object if there are no new ones."""
        ...


class OrdersFile:
    """The orders to a run, read again only when there are more: a look costs next to nothing.

    Args:
        run: the folder of the run.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._size = 0
        self._given: tuple[Order, ...] = ()

    @property
    def given(self) -> tuple[Order, ...]:
        """Return all orders by now."""
        with suppress(OSError):
            size = (self._run / STEERING_FILE).stat().st_size
            if size != self._size:
                self._size, self._given = size, orders(self._run)
        return self._given


class OrdersToSession:
    """The orders to one session, as its processes see them while it goes on.

    Args:
        source: has all orders to the run by now.
        started: when the session began, in seconds since the epoch.
    """

    def __init__(self, source: OrdersSource, started: float) -> None:
        self._source, self._started = source, started
        self._given: tuple[Order, ...] = ()
        self._course = Course()

    @property
    def course(self) -> Course:
        """Return what the orders add up to by now."""
        given = self._source.given
        if given is not self._given:
            self._given, self._course = given, course(since(given, self._started))
        return self._course


def steering_notes(given: Sequence[Order]) -> Iterator[str]:
    """Yield what was changed while a run went on, and what that makes incomparable."""
    if not given:
        return
    yield f"steered: {'; '.join(f'{order.time} {order.told}' for order in given)}"
    if paused := _paused_s(given):
        yield (
            f"paused for {paused:.0f} s in all: the duration of the run is not comparable, that of "
            "its cells is"
        )
    kinds = {order.kind for order in given}
    if kinds & {"cap-cost", "cap-time"}:
        yield (
            "a cap was changed while the run went on: which cells it cut off is no longer decided "
            "by the settings, so do not compare how many ran"
        )
    if "in-flight" in kinds:
        yield (
            "the number of cells in flight was changed while the run went on: durations of cells "
            "before and after are not comparable"
        )


def _paused_s(given: Sequence[Order]) -> float:
    """Return for how many seconds a run was paused, so far as the pauses have an end."""
    total, begun = 0.0, None
    for order in given:
        if order.kind == "pause":
            begun = begun or order.at
        elif begun is not None and order.kind in ("go-on", "stop"):
            total += max(0.0, (order.at - begun).total_seconds())
            begun = None
    return total
