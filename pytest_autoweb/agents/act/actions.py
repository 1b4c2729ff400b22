"""The actions a model may decide on, as one discriminated union: schema, validator, examples."""

import copy
import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_autoweb.agents.choice.decision_json import (
    ReplyProblem,
    confidence_of,
    is_yes,
    mark_of,
    named_items,
    named_steps,
)
from pytest_autoweb.browser.marks.marking import Mark

MAX_WAIT_MS = 10_000
MAX_FIELDS = 12
"""The most fields of a form that one reply may fill in."""
MAX_STEPS = 8
"""The most actions that one reply may hold."""
_TEXT_CHARS = 2_000

MarkNumber = Annotated[int, BeforeValidator(mark_of)]
Confidence = Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(confidence_of)]


class _DecidedAction(BaseModel):
    # Models add fields of their own, and write numbers where a text is asked for.
    # Built when first used, since every session with models loads them, and few use `act`.
    model_config = ConfigDict(
        frozen=True, extra="ignore", coerce_numbers_to_str=True, defer_build=True
    )

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
        """Return one action per field, each of which is verified and performed separately.

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


class DoubleClick(OnElement):
    """Click an element twice."""

    action: Literal["double_click"]


class RightClick(OnElement):
    """Open the context menu of an element."""

    action: Literal["right_click"]


class Hover(OnElement):
    """Point at an element, which may open a menu."""

    action: Literal["hover"]


class Drag(OnElement):
    """Drag an element and drop it on another, which is verified in the same way."""

    action: Literal["drag"]
    to_expected_text: str
    to_near: str = ""
    to_mark_id: MarkNumber


class Upload(OnElement):
    """Choose a file in a file field, or in the chooser that a button opens."""

    action: Literal["upload"]
    file: str


class ScrollIn(OnElement):
    """Scroll the box that an element is in, such as a list or a table."""

    action: Literal["scroll_in"]
    direction: Literal["down", "up"] = "down"


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


class WaitFor(_DecidedAction):
    """Wait until the page shows a text."""

    action: Literal["wait_for"]
    text: str = Field(min_length=1, max_length=_TEXT_CHARS)


class SwitchTab(_DecidedAction):
    """Go to another tab, by its number on the list of tabs."""

    action: Literal["switch_tab"]
    tab: MarkNumber


class ClickAt(_DecidedAction):
    """Click a place in a drawing, where there are no elements."""

    action: Literal["click_at"]
    x: float
    y: float


class DragAt(_DecidedAction):
    """Drag from one place in a drawing to another."""

    action: Literal["drag_at"]
    x: float
    y: float
    to_x: float
    to_y: float


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


_OfSteps = (
    Click
    | Type
    | Select
    | DoubleClick
    | RightClick
    | Hover
    | Drag
    | Upload
    | Extract
    | Press
    | Scroll
    | ScrollIn
    | WaitFor
)
_InSteps = Annotated[_OfSteps | FillForm, Field(discriminator="action")]
"""Actions accepted within `steps`; models write forms there although the prompt offers none."""


class Steps(_DecidedAction):
    """Do several things on the elements of one picture, one after the other."""

    action: Literal["steps"]
    steps: Annotated[
        list[_InSteps],
        BeforeValidator(named_steps),
        Field(min_length=1, max_length=MAX_STEPS),
    ]

    def actions(self, marks: Sequence[Mark]) -> tuple[_OfSteps, ...]:
        """Return the actions, each of which is verified and performed separately.

        Args:
            marks: the marks of the picture, which tell select boxes from fields for text.
        """
        steps = [
            one
            for step in self.steps
            for one in (step.actions(marks) if isinstance(step, FillForm) else (step,))
        ]
        ends = len(steps)
        return tuple(
            step.model_copy(
                update={
                    "thinking": self.thinking if place == 1 else "",
                    "confidence": self.confidence if step.confidence is None else step.confidence,
                    "last": self.last and place == ends,
                }
            )
            for place, step in enumerate(steps, 1)
        )


_OfAll = (
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
_OfCapable = (
    DoubleClick
    | RightClick
    | Hover
    | Drag
    | Upload
    | ScrollIn
    | WaitFor
    | SwitchTab
    | ClickAt
    | DragAt
    | Steps
)


class PressAt(ClickAt):
    """Click a place in any way; only computer tools name places where elements may be."""

    button: Literal["left", "middle", "right"] = "left"
    clicks: int = 1


class TypeKeys(_DecidedAction):
    """Type into the element that has the focus."""

    action: Literal["type_keys"]
    text: str = Field(max_length=_TEXT_CHARS)


class ScrollAt(_DecidedAction):
    """Turn the wheel at a place, or only move the mouse there."""

    action: Literal["scroll_at"]
    x: float
    y: float
    by_x: float = 0
    by_y: float = 0


Action = Annotated[_OfAll | _OfCapable, Field(discriminator="action")] | TypeKeys | ScrollAt
_LATER = ConfigDict(defer_build=True)
_ACTIONS: TypeAdapter[Action] = TypeAdapter(
    Annotated[_OfAll | _OfCapable, Field(discriminator="action")], config=_LATER
)
_FEW_ACTIONS: TypeAdapter[Action] = TypeAdapter(
    Annotated[_OfAll, Field(discriminator="action")], config=_LATER
)
_MODELS: tuple[type[_DecidedAction], ...] = (*get_args(_OfAll), *get_args(_OfCapable))


def _names(models: Sequence[type[_DecidedAction]]) -> tuple[str, ...]:
    return tuple(str(get_args(model.model_fields["action"].annotation)[0]) for model in models)


ACTION_NAMES = _names(_MODELS)
FOR_CAPABLE = _names(get_args(_OfCapable))
"""Actions that small models are not offered: each lengthens the prompt, and measurements showed no
benefit from any."""
_MAY_BE_LAST = frozenset(
    {
        "click",
        "type",
        "select",
        "fill_form",
        "press",
        "double_click",
        "right_click",
        "drag",
        "upload",
        "click_at",
        "drag_at",
        "steps",
    }
)
# Left out of schemas: some services refuse these keywords, and docstrings are not for models.
_INTERNAL = ("title", "description", "maxLength", "default")


def validate_action(fields: dict[str, Any], *, small: bool = False) -> Action:
    """Return the action that the fields of a reply describe.

    Args:
        fields: the reply, under standard names.
        small: whether the model is small, and has only some of the actions.

    Raises:
        ReplyProblem: the fields describe no action; the message is a sentence for the model.
    """
    try:
        return (_FEW_ACTIONS if small else _ACTIONS).validate_python(fields)
    except ValidationError as error:
        raise ReplyProblem(_sentence(error, fields, small=small)) from None


def _sentence(error: ValidationError, fields: dict[str, Any], *, small: bool) -> str:
    first = error.errors(include_url=False)[0]
    named = fields.get("action")
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        if named == "steps" and first["loc"]:
            # The reply's own action is known, so the unknown one is among its steps.
            inner = first.get("ctx", {}).get("tag")
            given = f"{inner!r:.40} is no action of steps" if inner else "a step names no action"
            return f"{given}; allowed there: {', '.join(_names((*get_args(_OfSteps), FillForm)))}"
        given = f"{named!r:.40} is no action" if named else "the reply names no action"
        allowed = [name for name in ACTION_NAMES if not small or name not in FOR_CAPABLE]
        return f"{given}; allowed: {', '.join(allowed)}"
    name = str(first["loc"][-1])
    if first["type"] == "missing":
        why = ": copy the element's text" if name == "expected_text" else ""
        return f"{named} needs {name}{why}"
    return f"{name} of {named} is wrong: {first['msg']}"


def decision_schema(
    numbers: Sequence[int],
    *,
    brief: bool = False,
    answers: bool = True,
    near: bool = False,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Return the JSON schema of a decision on a picture with these marks, without references.

    The forms are nested under `decision`, because services require an object at the top.

    Args:
        numbers: the marks that exist.
        brief: leave out `thinking` and `confidence`, for small models.
        answers: whether the task asks for data.
        near: whether elements share their text.
        without: actions that are not possible here.
    """
    forms = [
        _form_schema(form, numbers)
        for form in action_forms(brief=brief, answers=answers, near=near, without=without)
        if numbers or not {"mark_id", "fields", "steps"} & form.keys()
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
    *,
    brief: bool = False,
    answers: bool = True,
    near: bool = False,
    without: Collection[str] = (),
) -> tuple[dict[str, Any], ...]:
    """Return, for each action, the fields of its reply in order, with the schema of each field."""
    left_out = set() if near else {"near", "to_near"}
    # No action can be the last one while the answer is outstanding.
    left_out |= {"last"} if answers else {"answer"}
    # A small model gives one action at a time.
    gone = {*without, *(("fill_form", *FOR_CAPABLE) if brief else ())}
    return tuple(
        _fields(copy.deepcopy(_definitions()[model.__name__]), brief, left_out)
        for model, name in zip(_MODELS, ACTION_NAMES, strict=True)
        if name not in gone
    )


