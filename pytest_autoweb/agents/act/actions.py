"""The actions a model may decide on, as one discriminated union: schema, validator, examples."""

import json
from collections.abc import Collection, Sequence
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
from pytest_autoweb.base.specs import LATER
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.models.reply_forms import (
    Either,
    Fixed,
    Flag,
    Items,
    Kind,
    Number,
    OneOf,
    ReplyForm,
    Share,
    Text,
    Word,
    example_of,
    examples_of,
    merged,
    schema_of,
)

MAX_WAIT_MS = 10_000
MAX_FIELDS = 12
"""The most fields of a form that one reply may fill in."""
MAX_STEPS = 8
"""The most actions that one reply may hold."""
_TEXT_CHARS = 2_000

_Numbered = Annotated[int, BeforeValidator(mark_of)]
MarkNumber = Annotated[_Numbered, OneOf()]
AnyText = Annotated[str, Text()]


def _on_one_line(value: object) -> object:
    # In the list of elements this stands for a line break, which no comparison needs.
    return value.replace("⏎", " ") if isinstance(value, str) else value


SeenText = Annotated[str, BeforeValidator(_on_one_line), Text()]
LongText = Annotated[str, Text(), Field(max_length=_TEXT_CHARS)]
Way = Annotated[Literal["down", "up"], Word(("down", "up"))]
Across = Annotated[float, Number(310)]
Down = Annotated[float, Number(240)]
Confidence = Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(confidence_of)]


def _form_of(model: type[BaseModel]) -> ReplyForm:
    """Return what a reply holds for an action: the fields that are annotated with a kind, in order.

    The validator accepts more spellings than the form asks for.
    """
    action = model.model_fields.get("action")
    tag = {"action": Fixed(*get_args(action.annotation))} if action else {}
    kinds = {
        name: kind
        for name, field in model.model_fields.items()
        for kind in field.metadata
        if isinstance(kind, Kind)
    }
    return ReplyForm({**tag, **kinds})


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

    expected_text: SeenText
    """The element's text as the model sees it; empty or a description for icons."""
    near: SeenText = ""
    """What surrounds the element (a row, a card), where others have the same text."""
    mark_id: MarkNumber


class Click(OnElement):
    """Click an element."""

    action: Literal["click"]


class Type(OnElement):
    """Replace what a field holds."""

    action: Literal["type"]
    text: LongText


class Select(OnElement):
    """Choose an option of a select box."""

    action: Literal["select"]
    option: AnyText


