"""The actions a model may decide on, as one discriminated union: schema, validator and grammar."""

import copy
import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_autoweb.choice.decision_json import (
    ReplyProblem,
    confidence_of,
    is_yes,
    mark_of,
    named_items,
)
from pytest_autoweb.llm.replies import literal, string_rule
from pytest_autoweb.marks.marking import Mark

MAX_WAIT_MS = 10_000
MAX_FIELDS = 12
"""The most fields of a form that one reply may fill in."""
_TEXT_CHARS = 2_000

MarkNumber = Annotated[int, BeforeValidator(mark_of)]
Confidence = Annotated[float | None, BeforeValidator(confidence_of), Field(ge=0, le=1)]


class _DecidedAction(BaseModel):
    # Models add fields of their own, and write numbers where a text is asked for.
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    thinking: str = ""
    confidence: Confidence = None
    last: Annotated[bool, BeforeValidator(is_yes)] = False
    """Nothing is left to do after this action, so the model is not asked again."""


class OnElement(_DecidedAction):
    """An action on one marked element."""

    expected_text: str
    """The element's text as the model sees it; empty or a description for icons."""
    near: str = ""
    """What surrounds the element (a row, a card), where others have the same text."""
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


class FormField(BaseModel):
    """One field of a form, with what to write into it or to choose in it."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    mark_id: MarkNumber
    expected_text: str
    near: str = ""
    text: str = Field(max_length=_TEXT_CHARS)
    """What to type, or the option of a select box."""


class FillForm(_DecidedAction):
    """Fill in several fields that are in the picture, one after the other."""

    action: Literal["fill_form"]
    fields: Annotated[
        list[FormField], BeforeValidator(named_items), Field(min_length=1, max_length=MAX_FIELDS)
    ]

    def actions(self, marks: Sequence[Mark]) -> tuple[Type | Select, ...]:
        """Return the action on each field, which is verified and performed by itself.

        Args:
            marks: the marks of the picture, which tell select boxes from fields for text.
        """
        boxes = {mark.number for mark in marks if mark.tag == "select"}
        made: list[Type | Select] = []
        for place, field in enumerate(self.fields, 1):
            shared: dict[str, Any] = {
                "expected_text": field.expected_text,
                "near": field.near,
                "mark_id": field.mark_id,
                "thinking": self.thinking if place == 1 else "",
                "confidence": self.confidence,
                "last": self.last and place == len(self.fields),
            }
            made.append(
                Select(action="select", option=field.text, **shared)
                if field.mark_id in boxes
                else Type(action="type", text=field.text, **shared)
            )
        return tuple(made)


class Extract(OnElement):
    """Read an element's text; of a table's heading, the cell beside it."""

    action: Literal["extract"]


class Press(_DecidedAction):
    """Press a key, in the element that has the focus."""

    action: Literal["press"]
    key: str = "Enter"


class Scroll(_DecidedAction):
    """Scroll the page."""

    action: Literal["scroll"]
    direction: Literal["down", "up"] = "down"


class Navigate(_DecidedAction):
    """Open an address."""

    action: Literal["navigate"]
    url: str


class Wait(_DecidedAction):
    """Wait for the page."""

    action: Literal["wait"]
    timeout_ms: int = Field(default=1_000, ge=0, le=MAX_WAIT_MS)


class GoBack(_DecidedAction):
    """Go back in the history."""

    action: Literal["go_back"]


class Done(_DecidedAction):
    """Nothing is left to do; with the data that the task asks for."""

    action: Literal["done"]
    answer: Any = None


class Retry(_DecidedAction):
    """Look again, without doing anything."""

    action: Literal["retry"]


_AnyAction = (
    Click
    | Type
    | Select
    | FillForm
    | Extract
    | Press
    | Scroll
    | Navigate
    | Wait
    | GoBack
    | Done
    | Retry
)
Action = Annotated[_AnyAction, Field(discriminator="action")]
_ACTIONS: TypeAdapter[Action] = TypeAdapter(Action)
_MODELS: tuple[type[_DecidedAction], ...] = get_args(_AnyAction)
_MAY_BE_LAST = ("click", "type", "select", "fill_form", "press")
ACTION_NAMES = tuple(str(get_args(model.model_fields["action"].annotation)[0]) for model in _MODELS)
# Left out of schemas: some services refuse these keywords, and docstrings are not for models.
_INTERNAL = ("title", "description", "maxLength", "default")


def validate_action(fields: dict[str, Any]) -> Action:
    """Return the action that the fields of a reply describe.

    Raises:
        ReplyProblem: the fields describe no action; the message is a sentence for the model.
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
        return f"{given}; allowed: {', '.join(ACTION_NAMES)}"
    name = str(first["loc"][-1])
    if first["type"] == "missing":
        why = ": copy the element's text" if name == "expected_text" else ""
        return f"{named} needs {name}{why}"
    return f"{name} of {named} is wrong: {first['msg']}"


