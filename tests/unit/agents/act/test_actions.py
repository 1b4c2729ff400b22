"""Decisions are read in the forms in which models write them, and held to their schema."""

import json
from contextlib import suppress

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.act.actions import (
    ACTION_NAMES,
    Steps,
    brief_forms_text,
    decision_schema,
    forms_text,
    validate_action,
)
from pytest_autoweb.agents.act.translate import Details, code_of, describe_action
from pytest_autoweb.agents.choice.decision_json import (
    ReplyProblem,
    confidence_of,
    read_choices,
    read_object,
)
from pytest_autoweb.sandbox.lint import lint_code

CLICK = {"action": "click", "expected_text": "下一页", "mark_id": 5}

CLICKS = [
    '{"thinking":"a","action":"click","mark_id":5,"expected_text":"下一页"}',
    'Sure!\n```json\n{"action":"click","mark_id":5,"expected_text":"下一页",}\n```\nDone.',
    '{"action":"click", // the pager\n "mark_id":5, /* five */ "expected_text":"下一页"}',
    "{'action': 'click', 'mark': '5', 'expected_text': '下一页'}",
    "{“action”：“click”，“mark_id”：5，“expected_text”：“下一页”}",
    '{"动作":"点击","编号":"[5]","期望文本":"下一页"}',
    '{"action":"click","mark_id_text_map":{"5":"下一页"}}',
    '{"decision":{"action":"CLICK","mark_id":5.0,"target_text":"下一页"}}',
    '<think>{"action":"done"}</think>{"action":"click","id":"#5","expected_text":"下一页"}',
    'The {first} try: {"action":"click","mark_id":5,"expected_text":"下一页"',
    '{"action":"click","mark_id":5,"expected_text":"下一页","confidence":null}',
    '{"action":"click","mark_id":5,"expected_text":"下一页","confidence":"fairly sure"}',
]


@pytest.mark.parametrize("reply", CLICKS)
def test_one_click_in_many_writings(reply: str) -> None:
    action = validate_action(read_object(reply))

    assert action.model_dump(include=set(CLICK)) == CLICK


BAD = [
    ("I would click Next.", "no JSON object"),
    ('{"action":"fly","mark_id":5}', "'fly' is no action; allowed: click"),
    ('{"mark_id":5}', "names no action"),
    ('{"action":"click","mark_id":5}', "click needs expected_text"),
    ('{"action":"click","expected_text":"x"}', "click needs mark_id"),
    ('{"action":"click","mark_id":"the blue one","expected_text":"x"}', "no mark's number"),
    ('{"action":"type","mark_id":5,"expected_text":"x"}', "type needs text"),
    ('{"action":"navigate"}', "navigate needs url"),
    ("[" * 5000, "no JSON object"),
]


@pytest.mark.parametrize(("reply", "why"), BAD)
def test_what_is_wrong_is_said(reply: str, why: str) -> None:
    with pytest.raises(ReplyProblem, match=r".*") as caught:
        validate_action(read_object(reply))

    assert why in str(caught.value)


@given(st.text(max_size=200))
@pytest.mark.long
def test_no_reply_is_too_wild_to_be_read(reply: str) -> None:
    with suppress(ReplyProblem):
        validate_action(read_object("{" + reply))


def test_lists_of_unequal_length_are_an_error_and_maps_need_none() -> None:
    with pytest.raises(ReplyProblem, match="2 mark_ids but 1 expected_texts"):
        read_choices({"mark_ids": [1, 2], "expected_texts": ["a"]})

    assert read_choices({"mark_ids": ["1", 2], "expected_texts": ["a", None]}) == (
        (1, "a", ""),
        (2, "", ""),
    )
    assert read_choices({"mark_id_text_map": {"40": "title"}}) == ((40, "title", ""),)


@pytest.mark.parametrize(
    ("said", "meant"),
    [(0.9, 0.9), ("90%", 0.9), (90, 0.9), ("high", 0.9), ("?", None), (-1, None), (True, None)],
)
def test_confidence_in_many_writings(said: object, meant: float | None) -> None:
    assert confidence_of(said) == meant


@pytest.mark.parametrize("answers", [True, False])
def test_the_forms_of_the_prompt_fit_the_schema_and_the_validator(answers: bool) -> None:
    schema = decision_schema(answers=answers)
    whole, _, *forms = forms_text(answers=answers).splitlines()

    offered = set()
    for line in forms:
        form, _, others = line.partition(" (or ")
        for action in (json.loads(form)["action"], *filter(None, others.strip(")").split(", "))):
            reply = whole.replace("{…}", json.dumps({**json.loads(form), "action": action}))
            jsonschema.validate(json.loads(reply), schema)
            assert validate_action(read_object(reply)).action == action
            offered.add(action)
    assert offered == set(ACTION_NAMES)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"decision": CLICK}, schema)


