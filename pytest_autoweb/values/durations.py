"""Lengths of time as people write them."""

import re
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple

from pytest_autoweb.values.normal_forms import canonical_text
from pytest_autoweb.values.number_words import (
    NUMBER,
    format_number,
    locale_of,
    unsigned_readings,
    word_sources,
)

# Late imports: babel is heavy, and few values are durations.

_AMOUNT = r"(\d+(?:[.,]\d+)?)"
_ISO = re.compile(
    rf"p(?:{_AMOUNT}y)?(?:{_AMOUNT}m)?(?:{_AMOUNT}w)?(?:{_AMOUNT}d)?"
    rf"(t(?=\d)(?:{_AMOUNT}h)?(?:{_AMOUNT}m)?(?:{_AMOUNT}s)?)?"
)
_CLOCK = re.compile(r"(\d{1,6}):(\d\d)(?::(\d\d(?:[.,]\d{1,9})?))?(?: ?([^\W\d]+\.?))?")
_PART = re.compile(rf"({NUMBER})(?: de(?= ))? ?([^\W\d][^\s\d,]*)")
_BETWEEN = re.compile(r"[\s,]*(?:(?:and|und|et|y|e|en|og|och|ja|i|a|и|та|&|\+) )?")
_MAX_PARTS = 7
_MAX_READINGS = 50

_MONTH, _DAY = (1, 0), (0, 86_400)
_UNITS: dict[str, tuple[int, int]] = {
    "year": (12, 0),
    "month": _MONTH,
    "week": (0, 604_800),
    "day": _DAY,
    "hour": (0, 3600),
    "minute": (0, 60),
    "second": (0, 1),
}
"""Each unit as (months, seconds); months are kept apart because they differ in length."""

_LENGTHS: tuple[Literal["long", "short", "narrow"], ...] = ("long", "short", "narrow")
_COUNTS = (1, 1.5, 2, 3, 5, 11, 21)
"""Amounts that together call for every plural form that the known languages have."""

_SHORT = {
    **{"s": "second", "sec": "second", "secs": "second"},
    **{"m": "minute", "min": "minute", "mins": "minute", "mn": "minute"},
    **{"h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "w": "week", "mo": "month"},
    **{"y": "year", "yr": "year", "yrs": "year"},
}
"""What an abbreviation means unless the locale says otherwise; `m` is minutes."""


class Duration(NamedTuple):
    """A length of time in months and seconds, apart because a month has no fixed length."""

    months: Fraction
    seconds: Fraction

    def __str__(self) -> str:
        parts = [(self.months, "months"), (self.seconds, "s")]
        shown = [f"{format_number(amount)} {unit}" for amount, unit in parts if amount]
        return " ".join(shown) or "0 s"


def duration_readings(value: Any, locale: str | None) -> frozenset[Duration]:
    """Return the durations that a value may mean; a number without a unit means none."""
    if not isinstance(value, str):
        return frozenset()
    text = canonical_text(value).casefold()
    if match := _ISO.fullmatch(text):
        return _iso(match)
    if match := _CLOCK.fullmatch(text):
        return _clock(match, locale)
    return _in_words(text, locale)


def _iso(match: re.Match[str]) -> frozenset[Duration]:
    amounts = [*match.groups()[:4], *match.groups()[5:]]
    if not any(amounts):
        return frozenset()
    units = ("year", "month", "week", "day", "hour", "minute", "second")
    parts = zip(amounts, units, strict=True)
    return frozenset(
        {_sum([(Fraction(a.replace(",", ".")), unit) for a, unit in parts if a is not None])}
    )


def _clock(match: re.Match[str], locale: str | None) -> frozenset[Duration]:
    first, second, third, word = match.groups()
    if int(second) > 59 or (third and float(third.replace(",", ".")) >= 60):
        return frozenset()
    units = _meanings(word, locale) if word else frozenset({"hour", "minute"})
    if third:
        seconds = (Fraction(third.replace(",", ".")), "second")
        whole = _sum([(Fraction(first), "hour"), (Fraction(second), "minute"), seconds])
        return frozenset({whole}) if "hour" in units else frozenset()
    smaller = {"hour": "minute", "minute": "second"}
    return frozenset(
        _sum([(Fraction(first), unit), (Fraction(second), smaller[unit])])
        for unit in units & smaller.keys()
    )


def _in_words(text: str, locale: str | None) -> frozenset[Duration]:
    at = 0
    parts: list[list[tuple[Fraction, str]]] = []
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or len(parts) == _MAX_PARTS:
            return frozenset()
        numbers = unsigned_readings(match[1], locale)
        parts.append([(n, unit) for n in numbers for unit in _meanings(match[2], locale)])
        between = _BETWEEN.match(text, match.end())
        at = between.end() if between else match.end()
    # Part by part with a cap: the combinations of several ambiguous parts grow exponentially.
    found: set[Duration] = {Duration(Fraction(0), Fraction(0))} if parts else set()
    for part in parts:
        found = {_plus(whole, _sum([one])) for whole, one in product(found, part)}
        if len(found) > _MAX_READINGS:
            return frozenset()
    return frozenset(found)


def _sum(parts: list[tuple[Fraction, str]]) -> Duration:
    months = sum((n * _UNITS[unit][0] for n, unit in parts), Fraction(0))
    return Duration(months, sum((n * _UNITS[unit][1] for n, unit in parts), Fraction(0)))


def _plus(first: Duration, second: Duration) -> Duration:
    return Duration(first.months + second.months, first.seconds + second.seconds)


def _meanings(word: str, locale: str | None) -> frozenset[str]:
    word = word.strip(".")
    own = _words(locale).get(word) if locale else None
    if word in _SHORT and (own is None or _SHORT[word] in own):
        return frozenset({_SHORT[word]})
    for group in word_sources(locale):
        found = {_words(language).get(word, frozenset()) for language in group}
        if units := frozenset[str]().union(*found):
            return units
    return frozenset()


@cache
def _words(language: str) -> dict[str, frozenset[str]]:
    """Return a language's words and abbreviations for units, in all plural forms."""
    from babel.units import format_unit

    table: dict[str, set[str]] = {}
    for unit, length, n in product(_UNITS, _LENGTHS, _COUNTS):
        text = format_unit(n, f"duration-{unit}", length=length, locale=locale_of(language))
        word = re.sub(r"[\d.,٫ ]+", " ", canonical_text(text).casefold()).strip(". ")
        if word and "duration" not in word:
            table.setdefault(word, set()).add(unit)
    return {word: frozenset(units) for word, units in table.items()}
