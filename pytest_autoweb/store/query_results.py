"""What several queries answer with: records that REST sends as they are, and shares of a whole."""

import datetime as dt
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from pytest_autoweb.results.analysis.statistics import Interval, wilson
from pytest_autoweb.results.records import Record
from pytest_autoweb.store.roll_ups import share

Fraction = Annotated[float, Field(ge=0, le=1)]


class Served(Record):
    """Base of what REST sends as it is, where the names of fields are in camelCase."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        # FastAPI requires fully built models.
        defer_build=False,
    )


class ShareOfCalls(Record):
    """A part of a whole, as counts and as a share."""

    part: int
    n: int
    value: float | None
    """The share from 0 to 1; None when there is nothing to divide by."""
    interval: Interval | None
    """Wilson's 95% interval of the share."""


def share_of(part: int, n: int) -> ShareOfCalls:
    return ShareOfCalls(part=part, n=n, value=share(part, n), interval=wilson(part, n))


def begin_of(day: dt.date) -> dt.datetime:
    """Return the first moment (UTC) of a day."""
    return dt.datetime.combine(day, dt.time(), dt.UTC)
