"""The meanings of a written value, and how the meanings of two values compare.

A value that can be read in several ways has several meanings. A comparison is decided only when
all pairs of meanings agree; otherwise it is None, so that no check passes by a lucky reading.
"""

from collections.abc import Callable, Hashable
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from pytest_autoweb.base.values.dates import date_readings, datetime_readings, same_moment
from pytest_autoweb.base.values.normal_forms import normal_url, normalise
from pytest_autoweb.base.values.quantities import (
    Duration,
    Money,
    duration_readings,
    format_number,
    locale_of,
    money_readings,
    number_readings,
)

Meanings = frozenset[Any]

_SHOWN = 3


class ValueFormat(NamedTuple):
    """The type of a value and the conventions by which it is read."""

    type: str
    """One of `text`, `number`, `money`, `date`, `datetime`, `duration` and `url`."""
    locale: str | None = None
    currency: str | None = None

    def read(self, value: Any) -> Meanings:
        """Return every meaning that a value may have.

        There is none for a value that is not of this type, and there are several for an ambiguous
        one.

        Raises:
            UnknownLocale: there is no locale of that name.
        """
        if self.locale:
            locale_of(self.locale)
        return _READERS[self.type](value, self)


def same(expected: Meanings, actual: Meanings) -> bool | None:
    """Tell whether two values mean the same; None when that depends on how they are read."""
    return _agreed(expected, actual, _same)


def at_least(least: Meanings, actual: Meanings) -> bool | None:
    """Tell whether `actual` is at least `least`; None when that depends on how they are read."""
    return _agreed(least, actual, _not_less)


def describe_meanings(meanings: Meanings) -> str:
    """Return at most three meanings of a value, in readable form."""
    texts = sorted(map(_shown, meanings))
    more = ["…"] if len(texts) > _SHOWN else []
    return " or ".join([*texts[:_SHOWN], *more])


def _agreed(
    first: Meanings, second: Meanings, relation: Callable[[Any, Any], bool | None]
) -> bool | None:
    answers = {relation(one, other) for one in first for other in second}
    if not answers or answers == {False}:
        return False
    return True if answers == {True} else None


def _same(first: Any, second: Any) -> bool | None:
    if isinstance(first, datetime) and isinstance(second, datetime):
        return same_moment(first, second)
    if isinstance(first, Money) and isinstance(second, Money):
        return _same_money(first, second)
    return bool(first == second)


def _same_money(first: Money, second: Money) -> bool | None:
    if first.amount != second.amount:
        return False
    if None in (first.currency, second.currency):
        return None if first.currency != second.currency else True
    return first.currency == second.currency


def _not_less(least: Any, value: Any) -> bool | None:
    if isinstance(least, datetime) and isinstance(value, datetime):
        return None if same_moment(least, value) is None else _naive(value) >= _naive(least)
    if isinstance(least, Money) and isinstance(value, Money):
        return None if least.currency != value.currency else value.amount >= least.amount
    if isinstance(least, Duration) and isinstance(value, Duration):
        # 1 month against 30 days is undecided: months and seconds must point the same way.
        months, seconds = value.months - least.months, value.seconds - least.seconds
        if months >= 0 and seconds >= 0:
            return True
        return False if months <= 0 and seconds <= 0 else None
    return bool(value >= least)


def _naive(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _shown(meaning: Any) -> str:
    if isinstance(meaning, Fraction):
        return format_number(meaning)
    return meaning.isoformat() if hasattr(meaning, "isoformat") else str(meaning)


def _one(value: Hashable | None) -> Meanings:
    return frozenset() if value is None else frozenset({value})


def _text(value: Any, manner: ValueFormat) -> Meanings:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return frozenset()
    return _one(normalise(str(value)))


def _url(value: Any, manner: ValueFormat) -> Meanings:
    return _one(normal_url(value)) if isinstance(value, str) else frozenset()


_READERS: dict[str, Callable[[Any, ValueFormat], Meanings]] = {
    "text": _text,
    "number": lambda value, how: number_readings(value, how.locale),
    "money": lambda value, how: money_readings(value, how.locale, how.currency),
    "date": lambda value, how: date_readings(value, how.locale),
    "datetime": lambda value, how: datetime_readings(value, how.locale),
    "duration": lambda value, how: duration_readings(value, how.locale),
    "url": _url,
}
