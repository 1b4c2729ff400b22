"""What words of a page mean as a value of a type, and whether the page shows them."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_autoweb.agents.reading.asked_types import fields_of, item_of, without_none, words_of
from pytest_autoweb.base.values.compare_values import describe_meanings
from pytest_autoweb.base.values.dates import date_readings, datetime_readings
from pytest_autoweb.base.values.normal_forms import canonical_text, normalise
from pytest_autoweb.base.values.quantities import NUMBER, UnknownLocale, locale_of, number_readings

_SHOWN_CHARS = 120
_SIGNED = re.compile(
    # The sign stands before the currency or after it: -$5, $-5, -EUR 5.
    rf"(?P<sign>(?<![\w.)])[+-](?=\S))?[^\W\d_]{{0,3}}[^\w\s.,'-]? ?(?P<number>{NUMBER})"
)


class NotShown(Exception):
    """Raised when words are not on the page, or do not mean one value of the type."""


class PageWords(NamedTuple):
    """What a page shows, as far as values are looked for in it."""

    text: str
    locale: str | None = None
    """How it writes numbers and dates, by the language that it declares; None if it says none."""

    def shows(self, words: str) -> bool:
        """Tell whether the page has these words, as whole words, wherever a line ends."""
        sought = normalise(words).casefold()
        if not sought:
            return False
        before = r"(?<![\w])" if sought[0].isalnum() else ""
        # "20" is not shown by "20.50".
        after = r"(?!\w|[.,]\d)" if sought[-1].isdigit() else r"(?!\w)"
        pattern = f"{before}{re.escape(sought)}{after if sought[-1].isalnum() else ''}"
        return re.search(pattern, normalise(self.text).casefold()) is not None


def known_locale(language: str) -> str | None:
    """Return a page's language as a locale; None if it declares none that is known."""
    try:
        locale_of(language)
    except UnknownLocale:
        return None
    return language


def shown_value(kind: Any, said: Any, page: PageWords, at: str = "") -> Any:
    """Return the value that a model's reply points to.

    Args:
        kind: the type that the test asks for.
        said: the part of the reply.
        page: what the page shows.
        at: the field, for errors; empty for the whole value.

    Raises:
        NotShown: the page does not show it, or it is no such value.
    """
    kind, optional = without_none(kind)
    if optional and said in (None, ""):
        return None
    if (item := item_of(kind)) is not None:
        if not isinstance(said, list):
            raise NotShown(f"{_place(at)}the reply holds no list")
        return [shown_value(item, one, page, f"{at}[{n}]") for n, one in enumerate(said)]
    if fields := fields_of(kind):
        return _model(kind, fields, said, page, at)
    if kind is bool or words_of(kind):
        return _chosen(kind, said, page, at)
    words = _words(said, at)
    if not page.shows(words):
        raise NotShown(f"{_place(at)}the page does not show {_quoted(words)}")
    return _PLAIN[kind](words, page, at)


def _model(kind: Any, fields: Mapping[str, Any], said: Any, page: PageWords, at: str) -> Any:
    if not isinstance(said, Mapping):
        raise NotShown(f"{_place(at)}the reply holds no object")
    values = {
        name: shown_value(part, said.get(name), page, f"{at}.{name}" if at else name)
        for name, part in fields.items()
    }
    try:
        return kind.model_validate(values, by_name=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise NotShown(f"{_place(at)}{place}: {first['msg']}") from None


def _chosen(kind: Any, said: Any, page: PageWords, at: str) -> Any:
    """Return a value that the model chooses, for which the page only has to show the reason."""
    if not isinstance(said, Mapping):
        raise NotShown(f"{_place(at)}the reply holds no object")
    shown, value = _words(said.get("shown"), at), said.get("value")
    if not page.shows(shown):
        raise NotShown(f"{_place(at)}the page does not show {_quoted(shown)}")
    if kind is bool:
        if not isinstance(value, bool):
            raise NotShown(f"{_place(at)}the reply says neither true nor false")
        return value
    if value not in words_of(kind):
        raise NotShown(f"{_place(at)}{_quoted(str(value))} is not one of the words to choose from")
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


def _words(said: Any, at: str) -> str:
    if isinstance(said, int | float) and not isinstance(said, bool):
        return str(said)
    if not isinstance(said, str) or not said.strip():
        raise NotShown(f"{_place(at)}the page does not show it")
    return said.strip()


def _number(words: str, page: PageWords, at: str) -> Fraction:
    """Return the only number in words such as `Total: $1,234.50`."""
    found = list(_SIGNED.finditer(canonical_text(words)))
    if len(found) != 1:
        many = "more than one number" if found else "no number"
        raise NotShown(f"{_place(at)}there is {many} in {_quoted(words)}")
    sign = "-" if (found[0]["sign"] or "").startswith("-") else ""
    readings = number_readings(sign + found[0]["number"], page.locale)
    number: Fraction = _only(readings, words, at, "a number")
    return number


def _only(readings: frozenset[Any], words: str, at: str, what: str) -> Any:
    if len(readings) == 1:
        return next(iter(readings))
    if not readings:
        raise NotShown(f"{_place(at)}{_quoted(words)} is not {what}")
    raise NotShown(
        f"{_place(at)}{_quoted(words)} may mean {describe_meanings(readings)}, and the page "
        "declares no language that decides; read it as str"
    )


def _int(words: str, page: PageWords, at: str) -> int:
    number = _number(words, page, at)
    if number.denominator != 1:
        raise NotShown(f"{_place(at)}{_quoted(words)} is not a whole number")
    return number.numerator


def _decimal(words: str, page: PageWords, at: str) -> Decimal:
    number = _number(words, page, at)
    return Decimal(number.numerator) / Decimal(number.denominator)


def _date(words: str, page: PageWords, at: str) -> date:
    found: date = _only(date_readings(words, page.locale), words, at, "a date")
    return found


def _datetime(words: str, page: PageWords, at: str) -> datetime:
    readings = datetime_readings(words, page.locale)
    found: datetime = _only(readings, words, at, "a date with a time of day")
    return found


_PLAIN: Mapping[type, Callable[[str, PageWords, str], Any]] = {
    str: lambda words, page, at: words,
    int: _int,
    float: lambda words, page, at: float(_number(words, page, at)),
    Decimal: _decimal,
    date: _date,
    datetime: _datetime,
}


def _place(at: str) -> str:
    return f"{at}: " if at else ""


def _quoted(words: str) -> str:
    return f"“{words if len(words) <= _SHOWN_CHARS else words[: _SHOWN_CHARS - 1] + '…'}”"