def test_small_models_are_shown_forms_that_the_validator_accepts() -> None:
    for line in brief_forms_text(near=True).splitlines():
        validate_action(read_object(line), small=True)


def test_the_schema_is_small_and_names_no_marks() -> None:
    assert len(json.dumps(decision_schema(answers=False))) < 7_600
    assert '"mark_id": {"type": "integer"}' in json.dumps(decision_schema())


SHOWN = {"mark_id": 3, "expected_text": "A", "near": "B"}


@pytest.mark.parametrize(
    ("fields", "code", "line"),
    [
        ({"action": "双击", **SHOWN}, ".dblclick(timeout=5000)", 'double click "A" near "B"'),
        ({"action": "hover", **SHOWN}, ".hover(timeout=5000)", 'hover "A" near "B"'),
        ({"action": "contextmenu", **SHOWN}, '.click(button="right"', 'right click "A" near "B"'),
        (
            {"action": "drag_to", **SHOWN, "target": "[4]", "to_text": "C"},
            '.drag_to(page.get_by_mark(4, expected_text="C")',
            'drag "A" near "B" to "C"',
        ),
        (
            {"action": "upload", **SHOWN, "filename": "a.txt"},
            '.set_input_files("a.txt"',
            'upload "a.txt" to "A" near "B"',
        ),
        ({"action": "scroll_in", **SHOWN}, "wheel(0, 300)", 'scroll down around "A" near "B"'),
        ({"action": "wait_for", "text": "x"}, '"x").first.wait_for(', 'wait for "x"'),
        ({"action": "switch_tab", "tab": "2"}, "page.context.pages[1].bring", "go to tab 2"),
        ({"action": "press", "key": "ctrl+shift+k"}, '"Control+Shift+k"', "press ctrl+shift+k"),
        ({"action": "press", "key": "cmd++"}, '"Meta++"', "press cmd++"),
        ({"action": "press", "key": "esc"}, '"Escape"', "press esc"),
        ({"action": "press", "key": "+"}, '"+"', "press +"),
        ({"action": "click_at", "x": 10, "y": 20}, "mouse.click(5, 10)", "click at 10, 20"),
        (
            {"action": "drag_at", "x": 10, "y": 20, "to_x": 30, "to_y": 40},
            "page.mouse.move(15, 20, steps=8)",
            "drag from 10, 20 to 30, 40",
        ),
    ],
)
def test_what_capable_models_decide_is_code_of_the_step_language(
    fields: dict[str, object], code: str, line: str
) -> None:
    action = validate_action(read_object(json.dumps(fields)))

    written = code_of(action, 3, Details(target=4, scale=2.0))
    assert code in written
    assert describe_action(action) == line
    assert lint_code(written, offered=frozenset({"get_by_mark"})) == ()


def test_small_models_have_the_actions_that_they_had() -> None:
    with pytest.raises(ReplyProblem) as caught:
        validate_action({"action": "hover", **SHOWN}, small=True)

    assert str(caught.value) == (
        "'hover' is no action; allowed: click, type, select, fill_form, extract, press, scroll, "
        "navigate, wait, go_back, done, retry"
    )


def test_a_form_among_several_steps_is_taken_apart() -> None:
    fields = [{"expected_text": "A", "mark_id": 1, "text": "x"}] * 2
    steps = [{"action": "fill_form", "fields": fields}, {"action": "press", "key": "Enter"}]
    several = validate_action({"action": "steps", "steps": steps, "last": True, "confidence": 0.9})
    assert isinstance(several, Steps)

    made = several.actions(())

    assert [(one.action, one.last) for one in made] == [
        ("type", False),
        ("type", False),
        ("press", True),
    ]
    with pytest.raises(ReplyProblem, match=r"'fly' is no action of steps; allowed there: click"):
        validate_action({"action": "steps", "steps": [{"action": "fly"}]})


def test_a_step_of_several_that_is_wrong_is_named() -> None:
    steps = [{"action": "click", **SHOWN}, {"action": "done"}]

    with pytest.raises(ReplyProblem, match="steps"):
        validate_action({"action": "steps", "steps": steps})


@given(st.text(max_size=50), st.text(max_size=50))
def test_any_action_is_code_that_the_sandbox_lets_run(expected: str, typed: str) -> None:
    fields = {"action": "type", "mark_id": 3, "expected_text": expected, "text": typed}
    action = validate_action(fields)

    assert lint_code(code_of(action, 3), offered=frozenset({"get_by_mark"})) == ()
    assert "\n" not in describe_action(action)
