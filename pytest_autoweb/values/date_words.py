"""The words in written dates: months, weekdays and the small words between them."""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from pytest_autoweb.values.locale_data import locale_of, word_sources
from pytest_autoweb.values.text import canonical_text, without_marks

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
    """Return a text in the form in which the word tables are keyed."""
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
        # What is quoted is written as it is; without quotes only letters outside ASCII are.
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
    """Return the lookaround for what must not touch the first or last character of a name."""
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
