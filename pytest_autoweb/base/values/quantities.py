"""Numbers, amounts of money and lengths of time as people write them.

Babel knows how a locale writes numbers.
"""

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_autoweb.base.values.normal_forms import canonical_text, normalise

# Late imports: babel is heavy, and few values are amounts of money or lengths of time.

if TYPE_CHECKING:
    from babel import Locale


LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "da", "sv", "nb", "fi", "pl", "cs", "sk", "hu"),
    *("ro", "tr", "el", "ru", "uk", "bg", "hr", "id", "vi", "ar", "he", "hi", "ja", "ko", "zh"),
)
"""The languages whose words are tried when a check names no locale."""


_AMOUNT = r"(\d+(?:[.,]\d+)?)"
_ISO = re.compile(
    rf"p(?:{_AMOUNT}y)?(?:{_AMOUNT}m)?(?:{_AMOUNT}w)?(?:{_AMOUNT}d)?"
    rf"(t(?=\d)(?:{_AMOUNT}h)?(?:{_AMOUNT}m)?(?:{_AMOUNT}s)?)?"
)
_CLOCK = re.compile(r"(\d{1,6}):(\d\d)(?::(\d\d(?:[.,]\d{1,9})?))?(?: ?([^\W\d]+\.?))?")


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

    `1.234` means both 1234 and 1.234 unless a locale defines its dot.
    """
    # A bool is an int in Python, but to the check's author True is not the number 1.
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
    # In many locales the group separator is a kind of space, which `canonical_text` would strip.
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
    # Groups of three digits or, as in India, groups of two and a last one of three.
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


_NUMBER = re.compile(NUMBER)
_LEADING, _TRAILING = re.compile(r"^[+-]"), re.compile(r"[+-]$")
_NO_CENTS = re.compile(r"(?<=\d)[.,]-+(?!\d)")
_SHARED_SIGNS = {
    "$": ("dollar", "peso"),
    "£": ("pound",),
    "¥": ("yen", "yuan"),
    "kr": ("krone", "krona", "króna"),
}
"""Signs that several currencies share, each with the last words of their English names."""


class Money(NamedTuple):
    """An amount of money; `currency` is None when none is written or known."""

    amount: Fraction
    currency: str | None

    def __str__(self) -> str:
        return " ".join(filter(None, (format_number(self.amount), self.currency)))


def money_readings(value: Any, locale: str | None, currency: str | None) -> frozenset[Money]:
    """Return the amounts that a value may mean.

    Args:
        value: a number, or a text with at most one sign, code or name of a currency.
        locale: decides how numbers are written and which currency a shared sign such as `$` is.
        currency: the currency of amounts that name none, and of shared signs that may mean it.
    """
    if not isinstance(value, str):
        return frozenset(Money(each, currency) for each in number_readings(value, locale))
    text = _NO_CENTS.sub("", canonical_text(value))
    chunks = list(_NUMBER.finditer(text))
    if len(chunks) != 1:
        return frozenset()
    body = chunks[0]
    before, after = text[: body.start()].strip(), text[body.end() :].strip()
    negative = False
    if before.startswith("(") and after.endswith(")"):
        before, after, negative = before[1:].strip(), after[:-1].strip(), True
    # A sign may stand before the currency, between it and the amount, or at the end, only once.
    marks = [_LEADING.match(before), _TRAILING.search(before), _LEADING.match(after)]
    signs = {mark.span(): mark.group() for mark in marks if mark}
    if len(signs) > 1 or (signs and negative):
        return frozenset()
    before = _TRAILING.sub("", _LEADING.sub("", before))
    words = [word.strip() for word in (before, _LEADING.sub("", after))]
    codes = _currencies([word for word in words if word], locale, currency)
    sign = -1 if negative or "-" in signs.values() else 1
    numbers = unsigned_readings(body.group(), locale)
    return frozenset(Money(sign * number, code) for number in numbers for code in codes)


def _currencies(words: list[str], locale: str | None, default: str | None) -> frozenset[str | None]:
    """Return the currencies named by the words next to an amount, if the words agree."""
    if not words:
        return frozenset({default})
    meant = [_named(word, locale, default) for word in words]
    codes = frozenset.intersection(*meant)
    if default in codes:
        return frozenset({default})
    own = codes & _of_territory(locale) if locale else frozenset()
    return frozenset(own) if len(own) == 1 else frozenset(codes)


def _named(word: str, locale: str | None, default: str | None) -> frozenset[str]:
    """Return the currencies that a sign, a code or a name may mean."""
    code = word.upper()
    if code in _names("en"):
        return frozenset({code})
    key = word.casefold().strip(".")
    shared = _kinds(_SHARED_SIGNS.get(key, ()))
    if default is not None and default in shared:
        return frozenset({default})
    if found := (locale and _table(locale).get(key)) or shared:
        return found
    if found := _table("en").get(key) or _kinds((key.removesuffix("s"),)):
        return found
    signs = [_signs(language).get(key, frozenset()) for language in LANGUAGES]
    return frozenset[str]().union(*signs)


def _kinds(words: tuple[str, ...]) -> frozenset[str]:
    """Return the currencies of one kind, such as all dollars, all pounds or the one yen."""
    names = _names("en").items()
    return frozenset(code for code, name in names if name.lower().rpartition(" ")[2] in words)


@cache
def _names(locale: str) -> dict[str, str]:
    return dict(locale_of(locale).currencies)


@cache
def _table(locale: str) -> dict[str, frozenset[str]]:
    """Return a locale's signs and names, each with the currencies that it stands for."""
    from babel.numbers import get_currency_name

    names = [
        (form, code)
        for code, name in _names(locale).items()
        for n in (1, 1.5, 2, 5)
        for form in (name, get_currency_name(code, count=n, locale=locale_of(locale)))
    ]
    table = _inverted(names)
    return {**table, **_signs(locale)}


@cache
def _signs(locale: str) -> dict[str, frozenset[str]]:
    """Return a locale's currency signs, each with the currencies that it stands for."""
    symbols = locale_of(locale).currency_symbols.items()
    return _inverted((sign, code) for code, sign in symbols)


def _inverted(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for word, code in pairs:
        table.setdefault(canonical_text(word).casefold().strip("."), set()).add(code)
    return {word: frozenset(codes) for word, codes in table.items() if word}


@cache
def _of_territory(locale: str) -> frozenset[str]:
    from babel.numbers import get_territory_currencies

    territory = locale_of(locale).territory
    return frozenset(get_territory_currencies(territory)) if territory else frozenset()


def is_currency(code: str) -> bool:
    """Tell whether a currency has this ISO 4217 code."""
    return code in _names("en")


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
"""Amounts that together require every plural form of the known languages."""

_SHORT = {
    **{"s": "second", "sec": "second", "secs": "second"},
    **{"m": "minute", "min": "minute", "mins": "minute", "mn": "minute"},
    **{"h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "w": "week", "mo": "month"},
    **{"y": "year", "yr": "year", "yrs": "year"},
}
"""The meaning of an abbreviation unless the locale defines another; `m` is minutes."""


class Duration(NamedTuple):
    """A length of time in months and seconds, kept apart because a month has no fixed length."""

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
