"""Dates and times of day as people write them."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from pytest_autoweb.base.values.normal_forms import canonical_text, without_marks
from pytest_autoweb.base.values.quantities import locale_of, word_sources

_LETTERS = r"[^\W\d_]"
_BETWEEN = frozenset(
    {
        *("of", "the", "st", "nd", "rd", "th", "at", "t", "and"),
        *("de", "del", "d", "le", "el", "la", "las", "a", "al", "er", "eme", "re", "as", "alle"),
        *("den", "der", "am", "um", "uhr", "om", "kl", "klo", "klokken", "ore", "o", "ve"),
        *("г", "год", "года", "р", "и", "ngay", "nam"),
    }
)
"""Words that can stand in a date without changing it, from the languages that use them."""


class DateWords(NamedTuple):
    """The date vocabulary of one locale or of a group of locales."""

    months: dict[str, frozenset[int]]
    pattern: re.Pattern[str]
    """Finds the name of a month, preferring the longest one."""
    ignored: frozenset[str]
    """Weekdays, eras and small words, none of which changes the date."""
    morning: frozenset[str]
    afternoon: frozenset[str]


@cache
def date_words(locale: str | None) -> tuple[DateWords, ...]:
    """Return the vocabularies to try in order; the first that knows the month decides."""
    return tuple(_joined(group) for group in word_sources(locale))


def _joined(languages: tuple[str, ...]) -> DateWords:
    months: dict[str, set[int]] = {}
    ignored = set(_BETWEEN)
    morning, afternoon = {"am", "a.m"}, {"pm", "p.m"}
    for language in languages:
        for name, number in _month_names(language):
            months.setdefault(name, set()).add(number)
        ignored |= _small_words(language)
        for name, at in _day_halves(language):
            (morning if at == "am" else afternoon).add(name)
    named = {name: frozenset(numbers) for name, numbers in months.items()}
    return DateWords(
        named, _finder(named), frozenset(ignored), frozenset(morning), frozenset(afternoon)
    )


def _month_names(language: str) -> list[tuple[str, int]]:
    locale = locale_of(language)
    names = [
        (name, number)
        for context in ("format", "stand-alone")
        for width in ("wide", "abbreviated")
        for number, raw in locale.months[context][width].items()
        if not (name := lookup_form(raw)).isdigit() and name
    ]
    # Some languages write a word without a space before or after the month: Hebrew, Basque.
    patterns = " ".join(str(p.pattern) for p in locale.date_formats.values())
    before = {lookup_form(text) for text in re.findall(r"([^\x00-\x7f]+)M{3,}", patterns)}
    after = {lookup_form(text) for text in re.findall(r"M{3,}'?([^\W\d_]+)'", patterns)}
    names += [(f"{word}{name}", number) for name, number in names for word in before]
    return names + [(f"{name}{word}", number) for name, number in names for word in after]


def lookup_form(text: str) -> str:
    return without_marks(canonical_text(text)).casefold().strip(". ")


def _small_words(language: str) -> set[str]:
    locale = locale_of(language)
    tables = [*locale.days["format"].values(), *locale.days["stand-alone"].values()]
    texts = [name for table in tables for name in table.values() if len(name) > 1]
    texts += [
        era for width in ("wide", "abbreviated") for era in locale.eras.get(width, {}).values()
    ]
    patterns = [str(p.pattern) for p in locale.date_formats.values()]
    patterns += [str(p) for p in locale.datetime_formats.values()]
    for pattern in patterns:
        # Quoted text is literal; without quotes, only letters outside ASCII are.
        texts += re.findall(r"'([^']+)'", pattern)
        texts += re.findall(r"[^\x00-\x7f]+", re.sub(r"'[^']*'", " ", pattern))
    return {word for text in texts for word in re.findall(rf"{_LETTERS}+", lookup_form(text))}


def _day_halves(language: str) -> list[tuple[str, str]]:
    periods = locale_of(language).day_periods
    return [
        (lookup_form(name), at)
        for widths in periods.values()
        for names in widths.values()
        for at, name in names.items()
        # A lone ASCII letter (English "a", "p") would also match initials and abbreviations.
        if at in ("am", "pm") and not (name.isascii() and len(name) == 1)
    ]


def _finder(names: dict[str, frozenset[int]]) -> re.Pattern[str]:
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(
        "|".join(f"{_edge(n[0], '<!')}{re.escape(n)}{_edge(n[-1], '!')}" for n in ordered)
    )


def _edge(char: str, side: str) -> str:
    """Return the lookaround for characters that must not touch the start or end of a name."""
    if char.isdigit():
        return rf"(?{side}\d)"
    return "" if _is_unspaced(char) else rf"(?{side}{_LETTERS})"


def is_filler(rest: str, words: DateWords) -> bool:
    """Tell whether a text holds only words and signs that do not affect the date."""
    if re.search(r"[^\w\s.,/'()،、，;:-]", rest) or "_" in rest:
        return False
    left = re.findall(rf"{_LETTERS}+", rest)
    return all(word in words.ignored or _is_tiled(word, words.ignored) for word in left)


def _is_tiled(text: str, words: frozenset[str]) -> bool:
    """Tell whether a text without spaces, as in Thai, consists of these words only."""
    if not text:
        return True
    if not _is_unspaced(text[0]):
        return False
    return any(
        _is_tiled(text[end:], words) for end in range(len(text), 0, -1) if text[:end] in words
    )


def _is_unspaced(char: str) -> bool:
    """Tell whether a script writes no spaces between words."""
    # Letters without case from Thai (U+0E00) on; below lie Hebrew and Arabic, which use spaces.
    return unicodedata.category(char) == "Lo" and ord(char) >= 0x0E00


_MARKERS = str.maketrans({"年": "-", "년": "-", "月": "-", "월": "-", "日": " ", "일": " "})
_NUMERIC = re.compile(r"(\d{1,4}) ?([./-]) ?(\d{1,2}) ?\2 ?(\d{1,4})\.?")
_ORDERS = ("dmy", "mdy", "ymd")
_ZONE = r"(z|utc|gmt)?(?:([+-])(\d{1,2})(?::?(\d\d))?)?"
_TIME = re.compile(
    r"(?:(?<=\d)t|(?<![\d.:]))(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?![\d:])"
    rf"(?: ?{_ZONE}(?![\w:]))?"
)
# The empty groups stand for a fraction and a time zone, so that both patterns have eight groups.
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
    """Return the days that a value may mean, ignoring a time of day next to the date.

    `03/04/2026` means two days unless a locale determines whether the month or the day comes first.
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
    # Day and year are numbers. Looking for the names is slow, and most texts have none.
    if len(re.findall(r"\d+", text)) < 2:
        return frozenset()
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
