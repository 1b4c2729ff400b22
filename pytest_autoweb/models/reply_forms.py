"""What a model shall reply, declared once, as the fields of a JSON object. Pure data.

From a form follow an example for the prompt, the JSON schema, and the grammar (GBNF) for servers
that hold a model to one, so that the three cannot disagree. A recorded reply is found by what the
model was asked with, so the spelling of all three must stay as it is.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import chain, groupby, repeat
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

_ANY_TEXT = "…"


class Text(Struct, frozen=True):
    """A text."""

    example: str = _ANY_TEXT
    min_chars: int | None = None
    max_chars: int | None = None


class Fixed(Struct, frozen=True):
    """Always the same word."""

    word: str


class Word(Struct, frozen=True):
    """One of a few words, of which the first is the example."""

    words: tuple[str, ...]


class Number(Struct, frozen=True):
    """A number that is not negative."""

    example: int
    whole: bool = False
    most: int | None = None


class Share(Struct, frozen=True):
    """A number from 0 to 1."""


class Flag(Struct, frozen=True):
    """Yes or no."""


class OneOf(Struct, frozen=True):
    """One of the values that there are when the model is asked, such as numbers in a picture."""

    values: tuple[int | str, ...] = ()
    example: int = 5


class TextsByNumber(Struct, frozen=True):
    """Several of the numbers that there are when the model is asked, each with a text."""

    most: int
    """The most of them that a grammar admits."""
    numbers: tuple[int, ...] = ()


class Items(Struct, frozen=True):
    """A list, each item of which is of one of these kinds."""

    of: tuple["Kind", ...]
    most: int
    least: int = 1
    limits_in_schema: bool = False
    shown: tuple[Any, ...] = ()
    """The items of the example; one of the first kind if empty."""


class Either(Struct, frozen=True):
    """An object in one of these forms, of which the first is the example."""

    of: tuple["ReplyForm", ...]


class ReplyForm(Struct, frozen=True):
    """A JSON object with these fields, all of which a reply must have, in this order."""

    fields: Mapping[str, "Kind"]

    @property
    def is_open(self) -> bool:
        """Return whether it still lacks the values that a field is chosen from."""
        return any(map(_is_open, self.fields.values()))

    def among(self, values: Iterable[int]) -> "ReplyForm":
        """Return the form with these values for what is chosen when the model is asked."""
        numbers = tuple(values)
        return ReplyForm({name: _among(kind, numbers) for name, kind in self.fields.items()})

    def without(self, *names: str) -> "ReplyForm":
        return ReplyForm({name: kind for name, kind in self.fields.items() if name not in names})

    def fixed(self, **words: str) -> "ReplyForm":
        """Return the form in which these fields always hold these words."""
        return ReplyForm({**self.fields, **{name: Fixed(word) for name, word in words.items()}})

    def reasoned(self) -> "ReplyForm":
        """Return the form of a model that reasons before it decides, and rates itself after it."""
        return ReplyForm({"thinking": Text(), **self.fields, "confidence": Share()})


Kind = (
    Text | Fixed | Word | Number | Share | Flag | OneOf | TextsByNumber | Items | Either | ReplyForm
)
"""What may stand in a field of a reply."""


def _is_open(kind: Kind) -> bool:
    match kind:
        case OneOf(values=values) | TextsByNumber(numbers=values):
            return not values
        case Items(of=parts) | Either(of=parts):
            return any(map(_is_open, parts))
        case ReplyForm():
            return kind.is_open
    return False


def _among(kind: Kind, values: tuple[int, ...]) -> Kind:
    match kind:
        case OneOf(values=()):
            return replace(kind, values=values)
        case TextsByNumber():
            return replace(kind, numbers=values)
        case Items(of=parts):
            return replace(kind, of=tuple(_among(part, values) for part in parts))
        case Either(of=forms):
            return Either(tuple(form.among(values) for form in forms))
        case ReplyForm():
            return kind.among(values)
    return kind


def example_of(kind: Kind) -> Any:
    """Return a value of this kind, as a prompt shows it."""
    match kind:
        case Text(example=example) | Number(example=example) | OneOf(example=example):
            return example
        case Fixed(word=word) | Word(words=(word, *_)):
            return word
        case Share():
            return 0.9
        case Flag():
            return False
        case TextsByNumber():
            return {"5": _ANY_TEXT, "8": _ANY_TEXT}
        case Items(of=parts, shown=shown):
            return list(shown) or [example_of(parts[0])]
        case Either(of=(first, *_)):
            return example_of(first)
        case ReplyForm(fields=fields):
            return {name: example_of(part) for name, part in fields.items()}
    raise TypeError(kind)


def examples_of(forms: Iterable[ReplyForm]) -> str:
    """Return an example of each form for the prompt, one a line."""
    return "\n".join(json.dumps(example_of(form), ensure_ascii=False) for form in forms)


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of a value, without references."""
    match kind:
        case Text(min_chars=least, max_chars=most):
            return _with_limits({"type": "string"}, minLength=least, maxLength=most)
        case Fixed(word=word):
            return {"type": "string", "const": word}
        case Word(words=words):
            return {"type": "string", "enum": list(words)}
        case Number(whole=whole, most=most):
            least = None if most is None else 0
            schema = {"type": "integer" if whole else "number"}
            return _with_limits(schema, minimum=least, maximum=most)
        case Share():
            return {"type": "number", "minimum": 0, "maximum": 1}
        case Flag():
            return {"type": "boolean"}
        case OneOf(values=values):
            # Services compile each schema anew, so one that is asked often names no values.
            return {"enum": list(values)} if values else {"type": "integer"}
        case TextsByNumber(numbers=numbers):
            texts = {str(number): {"type": "string"} for number in numbers}
            return {"type": "object", "properties": texts, "additionalProperties": False}
        case Items(of=parts, least=least, most=most, limits_in_schema=stated):
            schemas = [schema_of(part) for part in parts]
            item = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            limits = {"minItems": least, "maxItems": most} if stated else {}
            return {"type": "array", **limits, "items": item}
        case Either(of=forms):
            return {"anyOf": [schema_of(form) for form in forms]}
        case ReplyForm(fields=fields):
            return _object({name: schema_of(part) for name, part in fields.items()})
    raise TypeError(kind)


