"""Dates and times of day as people write them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from pytest_autoweb.values.date_words import DateWords, date_words, is_filler, lookup_form
from pytest_autoweb.values.locale_data import locale_of

_MARKERS = str.maketrans({"年": "-", "년": "-", "月": "-", "월": "-", "日": " ", "일": " "})
_NUMERIC = re.compile(r"(\d{1,4}) ?([./-]) ?(\d{1,2}) ?\2 ?(\d{1,4})\.?")
_ORDERS = ("dmy", "mdy", "ymd")
_ZONE = r"(z|utc|gmt)?(?:([+-])(\d{1,2})(?::?(\d\d))?)?"
_TIME = re.compile(
    r"(?:(?<=\d)t|(?<![\d.:]))(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?![\d:])"
    rf"(?: ?{_ZONE}(?![\w:]))?"
)
_DOTTED_TIME = re.compile(r"(?:(?<= )|(?<=\dt))(\d{1,2})\.(\d\d)(?:\.(\d\d))?()(?= uhr$|$)()()()()")
_FAR = timedelta(hours=14)
"""The largest offset from UTC that any time zone has."""


class _Time(NamedTuple):
    hour: int
    minute: int
    second: int
    microsecond: int
    zone: timezone | None


def date_readings(value: Any, locale: str | None) -> frozenset[date]:
    """Return the days that a value may mean, ignoring a time of day beside the date.

    `03/04/2026` means two days unless a locale says whether the month or the day comes first.
    Years of two digits are 1969 to 2068, as in POSIX.
    """
    if isinstance(value, datetime):
        return frozenset({value.date()})
    if isinstance(value, date):
        return frozenset({value})
    if not isinstance(value, str):
        return frozenset()
    text = lookup_form(value)
    found = _dates(text, locale)
    # Only without a plain date: "12.10.2026" must not be taken for the time 12:10.
    return found or frozenset(day for day, _ in _days_and_times(text, locale))


def datetime_readings(value: Any, locale: str | None) -> frozenset[datetime]:
    """Return the moments that a value may mean; those with a time zone are in UTC."""
    if isinstance(value, datetime):
        return frozenset({value if value.tzinfo is None else value.astimezone(UTC)})
    if not isinstance(value, str):
        return frozenset()
    found = set()
    for day, time in _days_and_times(lookup_form(value), locale):
        hour, minute, second, micro, zone = time
        try:
            moment = datetime(day.year, day.month, day.day, hour, minute, second, micro, zone)
            found.add(moment.astimezone(UTC) if zone else moment)
        except (ValueError, OverflowError):
            continue
    return frozenset(found)


def same_moment(first: datetime, second: datetime) -> bool | None:
    """Tell whether two moments are the same; None when only one of them knows its time zone."""
    if (first.tzinfo is None) == (second.tzinfo is None):
        return first == second
    # Clocks that differ by more than any offset cannot show the same moment.
    apart = abs(first.replace(tzinfo=None) - second.replace(tzinfo=None))
    return None if apart <= _FAR else False


def _days_and_times(text: str, locale: str | None) -> Iterator[tuple[date, _Time]]:
    match = _TIME.search(text) or _DOTTED_TIME.search(text)
    if match is None:
        return
    before, after = text[: match.start()], text[match.end() :]
    for words in date_words(locale):
        rest, half = _day_half(f"{before} {after}", words)
        time = _time(match, half)
        if time and (days := _dates(rest, locale)):
            yield from ((day, time) for day in days)
            return


def _day_half(rest: str, words: DateWords) -> tuple[str, str]:
    """Return the text without its `am` or `pm`, and which of the two it was (empty: neither)."""
    for half, names in (("am", words.morning), ("pm", words.afternoon)):
        for name in sorted(names, key=len, reverse=True):
            pattern = rf"(?<!\w){re.escape(name)}(?!\w)" if name.isascii() else re.escape(name)
            if re.search(pattern, rest):
                return re.sub(pattern, " ", rest, count=1).strip(), half
    return rest.strip(), ""


def _time(match: re.Match[str], half: str) -> _Time | None:
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    fraction, zone_name, sign, zone_hours, zone_minutes = match.groups()[3:]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59 or len((fraction or "").rstrip("0")) > 6:
        return None
    micro = int((fraction or "0").ljust(6, "0")[:6])
    zone = UTC if zone_name else None
    if sign:
        offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes or 0))
        if offset > _FAR:
            return None
        zone = timezone(-offset if sign == "-" else offset)
    return _Time(hour, minute, second, micro, zone)


def _dates(text: str, locale: str | None) -> frozenset[date]:
    bare = text.translate(_MARKERS)
    for words in date_words(locale):
        if numeric := _NUMERIC.search(bare):
            rest = f"{bare[: numeric.start()]} {bare[numeric.end() :]}"
            if not re.search(r"\d", rest) and is_filler(rest, words):
                return _ordered(numeric[1], numeric[3], numeric[4], locale)
        if found := _with_month_name(text, words, locale):
            return found
    return frozenset()


def _with_month_name(text: str, words: DateWords, locale: str | None) -> frozenset[date]:
    found: set[date] = set()
    for name in words.pattern.finditer(text):
        rest = f"{text[: name.start()]} {text[name.end() :]}"
        numbers = re.findall(r"\d+", rest)
        if len(numbers) == 2 and is_filler(rest, words):
            found |= _day_and_year(numbers, words.months[name.group()], locale)
    return frozenset(found)


def _day_and_year(numbers: list[str], months: frozenset[int], locale: str | None) -> set[date]:
    first, second = numbers
    if len(first) > 2:
        pairs = [(second, first)]
    elif len(second) > 2 or (locale and _order(locale)[0] != "y"):
        pairs = [(first, second)]
    else:
        pairs = [(first, second), (second, first)]
    days = (_day(year, month, day) for (day, year), month in product(pairs, months))
    return {day for day in days if day}


def _ordered(first: str, second: str, third: str, locale: str | None) -> frozenset[date]:
    """Return the days that three numbers may mean in the orders that are possible for them."""
    if len(first) > 2:
        orders: tuple[str, ...] = ("ymd",)
    elif len(third) > 2:
        orders = ("dmy", "mdy")
    else:
        orders = _ORDERS
    found = {order: _by_order((first, second, third), order) for order in orders}
    own = _order(locale) if locale else ""
    if own in found and (day := found[own]) is not None:
        return frozenset({day})
    # A locale that writes the year first still has an order of month and day.
    if own == "ymd" and (day := found.get("mdy")) is not None:
        return frozenset({day})
    return frozenset(day for day in found.values() if day)


def _by_order(numbers: tuple[str, str, str], order: str) -> date | None:
    at = dict(zip(order, numbers, strict=True))
    return _day(at["y"], int(at["m"]) if len(at["m"]) < 3 else 0, at["d"])


def _day(year: str, month: int, day: str) -> date | None:
    if len(year) not in (2, 4) or len(day) > 2:
        return None
    number = int(year)
    if len(year) == 2:
        number += 1900 if number > 68 else 2000
    try:
        return date(number, month, int(day))
    except ValueError:
        return None


@cache
def _order(locale: str) -> str:
    """Return the order of day, month and year in a locale's short dates."""
    pattern = str(locale_of(locale).date_formats["short"].pattern).lower()
    letters = [char for char in re.sub(r"'[^']*'", "", pattern) if char in "dmy"]
    return "".join(dict.fromkeys(letters))
