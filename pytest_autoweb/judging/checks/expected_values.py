"""What a case may expect of the returned data; what is unclear is refused."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pytest_autoweb.base.field_errors import FieldError, FieldPath
from pytest_autoweb.base.specs import Count, Regex, Spec
from pytest_autoweb.base.values.compare_values import (
    ValueFormat,
    describe_meanings,
)
from pytest_autoweb.base.values.normal_forms import normal_url
from pytest_autoweb.base.values.quantities import UnknownLocale, is_currency, locale_of

TypeName = Literal["text", "number", "money", "date", "datetime", "duration", "url"]
Share = Annotated[float, Field(ge=0, le=1)]


class ValueType(Spec):
    """How a value is read before it is compared."""

    type: TypeName
    locale: str | None = None
    """The locale in which the value is written, e.g. `de_DE`."""
    currency: str | None = None
    """The currency of amounts that name none or only a sign such as `$`, e.g. `EUR`."""


class Typed(Spec):
    """The part of a check that says how its values are read."""

    type: TypeName | dict[str, TypeName | ValueType] | None = None
    """The type of every value that is compared, or of fields of objects by their names."""
    locale: str | None = None
    """The locale of all values that name no other, e.g. `de_DE`."""
    currency: str | None = None
    """The currency of amounts that name none or only a sign such as `$`, unless their own type says
    it."""

    @model_validator(mode="after")
    def _says_a_type(self) -> "Typed":
        if self.type is None and (self.locale or self.currency) is not None:
            raise ValueError("locale and currency need a type")
        return self


def format_of(how: Typed, name: str | None) -> ValueFormat | None:
    """Return the type as which a field's values are read; None means unchanged.

    Args:
        how: one type for all values, or one for each name.
        name: the field's name, None outside objects.
    """
    own = how.type if not isinstance(how.type, dict) else how.type.get(name or "")
    if own is None:
        return None
    if isinstance(own, str):
        return ValueFormat(own, how.locale, how.currency)
    return ValueFormat(own.type, own.locale or how.locale, own.currency or how.currency)


class Condition(Typed):
    """What must hold of one field of a record; all that is given."""

    equals: Any = None
    contains: Any = None
    matches: Regex | None = None
    one_of: list[Any] | None = Field(default=None, alias="in")
    """The values of which the field must equal one."""
    min: Any = None
    """The least value of the field, in the order of its type."""
    max: Any = None
    """The greatest value of the field, in the order of its type."""

    @model_validator(mode="after")
    def _asks_something(self) -> "Condition":
        if not self.model_fields_set - set(Typed.model_fields):
            raise ValueError("needs one of equals, contains, matches, in, min, max")
        return self


class RecordsSpec(Typed):
    """Conditions that every returned record must meet."""

    where: dict[str, Condition | list[Any] | str | int | float | bool | None] = Field(min_length=1)
    """What must hold of each field: its value, or a condition such as `{min: 5}`."""
    min: Count | None = None
    """The least number of records; 1 when not given, unless `max` is 0."""
    max: Count | None = None
    """The greatest number of records."""

    @property
    def least(self) -> int:
        if self.min is None:
            return 0 if self.max == 0 else 1
        return self.min

    @model_validator(mode="after")
    def _is_possible(self) -> "RecordsSpec":
        if self.max is not None and self.max < self.least:
            raise ValueError("max must not be less than min")
        return self


class UrlsSpec(Spec):
    """The URLs that must be returned, and how much of them."""

    want: list[str] = Field(min_length=1)
    """The URLs that are wanted, in any order."""
    min_recall: Share = 1.0
    """The share of the wanted URLs that must be returned."""
    min_precision: Share = 1.0
    """The share of the returned URLs that must be wanted."""
    ignore_query: bool | list[str] = False
    """Whether URLs are compared without their queries, or the names of the parameters to leave out;
    a `*` at the end stands for any ending, as in `utm_*`."""
    duplicates: bool = False
    """Whether a URL may be returned more than once; otherwise each repetition counts as an unwanted
    URL."""


class AnswerSpec(Typed):
    """What the returned data must be; exactly one of equals … urls."""

    equals: Any = None
    contains: Any = None
    """A text inside the answer, or an item of a returned list."""
    matches: Regex | None = None
    """A regular expression searched in the answer's text."""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    records: RecordsSpec | None = None
    """A list of objects that must meet conditions."""
    urls: Annotated[list[str], Field(min_length=1)] | UrlsSpec | None = None
    """A list of URLs, compared after normalisation."""

    @property
    def kind(self) -> str:
        return next(name for name in ANSWER_KINDS if name in self.model_fields_set)

    @model_validator(mode="after")
    def _exactly_one(self) -> "AnswerSpec":
        given = [name for name in ANSWER_KINDS if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(
                "needs exactly one of equals, contains, matches, schema, records, urls"
            )
        if self.type is not None and given[0] not in ("equals", "contains"):
            raise ValueError("type, locale and currency go with equals and contains")
        return self


ANSWER_KINDS = ("equals", "contains", "matches", "json_schema", "records", "urls")


_SECRET = "<secret:"
AS_NUMBER = ValueFormat("number")


def refuse_unclear(spec: AnswerSpec, at: FieldPath) -> None:
    """Reject expectations that cannot be compared with anything.

    Raises:
        FieldError: a value cannot be read as its type or is ambiguous, there is no such locale or
            currency, or a URL is invalid.
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
                manner = format_of(how, name) or AS_NUMBER
                _refuse_value(getattr(wanted, bound), manner, (*here, bound))


def _refuse_urls(urls: Any, at: FieldPath) -> None:
    wanted, here = (urls, at) if isinstance(urls, list) else (urls.want, (*at, "want"))
    for index, url in enumerate(wanted):
        # A path is joined to the case's site only when compared; its validity does not depend on
        # the site.
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
) -> Iterator[tuple[FieldPath, Any, ValueFormat]]:
    """Yield the values that have a type, with their places."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = name if format_of(how, key) is None else key
            yield from _leaves(item, how, (*at, key), inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, how, (*at, index), name)
    elif value is not None and (manner := format_of(how, name)) is not None:
        yield at, value, manner


def _refuse_value(value: Any, manner: ValueFormat, at: FieldPath) -> None:
    # The placeholder's value is not known before the run, so it cannot be validated here.
    if isinstance(value, str) and _SECRET in value:
        return
    meanings = manner.read(value)
    if not meanings:
        raise FieldError(at, f"{value!r:.80} cannot be read as {manner.type}")
    if len(meanings) > 1:
        advice = "write it in another way, or give a locale"
        advice += " or a currency" if manner.type == "money" else ""
        raise FieldError(at, f"{value!r:.80} may be {describe_meanings(meanings)}; {advice}")
    if manner.type == "money" and all(money.currency is None for money in meanings):
        raise FieldError(at, f"{value!r:.80} names no currency; give the check one")