class FormField(BaseModel):
    """One field of a form, with what to write into it or to choose in it."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    expected_text: SeenText
    near: SeenText = ""
    mark_id: MarkNumber
    text: LongText
    """What to type, or the option of a select box."""


class FillForm(_DecidedAction):
    """Fill in several fields that are in the picture, one after the other."""

    action: Literal["fill_form"]
    fields: Annotated[
        list[FormField],
        BeforeValidator(named_items),
        Field(min_length=1, max_length=MAX_FIELDS),
        Items((_form_of(FormField),), most=MAX_FIELDS),
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
    to_expected_text: SeenText
    to_near: SeenText = ""
    to_mark_id: Annotated[_Numbered, OneOf(example=4)]


class Upload(OnElement):
    """Choose a file in a file field, or in the chooser that a button opens."""

    action: Literal["upload"]
    file: AnyText


class ScrollIn(OnElement):
    """Scroll the box that an element is in, such as a list or a table."""

    action: Literal["scroll_in"]
    direction: Way = "down"


class Extract(OnElement):
    """Read an element's text; of a table's heading, the cell beside it."""

    action: Literal["extract"]


class Press(_DecidedAction):
    """Press a key, in the element that has the focus."""

    action: Literal["press"]
    key: Annotated[str, Text("Enter")] = "Enter"


class Scroll(_DecidedAction):
    """Scroll the page."""

    action: Literal["scroll"]
    direction: Way = "down"


class Navigate(_DecidedAction):
    """Open an address."""

    action: Literal["navigate"]
    url: AnyText


class Wait(_DecidedAction):
    """Wait for the page."""

    action: Literal["wait"]
    timeout_ms: Annotated[
        int, Number(1_000, whole=True, most=MAX_WAIT_MS), Field(ge=0, le=MAX_WAIT_MS)
    ] = 1_000


class WaitFor(_DecidedAction):
    """Wait until the page shows a text."""

    action: Literal["wait_for"]
    text: Annotated[str, Text(min_chars=1), Field(min_length=1, max_length=_TEXT_CHARS)]


class AnswerDialog(_DecidedAction):
    """Have a text typed into the next dialog that asks for one."""

    action: Literal["answer_dialog"]
    text: Annotated[str, Text(min_chars=1), Field(max_length=_TEXT_CHARS)]


class DismissDialog(_DecidedAction):
    """Have the next dialog dismissed, whatever it asks."""

    action: Literal["dismiss_dialog"]


class ReadDownload(_DecidedAction):
    """Read the text of the file that was downloaded last."""

    action: Literal["read_download"]


class SwitchTab(_DecidedAction):
    """Go to another tab, by its number on the list of tabs."""

    action: Literal["switch_tab"]
    tab: Annotated[_Numbered, Number(1, whole=True)]


class ClickAt(_DecidedAction):
    """Click a place in a drawing, where there are no elements."""

    action: Literal["click_at"]
    x: Across
    y: Down


class HoverAt(_DecidedAction):
    """Point at a place, such as a row that shows its buttons only under the mouse."""

    action: Literal["hover_at"]
    x: Across
    y: Down


class DragAt(_DecidedAction):
    """Drag from one place in a drawing to another."""

    action: Literal["drag_at"]
    x: Across
    y: Down
    to_x: Annotated[float, Number(360)]
    to_y: Down


class GoBack(_DecidedAction):
    """Go back in the history."""

    action: Literal["go_back"]


class Done(_DecidedAction):
    """Nothing is left to do; with the data that the task asks for."""

    action: Literal["done"]
    # Any JSON is accepted, but services require a type in a schema.
    answer: Annotated[Any, Text()] = None


class Retry(_DecidedAction):
    """Look again, without doing anything."""

    action: Literal["retry"]


_OfSteps = (
    Click
    | Type
    | Select
    | Extract
    | Press
    | Scroll
    | DoubleClick
    | RightClick
    | Hover
    | Drag
    | Upload
    | ScrollIn
    | WaitFor
    | AnswerDialog
    | DismissDialog
    | ReadDownload
)
_NEAR = ("near", "to_near")
"""Fields that small models are asked for only where elements share their text."""
_InSteps = Annotated[_OfSteps | FillForm, Field(discriminator="action")]
"""Actions accepted within `steps`; models write forms there although the prompt offers none."""


class Steps(_DecidedAction):
    """Do several things on the elements of one picture, one after the other."""

    action: Literal["steps"]
    steps: Annotated[
        list[_InSteps],
        BeforeValidator(named_steps),
        Field(min_length=1, max_length=MAX_STEPS),
        Items(
            merged(map(_form_of, get_args(_OfSteps))),
            most=MAX_STEPS,
            shown=(example_of(_form_of(Click)), example_of(_form_of(Press))),
        ),
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
    | AnswerDialog
    | DismissDialog
    | ReadDownload
    | SwitchTab
    | ClickAt
    | HoverAt
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
_ACTIONS: TypeAdapter[Action] = TypeAdapter(
    Annotated[_OfAll | _OfCapable, Field(discriminator="action")], config=LATER
)
_FEW_ACTIONS: TypeAdapter[Action] = TypeAdapter(
    Annotated[_OfAll, Field(discriminator="action")], config=LATER
)
_MODELS: tuple[type[_DecidedAction], ...] = (*get_args(_OfAll), *get_args(_OfCapable))


def _names(models: Sequence[type[_DecidedAction]]) -> tuple[str, ...]:
    return tuple(str(get_args(model.model_fields["action"].annotation)[0]) for model in models)


ACTION_NAMES = _names(_MODELS)
FOR_CAPABLE = _names(get_args(_OfCapable))
"""Actions that small models are not offered: each lengthens the prompt, and measurements showed no
benefit from any."""


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


BRIEF = ("click", "type", "select", "press", "scroll", "done")
"""The actions that small models choose from."""

FORMS = {name: _form_of(model) for name, model in zip(ACTION_NAMES, _MODELS, strict=True)}
"""What a reply holds for each action."""


def _forms(answers: bool, without: Collection[str]) -> tuple[ReplyForm, ...]:
    """Return the forms of a decision, one for all actions that need the same.

    Args:
        answers: whether the task asks for data.
        without: actions that are not possible in this cell.
    """
    offered = (form for name, form in FORMS.items() if name not in without)
    return merged(form if answers else form.without("answer") for form in offered)


def _reply_form(answers: bool, without: Collection[str]) -> ReplyForm:
    # No action can be the last one while the answer is outstanding.
    last: dict[str, Kind] = {} if answers else {"last": Flag()}
    decision = Either(_forms(answers, without))
    return ReplyForm({"thinking": Text(), "decision": decision, **last, "confidence": Share()})


def decision_schema(*, answers: bool = True, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of a reply: the same in each turn of a cell.

    Services compile a schema and put it before the prompt. One that named the marks of the picture
    would be compiled anew, and keep the prompt out of the cache, in every turn.

    Args:
        answers: whether the task asks for data.
        without: actions that are not possible in this cell.
    """
    return schema_of(_reply_form(answers, without))


def forms_text(*, answers: bool = True, without: Collection[str] = ()) -> str:
    """Return an example of a reply for the prompt, and one for each form of its decision.

    The arguments are those of `decision_schema`.
    """
    example = example_of(_reply_form(answers, without)) | {"decision": ...}
    whole = ", ".join(
        f'"{name}": {"{…}" if value is ... else json.dumps(value, ensure_ascii=False)}'
        for name, value in example.items()
    )
    lines = ["{" + whole + "}", "The decision is one of:"]
    for form in _forms(answers, without):
        names = form.fields["action"]
        assert isinstance(names, Word), "merged forms offer words"
        others = f" (or {', '.join(names.words[1:])})" if len(names.words) > 1 else ""
        lines.append(json.dumps(example_of(form), ensure_ascii=False) + others)
    return "\n".join(lines)


def brief_forms_text(*, answers: bool = True, near: bool = False) -> str:
    """Return example replies for small models, one a line.

    Args:
        answers: whether the task asks for data.
        near: whether elements share their text.
    """
    left_out = (*(() if near else _NEAR), *(() if answers else ("answer",)))
    return examples_of(FORMS[name].without(*left_out) for name in FORMS if name in BRIEF)
