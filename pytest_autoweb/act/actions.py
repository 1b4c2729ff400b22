"""The actions a model may decide on: one discriminated union, both schema and validator."""

import copy
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_autoweb.act.reading import ReplyProblem, confidence_of, mark_of

MAX_WAIT_MS = 10_000
_TEXT_CHARS = 2_000

MarkNumber = Annotated[int, BeforeValidator(mark_of)]
Confidence = Annotated[float | None, BeforeValidator(confidence_of), Field(ge=0, le=1)]


class _Decided(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    thinking: str = ""
    confidence: Confidence = None


class OnElement(_Decided):
    """An action on one marked element."""

    expected_text: str
    """The element's text as the model sees it; empty or a description for icons."""
    near: str = ""
    """What the element stands in (a row, a card), where others have the same text."""
    mark_id: MarkNumber


class Click(OnElement):
    """Click an element."""

    action: Literal["click"]


class Type(OnElement):
    """Replace what a field holds."""

    action: Literal["type"]
    text: str = Field(max_length=_TEXT_CHARS)


class Select(OnElement):
    """Choose an option of a select box."""

    action: Literal["select"]
    option: str


class Extract(OnElement):
    """Read an element's text; of a table's heading, the cell beside it."""

    action: Literal["extract"]


class Press(_Decided):
    """Press a key, in the element that has the focus."""

    action: Literal["press"]
    key: str = "Enter"


class Scroll(_Decided):
    """Scroll the page."""

    action: Literal["scroll"]
    direction: Literal["down", "up"] = "down"


class Navigate(_Decided):
    """Open an address."""

    action: Literal["navigate"]
    url: str


class Wait(_Decided):
    """Wait for the page."""

    action: Literal["wait"]
    timeout_ms: int = Field(default=1_000, ge=0, le=MAX_WAIT_MS)


class GoBack(_Decided):
    """Go back in the history."""

    action: Literal["go_back"]


class Done(_Decided):
    """Nothing is left to do; with the data that the task asks for."""

    action: Literal["done"]
    answer: Any = None


class Retry(_Decided):
    """Look again, without doing anything."""

    action: Literal["retry"]


Action = Annotated[
    Click | Type | Select | Extract | Press | Scroll | Navigate | Wait | GoBack | Done | Retry,
    Field(discriminator="action"),
]
_ACTIONS: TypeAdapter[Action] = TypeAdapter(Action)
_MODELS = (Click, Type, Select, Extract, Press, Scroll, Navigate, Wait, GoBack, Done, Retry)
NAMES = tuple(str(get_args(model.model_fields["action"].annotation)[0]) for model in _MODELS)
_INTERNAL = ("title", "description", "maxLength", "default")


def validate_action(fields: dict[str, Any]) -> Action:
    """The action that the fields of a reply describe.

    Raises:
        ReplyProblem: a sentence for the model that says what is wrong.
    """
    try:
        return _ACTIONS.validate_python(fields)
    except ValidationError as error:
        raise ReplyProblem(_sentence(error, fields)) from None


def _sentence(error: ValidationError, fields: dict[str, Any]) -> str:
    first = error.errors(include_url=False)[0]
    named = fields.get("action")
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        given = f"{named!r:.40} is no action" if named else "the reply names no action"
        return f"{given}; allowed: {', '.join(NAMES)}"
    name = str(first["loc"][-1])
    if first["type"] == "missing":
        why = ": copy the element's text" if name == "expected_text" else ""
        return f"{named} needs {name}{why}"
    return f"{name} of {named} is wrong: {first['msg']}"


def decision_schema(
    numbers: Sequence[int], *, brief: bool = False, answers: bool = True, near: bool = False
) -> dict[str, Any]:
    """The JSON schema of a decision on a picture with these marks, without references.

    The forms stand under `decision`, because services want an object at the top.

    Args:
        numbers: the marks that exist.
        brief: without `thinking` and `confidence`, for small models.
        answers: whether the task asks for data.
        near: whether elements share their text.
    """
    forms = [
        _form_schema(form, numbers)
        for form in action_forms(brief=brief, answers=answers, near=near)
        if numbers or "mark_id" not in form
    ]
    return {
        "type": "object",
        "properties": {"decision": {"anyOf": forms}},
        "required": ["decision"],
        "additionalProperties": False,
    }


BRIEF = ("click", "type", "select", "press", "scroll", "done")
"""The actions that small models choose from."""


def action_forms(
    *, brief: bool = False, answers: bool = True, near: bool = False
) -> tuple[dict[str, Any], ...]:
    """Of each action the fields of its reply in their order, with the schema of each field."""
    left_out = set() if near else {"near"}
    left_out |= set() if answers else {"answer"}
    return tuple(
        _fields(copy.deepcopy(_ACTIONS.json_schema()["$defs"][model.__name__]), brief, left_out)
        for model in _MODELS
    )


def _fields(made: dict[str, Any], brief: bool, left_out: set[str]) -> dict[str, Any]:
    fields = {
        name: {key: value for key, value in part.items() if key not in _INTERNAL}
        for name, part in made["properties"].items()
    }
    fields["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    own = [n for n in fields if n not in {"thinking", "action", "confidence", *left_out}]
    if "answer" in fields:
        fields["answer"] = {"type": "string"}
    order = ["action", *own] if brief else ["thinking", "action", *own, "confidence"]
    return {name: fields[name] for name in order}


def _form_schema(fields: dict[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    known = {"mark_id": {"enum": list(numbers)}} if "mark_id" in fields else {}
    return {
        "type": "object",
        "properties": {**fields, **known},
        "required": list(fields),
        "additionalProperties": False,
    }


def forms_text(*, brief: bool = False, answers: bool = True, near: bool = False) -> str:
    """The forms of a reply as examples, one a line, for the prompt; of few actions when brief."""
    return "\n".join(
        json.dumps({name: _example(name, part) for name, part in form.items()}, ensure_ascii=False)
        for form in action_forms(brief=brief, answers=answers, near=near)
        if not brief or form["action"]["const"] in BRIEF
    )


def _example(name: str, part: dict[str, Any]) -> Any:
    if "const" in part:
        return part["const"]
    return _EXAMPLES.get(name, "…")


_EXAMPLES = {
    "mark_id": 5,
    "confidence": 0.9,
    "timeout_ms": 1000,
    "key": "Enter",
    "direction": "down",
}