def merged(forms: Iterable[ReplyForm], field_name: str = "action") -> tuple[ReplyForm, ...]:
    """Return the forms, of which those that differ in the word of one field are one form."""
    words: dict[str, list[str]] = {}
    firsts: dict[str, ReplyForm] = {}
    for form in forms:
        same = repr(form.without(field_name))
        firsts.setdefault(same, form)
        words.setdefault(same, []).append(example_of(form.fields[field_name]))
    return tuple(
        ReplyForm({**form.fields, field_name: Word(tuple(words[same]))})
        for same, form in firsts.items()
    )


def schema_of_any(forms: Iterable[ReplyForm]) -> dict[str, Any]:
    """Return the JSON schema of a reply in one of the forms.

    They are nested under `decision`, because services require an object at the top.
    """
    return schema_of(ReplyForm({"decision": Either(tuple(forms))}))


def untyped_words(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that does not say that words are texts, as some recordings have it."""
    known = not {"const", "enum"}.isdisjoint(schema)
    return {
        name: _with_untyped_words(part)
        for name, part in schema.items()
        if name != "type" or not known
    }


def _with_untyped_words(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_untyped_words(each) for each in part]
    return untyped_words(part) if isinstance(part, dict) else part


def _with_limits(schema: dict[str, Any], **limits: int | None) -> dict[str, Any]:
    return schema | {name: limit for name, limit in limits.items() if limit is not None}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class StringRule(NamedTuple):
    """How a grammar spells texts."""

    name: str
    text: str
    """The rule of that name, and others that it needs, one a line."""


def string_rule(max_chars: int) -> StringRule:
    """Return the rule `str`: a quoted string on one line, without escapes."""
    return StringRule("str", rf'str ::= "\"" [^"\\\n]{{0,{max_chars}}} "\""')


def grammar_of(
    forms: Iterable[ReplyForm], strings: StringRule | None = None, *, apart: bool = False
) -> str:
    """Return the GBNF grammar of one line of JSON in one of the forms.

    Args:
        forms: the forms, none of which is open.
        strings: the rule for texts; not needed by forms without texts.
        apart: write each field as a terminal of its own, as the recordings of `collect` have it.
    """
    rules, ways = _Rules(strings.name if strings else ""), []
    for form in forms:
        fields = _spelled_fields(form, rules)
        parts = map(_terminals, fields) if apart else [_terminals(chain.from_iterable(fields))]
        ways.append(" ".join(chain.from_iterable(parts)))
    lines = [f"{name} ::= {rule}" for name, rule in rules.own.items()]
    if strings:
        lines.append(strings.text)
    return "\n".join([f"root ::= {' | '.join(ways)}", *lines]) + "\n"


class _Spelled(str):
    """Text that stands in a reply as it is; every other string is an expression of the grammar."""

    __slots__ = ()


class _Rules(Struct):
    """The rules that a grammar needs besides its root."""

    text: str
    """The name of the rule for texts."""
    own: dict[str, str] = field(default_factory=dict)


def _spelling(name: str, kind: Kind, rules: _Rules) -> list[str]:
    """Return a field's values as a grammar has them, in parts, and add the rules that they need."""
    match kind:
        case Text(min_chars=None, max_chars=None):
            return [rules.text]
        case Text(min_chars=least, max_chars=most):
            return [rf'"\"" [^"\\\x00-\x1F]{{{least or 0},{most or ""}}} "\""']
        case Fixed(word=word):
            return [_Spelled(json.dumps(word))]
        case Word(words=words):
            ways, rule = " | ".join(map(literal, words)), name
            # Forms of one grammar may offer different words in fields of one name.
            while rules.own.setdefault(rule, ways) != ways:
                rule += "x"
            return [_Spelled('"'), rule, _Spelled('"')]
        case Number(most=most):
            # A grammar counts digits, so it may stop short of the most that the schema allows.
            digits = len(str(most or 100_000)) - 1
            return [f'("0" | [1-9] [0-9]{{0,{digits - 1}}})']
        case Share():
            return ['("0." [0-9]{1,2} | "1")']
        case Flag():
            return ['("true" | "false")']
        case OneOf(values=values):
            return [_any_of(literal(json.dumps(value)) for value in values)]
        case TextsByNumber(most=most, numbers=numbers):
            number = _any_of(literal(str(number)) for number in numbers)
            rules.own["picks"] = f'"{{" {_several("pick", most)} "}}"'
            rules.own["pick"] = rf'"\"" {number} "\": " {rules.text}'
            return ["picks"]
        case Items(of=parts, least=least, most=most):
            items = [" ".join(_terminals(_spelling(name, part, rules))) for part in parts]
            several = _several(items[0] if items == [rules.text] else _any_of(items), most)
            return [_Spelled("["), several if least else f"({several})?", _Spelled("]")]
        case Either(of=forms):
            return [_any_of(" ".join(_terminals(_spelling(name, part, rules))) for part in forms)]
        case ReplyForm():
            return list(chain.from_iterable(_spelled_fields(kind, rules)))
    raise TypeError(kind)


def _spelled_fields(form: ReplyForm, rules: _Rules) -> list[list[str]]:
    """Return an object as the grammar has it: a list for each field, and one for its end."""
    begins = chain(["{"], repeat(", "))
    fields = [
        [_Spelled(f'{begin}"{name}": '), *_spelling(name, kind, rules)]
        for begin, (name, kind) in zip(begins, form.fields.items(), strict=False)
    ]
    return [*fields, [_Spelled("}")]]


def _terminals(parts: Iterable[str]) -> list[str]:
    """Return the parts, in which texts that follow one another are one terminal."""
    found: list[str] = []
    for is_spelled, group in groupby(parts, key=lambda part: isinstance(part, _Spelled)):
        alike = list(group)
        found += [literal("".join(alike))] if is_spelled else alike
    return found


def _any_of(ways: Iterable[str]) -> str:
    return f"({' | '.join(ways)})"


def _several(one: str, most: int) -> str:
    return f'{one} (", " {one}){{0,{most - 1}}}'
