"""Amounts of money as people write them."""

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from pytest_autoweb.values.normal_forms import canonical_text
from pytest_autoweb.values.number_words import (
    LANGUAGES,
    NUMBER,
    format_number,
    locale_of,
    number_readings,
    unsigned_readings,
)

# Late imports: babel is heavy, and few values are amounts of money.

_AMOUNT = re.compile(NUMBER)
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
    chunks = list(_AMOUNT.finditer(text))
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
    """Return the currencies that the words beside an amount name, if the words agree."""
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
