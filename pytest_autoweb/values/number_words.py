"""Numbers as people write them, and what Babel knows of a locale."""

import math
import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_autoweb.values.normal_forms import canonical_text, normalise

if TYPE_CHECKING:
    from babel import Locale

LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "nb", "fi", "pl", "cs", "sk", "hu"),
    *("ro", "tr", "el", "ru", "uk", "bg", "hr", "id", "vi", "ar", "he", "hi", "ja", "ko", "zh"),
)
"""The languages whose words are tried when a check names no locale."""


class UnknownLocale(ValueError):
    """Raised when there is no locale of that name."""


@cache
def locale_of(name: str) -> "Locale":
    """Return the locale of a name; `de-DE` and `de_DE` are the same.

    Raises:
        UnknownLocale: there is no locale of that name.
    """
    # Late, because most cases compare no localised values, and Babel takes long to load.
    from babel import Locale
    from babel.core import UnknownLocaleError

    try:
        return Locale.parse(name.replace("-", "_"))
    except (ValueError, TypeError, UnknownLocaleError) as error:
        raise UnknownLocale(f"{name!r} is not a locale such as de_DE or en") from error


def word_sources(locale: str | None) -> tuple[tuple[str, ...], ...]:
    """Return groups of locales whose words are tried; the first that knows a word decides."""
    if locale is not None:
        return (locale,), ("en",)
    return ("en",), LANGUAGES


NUMBER = r"(?:\d(?:[\d.,'٫٬،⹁ ]*\d)?|(?<![\w.,'])[.,٫]\d+)"
"""Matches the part of a text that may be a number, without its sign."""

_SCIENTIFIC = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?e[+-]?\d{1,3}", re.IGNORECASE)
_SIGNED = re.compile(rf"([+-]?) ?({NUMBER})")
_DECIMALS = (".", ",", "٫")
_GROUPS = (",", ".", "'", " ", "٬")
_EVERYWHERE = ("'", " ", "٬")
"""Thousands separators that never mean anything else, so every locale accepts them."""


def number_readings(value: Any, locale: str | None) -> frozenset[Fraction]:
    """Return the numbers that a value may mean, several of them when it is ambiguous.

    `1.234` means both 1234 and 1.234 unless a locale says what its dot is.
    """
    # A bool is an int in Python, but True is not the number 1 to whoever wrote the check.
    if isinstance(value, bool):
        return frozenset()
    if isinstance(value, int):
        return frozenset({Fraction(value)})
    if isinstance(value, float):
        return frozenset({Fraction(repr(value))}) if math.isfinite(value) else frozenset()
    if not isinstance(value, str):
        return frozenset()
    text = canonical_text(value)
    if _SCIENTIFIC.fullmatch(text):
        return frozenset({Fraction(text)})
    match = _SIGNED.fullmatch(text)
    if match is None:
        return frozenset()
    sign = -1 if match[1] == "-" else 1
    return frozenset(sign * number for number in unsigned_readings(match[2], locale))


def unsigned_readings(body: str, locale: str | None) -> frozenset[Fraction]:
    """Return the numbers that a text of digits and separators may mean."""
    if locale is not None:
        decimal, group = _separators(locale)
        if found := _read(body, (decimal,), (group, *_EVERYWHERE)):
            return found
    return _read(body, _DECIMALS, _GROUPS)


@cache
def _separators(locale: str) -> tuple[str, str]:
    symbols = locale_of(locale).number_symbols["latn"]
    # In many locales the group sign is a kind of space, and making a text canonical strips spaces
    # at its ends, so nothing would be left of it.
    return normalise(symbols["decimal"]), canonical_text(symbols["group"]) or " "


def _read(body: str, decimals: tuple[str, ...], groups: tuple[str, ...]) -> frozenset[Fraction]:
    found = set()
    for decimal in decimals:
        whole, point, part = (
            body.rpartition(decimal) if body.count(decimal) == 1 else (body, "", "")
        )
        if point and not (part.isascii() and part.isdigit()):
            continue
        digits = [_ungrouped(whole, group) for group in groups if group != decimal]
        for each in filter(None, digits):
            found.add(Fraction(f"{each}.{part or 0}"))
        if not whole and point:
            found.add(Fraction(f"0.{part}"))
    return frozenset(found)


def _ungrouped(whole: str, group: str) -> str:
    """Return the digits of a whole number if its groups are well formed, else an empty text."""
    if whole.isascii() and whole.isdigit():
        return whole
    mark = re.escape(group)
    # Groups of three digits, or as in India groups of two and a last one of three.
    if re.fullmatch(
        rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|[1-9]\d?(?:{mark}\d\d)+{mark}\d{{3}}", whole
    ):
        return whole.replace(group, "")
    return ""


def format_number(number: Fraction) -> str:
    """Return the number with a dot for decimals and without separators."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{float(number):.12g}"
