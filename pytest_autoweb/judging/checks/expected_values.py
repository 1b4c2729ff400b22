"""Expectations on the returned data, and their comparison with the actual values.

Unclear expectations are rejected. Values are compared as JSON, and as dates, money or durations.
"""

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from pytest_autoweb.base.field_errors import FieldError, FieldPath
from pytest_autoweb.base.specs import Count, Regex, Spec
from pytest_autoweb.base.values.compare_values import (
    Meanings,
    ValueFormat,
    at_least,
    describe_meanings,
    same,
)
from pytest_autoweb.base.values.normal_forms import normal_url, normalise
from pytest_autoweb.base.values.quantities import UnknownLocale, is_currency, locale_of
from pytest_autoweb.judging.checks.check_type import found_by

TypeName = Literal["text", "number", "money", "date", "datetime", "duration", "url"]
Share = Annotated[float, Field(ge=0, le=1)]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_CHARS = 300


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
        """Return the smallest number of records there must be."""
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
        """Return the name of the given expectation."""
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
_AS_NUMBER = ValueFormat("number")


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
                manner = format_of(how, name) or _AS_NUMBER
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


def equal(expected: Any, actual: Any) -> bool:
    """Return whether two JSON values are the same to a reader.

    Texts compare normalised and case-sensitively. Numbers compare by value, even if one side is
    text: 42, 42.0 and "42" are equal. True is not 1. Lists compare in order, objects by their keys.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            equal(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(equal, expected, actual))
    return _equal_scalars(expected, actual)


def _equal_scalars(expected: Any, actual: Any) -> bool:
    if isinstance(expected, str) and isinstance(actual, str):
        # Two texts are not compared as numbers: "042" and "42" may be different item numbers.
        return normalise(expected) == normalise(actual)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if expected is None or actual is None:
        return expected is actual
    first, second = _number(expected), _number(actual)
    return first is not None and second is not None and first == second


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float):
        return value if not isinstance(value, float) or math.isfinite(value) else None
    if not isinstance(value, str) or len(value) > _NUMBER_CHARS:
        return None
    if _NUMBER.fullmatch(text := normalise(value)):
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    return None


def contains(wanted: Any, actual: Any) -> bool:
    """Return whether a list holds an item equal to `wanted`, or a text contains it."""
    if isinstance(actual, list | tuple):
        return any(equal(wanted, item) for item in actual)
    if isinstance(actual, dict):
        return isinstance(wanted, dict) and is_subset(wanted, actual)
    return normalise(as_text(wanted)) in normalise(as_text(actual))


def is_subset(expected: Any, actual: Any) -> bool:
    """Return whether each key named in `expected` is in `actual` with an equal value.

    Lists must have the same length; their items are compared in order, as subsets again.
    """
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and is_subset(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(map(is_subset, expected, actual))
        )
    return equal(expected, actual)


def as_text(value: Any) -> str:
    """Return a value as people write it: texts unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


_SHORT = 200
_SOUGHT, _LOOKED_AT = 200, 100_000
_AROUND, _LEAD = 20, 40
_ALIKE = 12
"""Number of consecutive characters in common that make two texts similar, whatever their length."""
# The non-literal parts of a regular expression, including its escapes and classes.
_NOT_LITERAL = re.compile(r"\\.|\[[^\]]*\]|\(\?[^)]*|\{[^}]*\}|[.^$*+?{}()|\[\]]")


def shown_near(wanted: str, text: str, redact: Callable[[str], str]) -> str:
    """Return the part to show of a text that lacks another: all of it, or the nearest passage.

    If a long text contains nothing similar, a note after its beginning says so.

    Args:
        wanted: the missing text.
        text: the text that was searched.
        redact: removes secrets; called before cutting, because half a secret is not recognised.
    """
    text = redact(text)
    if len(text) > _SHORT and (passage := _nearest_passage(redact(wanted), text)):
        return f"nearest: {passage!r}"
    return beginning_of(text)


def beginning_of(text: str) -> str:
    """Return a short text in full; a longer one's beginning, with a note that nothing is similar.

    Args:
        text: a text without secrets that contains nothing similar to the wanted one.
    """
    if len(text) <= _SHORT:
        return text
    return f"{text[:_SHORT]}… (nothing in these {len(text):,} characters is like it)"


def longest_literal(pattern: str) -> str:
    """Return a regular expression's longest literal part, determined heuristically."""
    return max(_NOT_LITERAL.split(pattern), key=len).strip()


