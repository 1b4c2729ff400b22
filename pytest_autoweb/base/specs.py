"""Building blocks for data read from files: base models, and validated texts."""

import ast
import inspect
import re
import textwrap
from collections import ChainMap
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError, to_json

from pytest_autoweb.base.whole_characters import whole_text, whole_value

_PATTERN_SENTENCES: dict[str, str] = {}


def fitting(pattern: str, sentence: str) -> Any:
    """Return a pydantic field whose text must fit a pattern.

    Args:
        pattern: a regular expression.
        sentence: the message to the case's author if it does not fit, e.g. `must be a word`.
    """
    _PATTERN_SENTENCES[pattern] = sentence
    return Field(pattern=pattern)


def pattern_sentence(pattern: str) -> str:
    """Return the message to a case's author about a text that does not fit this pattern."""
    return _PATTERN_SENTENCES.get(pattern, f"must fit the regular expression {pattern}")


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return pattern


def _is_http(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        relative = "" if ":" in url else "; an address such as /login needs --base-url"
        raise ValueError(f"must start with http:// or https://, got {url!r}{relative}")
    return url


def _whole(value: Any) -> Any:
    return whole_text(value) if isinstance(value, str) else value


WholeText = Annotated[str, BeforeValidator(_whole)]
"""A text of others, in which halves of surrogate pairs are replaced."""
Regex = Annotated[str, AfterValidator(_compiles)]
HttpUrl = Annotated[str, AfterValidator(_is_http)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


LATER = ConfigDict(defer_build=True)
"""Of a `TypeAdapter` that not every session uses: its validator is built when it is first used."""


class Documented(BaseModel):
    """Base of models whose fields are described by docstrings, also in their JSON schema.

    Pydantic's own `use_attribute_docstrings` reads the sources of every class at import, and its
    validators are built there as well. Together that is almost half of what it costs to import this
    package, so here both wait until they are needed.
    """

    model_config = ConfigDict(defer_build=True)

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """Return the JSON of the model, also if texts deep inside it are not valid Unicode."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except PydanticSerializationError:
            data = self.model_dump(mode="json", **options)
            return to_json(whole_value(data), indent=indent).decode()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        return documented_schema(cls, core_schema, handler)


def documented_schema(
    cls: type[Any], core_schema: CoreSchema, handler: GetJsonSchemaHandler
) -> JsonSchemaValue:
    """Return pydantic's schema of a class, with the docstrings of its fields as descriptions."""
    schema = handler(core_schema)
    properties = handler.resolve_ref_schema(schema).get("properties", {})
    described = [base for base in cls.__mro__ if vars(base).get("__pydantic_fields__")]
    for name, text in ChainMap(*map(_attribute_docstrings, described)).items():
        field = cls.__pydantic_fields__.get(name)
        if field and (alias := field.alias or name) in properties:
            properties[alias].setdefault("description", text)
    return schema


@cache
def _attribute_docstrings(owner: type) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in pairwise(tree.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = inspect.cleandoc(text)
    return found


class Written(Documented):
    """Base of what people write into files, in which `true` is no number."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse `timeout: true`, which pydantic would read as one second."""
        if not isinstance(value, bool) or info.field_name is None:
            return value
        kinds = _kinds_in(cls.model_fields[info.field_name].annotation)
        if kinds & {int, float} and not kinds & {bool, Any}:
            number = "a number" if float in kinds else "a whole number"
            raise ValueError(f"must be {number}, got {str(value).lower()}")
        return value


class Spec(Written):
    """Base of everything a case file holds: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


def _kinds_in(annotation: Any) -> frozenset[Any]:
    """Return the plain types that a field's annotation admits as a whole."""
    if get_origin(annotation) is Annotated:
        return _kinds_in(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return frozenset().union(*map(_kinds_in, get_args(annotation)))
    return frozenset({annotation})


class Pattern(Spec):
    """A regular expression instead of a glob or a plain text."""

    matches: Regex
    """A regular expression in Python's syntax; it is searched for and need not match the whole
    text."""