def decision_schema(
    numbers: Sequence[int], *, brief: bool = False, answers: bool = True, near: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of a decision on a picture with these marks, without references.

    The forms are nested under `decision`, because services require an object at the top.

    Args:
        numbers: the marks that exist.
        brief: leave out `thinking` and `confidence`, for small models.
        answers: whether the task asks for data.
        near: whether elements share their text.
    """
    forms = [
        _form_schema(form, numbers)
        for form in action_forms(brief=brief, answers=answers, near=near)
        if numbers or not {"mark_id", "fields"} & form.keys()
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
    """Return, for each action, the fields of its reply in order, with the schema of each field."""
    left_out = set() if near else {"near"}
    # An action cannot be the last one if the answer is still to be given.
    left_out |= {"last"} if answers else {"answer"}
    return tuple(
        _fields(copy.deepcopy(_definitions()[model.__name__]), brief, left_out)
        for model in _MODELS
        # A small model gives one action at a time.
        if not (brief and model is FillForm)
    )


@cache
def _definitions() -> dict[str, Any]:
    """Return the schema of each action by its class; every decision asks for it."""
    definitions: dict[str, Any] = _ACTIONS.json_schema()["$defs"]
    return definitions


def _fields(made: dict[str, Any], brief: bool, left_out: set[str]) -> dict[str, Any]:
    fields = {
        name: {key: value for key, value in part.items() if key not in _INTERNAL}
        for name, part in made["properties"].items()
    }
    # The validator reads a confidence in many spellings; the schema asks for one of them.
    fields["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    finishes = {"last"} - left_out if fields["action"]["const"] in _MAY_BE_LAST else set()
    apart = {"thinking", "action", "confidence", "last", *left_out}
    own = [name for name in fields if name not in apart]
    if "answer" in fields:
        # Any JSON is accepted as an answer, but services require a type in a schema.
        fields["answer"] = {"type": "string"}
    if "fields" in fields:
        fields["fields"] = copy.deepcopy(_FORM_FIELDS)
    # A model writes the fields in this order, so it reasons first and rates itself last.
    order = ["action", *own]
    if not brief:
        order = ["thinking", *order, *finishes, "confidence"]
    return {name: fields[name] for name in order}


_FORM_FIELDS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "expected_text": {"type": "string"},
            "mark_id": {"type": "integer"},
            "text": {"type": "string"},
        },
        "required": ["expected_text", "mark_id", "text"],
        "additionalProperties": False,
    },
}


def _form_schema(fields: dict[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    known: dict[str, Any] = {"mark_id": {"enum": list(numbers)}} if "mark_id" in fields else {}
    if "fields" in fields:
        known["fields"] = copy.deepcopy(fields["fields"])
        known["fields"]["items"]["properties"]["mark_id"] = {"enum": list(numbers)}
    return {
        "type": "object",
        "properties": {**fields, **known},
        "required": list(fields),
        "additionalProperties": False,
    }


def forms_text(*, brief: bool = False, answers: bool = True, near: bool = False) -> str:
    """Return examples of replies for the prompt, one a line; only of the brief actions if brief."""
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
    "last": False,
    "fields": [{"expected_text": "…", "mark_id": 5, "text": "…"}],
}


MAX_TEXT = 120
_STRING = string_rule(MAX_TEXT)
_TYPED = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})

Banned = Collection[tuple[str, int]]
"""Pairs of an action and a mark that may not be decided on again."""


class OtherActions(NamedTuple):
    """The actions that are possible besides those on elements."""

    scroll: tuple[str, ...] = ("down", "up")
    enter: bool = True
    """Whether Enter may be pressed, which makes sense after typing."""
    done: bool = True
    answers: bool = False
    """Whether `done` carries an answer."""


def grammar(
    marks: Sequence[Mark],
    others: OtherActions,
    *,
    banned: Banned = (),
    alike: Collection[int] = (),
    again: bool = False,
) -> str:
    """Return a grammar of one line of JSON: an action on a mark that it fits, or without a mark.

    Args:
        marks: the marks of the picture.
        others: the actions that need no mark.
        banned: what was done or refused on this very picture.
        alike: numbers of marks that share their text, for which the reply may also name `near`.
        again: this is a second look, in which `near` must be named.
    """
    rules = []
    for action in ("click", "type", "select"):
        fitting = [m.number for m in marks if fits(action, m) and (action, m.number) not in banned]
        shared = [number for number in fitting if number in alike]
        if fitting and not again:
            rules.append(_on_element(action, fitting))
        if shared:
            rules.append(_on_element(action, shared, near=True))
    rules += [_without_mark({"action": "scroll", "direction": way}) for way in others.scroll]
    if others.enter:
        rules.append(_without_mark({"action": "press", "key": "Enter"}))
    # A grammar needs at least one way to go on.
    if others.done or not rules:
        rules.append(_done(others.answers))
    return f"root ::= {' | '.join(rules)}\n{_STRING}\n"


def fits(action: str, mark: Mark) -> bool:
    """Return whether an action makes sense on an element of this role."""
    if action == "select":
        return mark.tag == "select"
    if action == "type":
        return (mark.tag in ("input", "textarea") and _takes_text(mark)) or mark.role in _TYPED
    return action == "extract" or mark.tag != "select"


def _takes_text(mark: Mark) -> bool:
    return mark.role in _TYPED or not mark.role


def _on_element(action: str, numbers: Sequence[int], *, near: bool = False) -> str:
    choice = " | ".join(literal(str(number)) for number in numbers)
    parts = [literal(f'{{"action": "{action}", "expected_text": '), "str"]
    if near:
        parts += [literal(', "near": '), "str"]
    parts += [literal(', "mark_id": '), f"({choice})"]
    if more := {"type": "text", "select": "option"}.get(action):
        parts += [literal(f', "{more}": '), "str"]
    return " ".join([*parts, literal("}")])


def _done(answers: bool) -> str:
    if not answers:
        return _without_mark({"action": "done"})
    return " ".join([literal('{"action": "done", "answer": '), "str", literal("}")])


def _without_mark(fields: dict[str, str]) -> str:
    return literal(json.dumps(fields))