def _nearest_passage(wanted: str, text: str) -> str:
    """Return the part of a text most similar to a wanted one; empty if none is similar.

    It surrounds the longest piece that both have in common, ignoring case.
    """
    # The comparison is quadratic, and pages may be very long.
    sought, seen = _lower(wanted[:_SOUGHT]), _lower(text[:_LOOKED_AT])
    matcher = difflib.SequenceMatcher(None, seen, sought, autojunk=False)
    place, within, size = matcher.find_longest_match()
    if size < max(3, min(len(sought) // 4, _ALIKE)):
        return ""
    # If only a few words match, only these are shown, not a passage of the wanted length.
    start = max(0, place - min(within, _LEAD))
    before = max(0, start - _AROUND)
    # A text may have no spaces at all, such as compact JSON.
    space = seen.rfind(" ", max(0, before - _AROUND), before + 1)
    first = before if space < 0 else space + 1
    end = min(len(text), max(place + size, start + min(len(sought), 2 * _LEAD)) + _AROUND)
    space = text.find(" ", end, end + _AROUND)
    last = end if space < 0 else space
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _lower(text: str) -> str:
    """Return the text in lower case, if that does not shift any character."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def difference(expected: Any, actual: Any, at: str = "") -> str:
    """Describe where `is_subset` first fails, e.g. `items[0].name is "Tea"`; empty if it holds."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            here = f"{at}.{key}".removeprefix(".")
            if key not in actual:
                return f"there is no {here}"
            if found := difference(value, actual[key], here):
                return found
        return ""
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        if len(expected) != len(actual):
            return f"{at or 'the list'} has {len(actual)} items instead of {len(expected)}"
        pairs = enumerate(zip(expected, actual, strict=True))
        places = (difference(one, other, f"{at}[{index}]") for index, (one, other) in pairs)
        return next(filter(None, places), "")
    if is_subset(expected, actual):
        return ""
    return f"{at or 'it'} is {json.dumps(actual, ensure_ascii=False, default=str)}"


class Answer(NamedTuple):
    """Whether a condition holds, with an explanation."""

    holds: bool | None
    """Whether it holds; None if that depends on how a value is read."""
    note: str = ""
    """The value as read, or why nothing can be decided."""


def all_of(answers: Iterable[Answer]) -> Answer:
    """Combine by "all": one that does not hold decides; otherwise an undecided one does."""
    found = list(answers)
    for wanted in (False, None):
        for answer in found:
            if answer.holds is wanted:
                return answer
    notes = dict.fromkeys(answer.note for answer in found if answer.note)
    return Answer(True, "; ".join(notes))


def any_of(answers: Iterable[Answer]) -> Answer:
    """Combine by "any": one that holds decides; otherwise an undecided one does."""
    found = list(answers)
    for wanted in (True, None):
        for answer in found:
            if answer.holds is wanted:
                return answer
    return Answer(False)


def compare(expected: Any, actual: Any, how: Typed, name: str | None = None) -> Answer:
    """Compare two JSON values, reading their parts as the types given by `how`.

    Values in lists and objects are compared place by place, as in `equal`. A single type applies to
    all values that are neither lists nor objects; a type by name applies to fields of that name at
    any depth, and to everything inside them.

    Args:
        expected: the case's expectation.
        actual: the returned value.
        how: the types, with locale and currency.
        name: the field that holds both values.
    """
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or expected.keys() != actual.keys():
            return Answer(False)
        return all_of(
            compare(value, actual[key], how, _inner(how, name, key))
            for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return Answer(False)
        pairs = zip(expected, actual, strict=True)
        return all_of(compare(one, other, how, name) for one, other in pairs)
    manner = format_of(how, name)
    if manner is None or expected is None or actual is None:
        return Answer(equal(expected, actual))
    return _related(manner, expected, actual, same)


def _inner(how: Typed, outer: str | None, key: str) -> str | None:
    """Return the name that determines a field's type: its own, else the enclosing object's."""
    return outer if format_of(how, key) is None else key


def holds_part(wanted: Any, actual: Any, how: Typed) -> Answer:
    """Return whether a list holds an item that equals `wanted`, or a text contains it."""
    if how.type is None:
        return Answer(contains(wanted, actual))
    if not isinstance(actual, list | tuple):
        return compare(wanted, actual, how)
    return any_of(compare(wanted, item, how) for item in actual)


def meets(condition: Condition, actual: Any, how: Typed, name: str) -> Answer:
    """Return whether a field's value meets a condition."""
    own = condition if condition.type is not None else how
    tests: dict[str, Callable[[], Answer]] = {
        "equals": lambda: compare(condition.equals, actual, own, name),
        "contains": lambda: Answer(contains(condition.contains, actual)),
        "matches": lambda: Answer(found_by(condition.matches or "", as_text(actual)) is not None),
        "one_of": lambda: any_of(
            compare(choice, actual, own, name) for choice in condition.one_of or []
        ),
        "min": lambda: _ordered(condition.min, actual, own, name, downwards=False),
        "max": lambda: _ordered(condition.max, actual, own, name, downwards=True),
    }
    return all_of(test() for key, test in tests.items() if key in condition.model_fields_set)


def _ordered(bound: Any, actual: Any, how: Typed, name: str, *, downwards: bool) -> Answer:
    manner = format_of(how, name) or _AS_NUMBER
    if downwards:
        return _related(manner, bound, actual, lambda most, value: at_least(value, most))
    return _related(manner, bound, actual, at_least)


def _related(
    manner: ValueFormat,
    expected: Any,
    actual: Any,
    relation: Callable[[Meanings, Meanings], bool | None],
) -> Answer:
    wanted, seen = manner.read(expected), manner.read(actual)
    text = as_text(actual)
    if not wanted:
        return Answer(None, f"{as_text(expected)!r} of the case cannot be read as {manner.type}")
    if not seen:
        return Answer(False, f"{text!r:.80} cannot be read as {manner.type}")
    holds = relation(wanted, seen)
    if holds is None:
        return Answer(None, _open_question(manner, text, wanted, seen))
    read_as = describe_meanings(seen)
    return Answer(holds, "" if text == read_as else f"{text!r:.80} read as {read_as}")


def _open_question(manner: ValueFormat, text: str, wanted: Meanings, seen: Meanings) -> str:
    if len(seen) > 1:
        missing = [
            *(["a locale"] if not manner.locale else []),
            *(["a currency"] if manner.type == "money" and not manner.currency else []),
        ]
        advice = f"; give the check {' or '.join(missing)}" if missing else ""
        return f"{text!r:.80} may be {describe_meanings(seen)}{advice}"
    if manner.type == "money":
        return f"{text!r:.80} names no currency, or none is expected; give the check a currency"
    if manner.type == "datetime":
        return f"only one of {describe_meanings(wanted)} and {text!r:.80} names a time zone"
    return f"{describe_meanings(wanted)} and {text!r:.80} do not compare"
