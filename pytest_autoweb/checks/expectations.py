"""What a case expects of an answer must itself be clear: dates with one meaning, known locales."""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_autoweb.checks.answer_spec import (
    AnswerSpec,
    Condition,
    RecordsSpec,
    Typed,
    ValueType,
    manner_of,
)
from pytest_autoweb.specs import FieldError, FieldPath
from pytest_autoweb.values.locale_data import UnknownLocale, locale_of
from pytest_autoweb.values.money import is_currency
from pytest_autoweb.values.reading import Manner, shown
from pytest_autoweb.values.urls import normal_url

_SECRET = "<secret:"
_NUMBER = Manner("number")


def refuse_unclear(spec: AnswerSpec, at: FieldPath) -> None:
    """Refuse expectations that nothing can be compared with.

    Raises:
        FieldError: a value cannot be read as its type or has several meanings, there is no such
            locale or currency, or a URL is none.
    """
    _refuse_unknown(spec, at)
    for kind in ("equals", "contains"):
        _refuse_values(getattr(spec, kind), spec, (*at, kind))
    if spec.records is not None:
        _refuse_conditions(spec.records, (*at, "records"))
    if spec.urls is not None:
        _refuse_urls(spec.urls, (*at, "urls"))


def _refuse_conditions(records: RecordsSpec, at: FieldPath) -> None:
    _refuse_unknown(records, at)
    for name, wanted in records.where.items():
        here: FieldPath = (*at, "where", name)
        if not isinstance(wanted, Condition):
            _refuse_values(wanted, records, here, name)
            continue
        _refuse_unknown(wanted, here)
        how = wanted if wanted.type is not None else records
        _refuse_values(wanted.equals, how, (*here, "equals"), name)
        _refuse_values(wanted.one_of, how, (*here, "in"), name)
        for bound in ("min", "max"):
            if bound in wanted.model_fields_set:
                manner = manner_of(how, name) or _NUMBER
                _refuse_value(getattr(wanted, bound), manner, (*here, bound))


def _refuse_urls(urls: Any, at: FieldPath) -> None:
    wanted, here = (urls, at) if isinstance(urls, list) else (urls.want, (*at, "want"))
    for index, url in enumerate(wanted):
        if normal_url(url, "http://localhost/") is None and _SECRET not in url:
            raise FieldError((*here, index), f"is not a URL with http:// or https://, got {url!r}")


def _refuse_unknown(how: Typed, at: FieldPath) -> None:
    manners: list[tuple[FieldPath, Typed | ValueType]] = [(at, how)]
    if isinstance(how.type, dict):
        named = how.type.items()
        manners += [((*at, "type", name), t) for name, t in named if isinstance(t, ValueType)]
    for place, manner in manners:
        try:
            if manner.locale is not None:
                locale_of(manner.locale)
        except UnknownLocale as error:
            raise FieldError((*place, "locale"), str(error)) from error
        if manner.currency is not None and not is_currency(manner.currency):
            reason = f"{manner.currency!r} is not the ISO code of a currency, such as EUR"
            raise FieldError((*place, "currency"), reason)


def _refuse_values(value: Any, how: Typed, at: FieldPath, name: str | None = None) -> None:
    for place, leaf, manner in _leaves(value, how, at, name):
        _refuse_value(leaf, manner, place)


def _leaves(
    value: Any, how: Typed, at: FieldPath, name: str | None
) -> Iterator[tuple[FieldPath, Any, Manner]]:
    """The values that have a type, with their places."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = name if manner_of(how, key) is None else key
            yield from _leaves(item, how, (*at, key), inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, how, (*at, index), name)
    elif value is not None and (manner := manner_of(how, name)) is not None:
        yield at, value, manner


def _refuse_value(value: Any, manner: Manner, at: FieldPath) -> None:
    if isinstance(value, str) and _SECRET in value:
        return
    meanings = manner.read(value)
    if not meanings:
        raise FieldError(at, f"{value!r:.80} cannot be read as {manner.type}")
    if len(meanings) > 1:
        advice = "write it in another way, or give a locale"
        advice += " or a currency" if manner.type == "money" else ""
        raise FieldError(at, f"{value!r:.80} may be {shown(meanings)}; {advice}")
    if manner.type == "money" and all(money.currency is None for money in meanings):
        raise FieldError(at, f"{value!r:.80} names no currency; give the check one")
