"""The types that a test may ask for, and what a model replies for each. Pure data."""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from pytest_autoweb.models.reply_forms import Flag, Items, Kind, ReplyForm, Text, Word

PLAIN_TYPES: tuple[type, ...] = (str, int, float, Decimal, date, datetime)
"""The types whose value is read from words of the page."""
_MOST_ITEMS = 100
_ALLOWED = (
    "str, int, float, Decimal, bool, date, datetime, Literal of texts, Optional, list[…] of these, "
    "and pydantic models"
)


class UnreadableType(TypeError):
    """Raised when values of a type cannot be read from a page."""

    def __init__(self, kind: Any) -> None:
        super().__init__(f"read() gives {_ALLOWED}, not {_name_of(kind)}")


def without_none(kind: Any) -> tuple[Any, bool]:
    """Return the type, and whether a page may lack the value (`Optional`)."""
    if get_origin(kind) in (Union, UnionType):
        rest = [part for part in get_args(kind) if part is not NoneType]
        if len(rest) == 1 and len(rest) < len(get_args(kind)):
            return rest[0], True
        raise UnreadableType(kind)
    return kind, False


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words among which a value is chosen; empty if it is not chosen among any."""
    if get_origin(kind) is Literal:
        words = get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        words = tuple(member.value for member in kind)
    else:
        return ()
    if not words or not all(isinstance(word, str) for word in words):
        raise UnreadableType(kind)
    return words


def item_of(kind: Any) -> Any:
    """Return the type of the items of a list; None if it is no list."""
    if kind is list:
        return str
    return get_args(kind)[0] if get_origin(kind) is list else None


def fields_of(kind: Any) -> dict[str, Any]:
    """Return the types of a pydantic model's fields, by name; empty if it is none."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return {}
    found = {name: field.annotation for name, field in kind.model_fields.items()}
    if not found:
        raise UnreadableType(kind)
    return found


def reply_kind(kind: Any) -> Kind:
    """Return what a model replies for a value of a type.

    Raises:
        UnreadableType: there is nothing that it could reply.
    """
    kind, _ = without_none(kind)
    if kind in PLAIN_TYPES:
        return Text("the exact words of the page")
    if kind is bool:
        return ReplyForm({"shown": Text("the words that decide"), "value": Flag()})
    if words := words_of(kind):
        return ReplyForm({"shown": Text("the words that decide"), "value": Word(words)})
    if (item := item_of(kind)) is not None:
        return Items((reply_kind(item),), most=_MOST_ITEMS, least=0)
    if fields := fields_of(kind):
        return ReplyForm({name: reply_kind(part) for name, part in fields.items()})
    raise UnreadableType(kind)


def told_fields(kind: Any, at: str = "") -> Iterator[str]:
    """Yield a line for each field of a model that says what it is about."""
    kind, _ = without_none(kind)
    if (item := item_of(kind)) is not None:
        yield from told_fields(item, at)
    for name, part in fields_of(kind).items():
        place = f"{at}.{name}" if at else name
        if about := kind.model_fields[name].description:
            yield f"{place}: {about}"
        yield from told_fields(part, place)


def _name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