@cache
def _definitions() -> dict[str, Any]:
    """Return the schema of each action by its class; every decision uses it."""
    definitions: dict[str, Any] = _ACTIONS.json_schema()["$defs"]
    return definitions


def _fields(made: dict[str, Any], brief: bool, left_out: set[str]) -> dict[str, Any]:
    fields = {
        name: {key: value for key, value in part.items() if key not in _INTERNAL}
        for name, part in made["properties"].items()
    }
    # The validator accepts a confidence in many spellings; the schema asks for one of them.
    fields["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    finishes = {"last"} - left_out if fields["action"]["const"] in _MAY_BE_LAST else set()
    apart = {"thinking", "action", "confidence", "last", *left_out}
    own = [name for name in fields if name not in apart]
    if "answer" in fields:
        # Any JSON is accepted as an answer, but services require a type in a schema.
        fields["answer"] = {"type": "string"}
    if "fields" in fields:
        fields["fields"] = copy.deepcopy(_FORM_FIELDS)
    if "steps" in fields:
        fields["steps"] = {"type": "array", "items": {"type": "object"}}
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
    known: dict[str, Any] = {
        name: {"enum": list(numbers)} for name in ("mark_id", "to_mark_id") if name in fields
    }
    if "fields" in fields:
        known["fields"] = copy.deepcopy(fields["fields"])
        known["fields"]["items"]["properties"]["mark_id"] = {"enum": list(numbers)}
    if "steps" in fields:
        near = "near" in fields
        forms = (_form_schema(form, numbers) for form in _step_forms(near=near))
        known["steps"] = {"type": "array", "items": {"anyOf": list(forms)}}
    return {
        "type": "object",
        "properties": {**fields, **known},
        "required": list(fields),
        "additionalProperties": False,
    }


def _step_forms(*, near: bool) -> tuple[dict[str, Any], ...]:
    """Return the forms of actions within `steps`, which need no reasoning of their own."""
    of_steps = _names(get_args(_OfSteps))
    without = {name for name in ACTION_NAMES if name not in of_steps}
    apart = ("thinking", "confidence", "last")
    return tuple(
        {name: part for name, part in form.items() if name not in apart}
        for form in action_forms(answers=False, near=near, without=without)
    )


def forms_text(
    *,
    brief: bool = False,
    answers: bool = True,
    near: bool = False,
    without: Collection[str] = (),
) -> str:
    """Return example replies for the prompt, one per line; only brief actions if `brief`."""
    return "\n".join(
        json.dumps({name: _example(name, part) for name, part in form.items()}, ensure_ascii=False)
        for form in action_forms(brief=brief, answers=answers, near=near, without=without)
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
    "to_mark_id": 4,
    "tab": 1,
    "x": 310,
    "y": 240,
    "to_x": 360,
    "to_y": 240,
    "steps": [
        {"action": "click", "expected_text": "…", "mark_id": 5},
        {"action": "press", "key": "Enter"},
    ],
}
