"""Replies of vision models: what is read from them, and that nothing is made up."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.locate.candidates import Rect
from pytest_autoweb.agents.locate.interview import (
    ANSWER_SCHEMA,
    form_of,
    read_reply,
    whole_form,
)
from pytest_autoweb.agents.locate.questions import Badge, PictureAnswer, PictureQuestion

BOX = Rect(10, 10, 50, 20)
BADGES = (Badge(1, BOX, 0), Badge(2, BOX, 1))
LINES = PictureQuestion(1, "both", x=100, y=200)
VERTICAL = PictureQuestion(1, "vertical", x=100)
COMBINED = PictureQuestion(1, "combined", x=100, y=200, badges=BADGES)
PICK = PictureQuestion(1, "pick", badges=BADGES)
LOOK = PictureQuestion(1, "look")

READ = [
    (LINES, '{"found": true, "v": "left", "h": "crossed"}', PictureAnswer(True, "left", "crossed")),
    (
        COMBINED,
        'I think so.\n```json\n{"found": true, "v": "right", "h": "below", "mark": 2,\n'
        '"text": " Sa\\nve "}\n```',
        PictureAnswer(True, "right", "below", 2, "Sa ve"),
    ),
    (
        LINES,
        '{"v": "to the left of V", "h": "completely below it"}',
        PictureAnswer(None, "left", "below"),
    ),
    (
        LINES,
        '{"发现": "是", "竖线": "左边", "横线": "穿过"}',
        PictureAnswer(True, "left", "crossed"),
    ),
    (LINES, "[竖线位置]\n右边\n[横线位置]\n上面\n", PictureAnswer(None, "right", "above")),
    (
        LINES,
        "First: left.\n[vertical line]\nright\n[Horizontal Line]: above",
        PictureAnswer(None, "right", "above"),
    ),
    (LINES, "V: left\nH: below", PictureAnswer(None, "left", "below")),
    (LINES, "**V**: left\n- h = above", PictureAnswer(None, "left", "above")),
    (LINES, '{"v": "未发现", "h": "未发现"}', PictureAnswer(False)),
    (LINES, '{"found": false, "v": null, "h": "", "text": ""}', PictureAnswer(False)),
    (LINES, '{"found": "未发现"}', PictureAnswer(False)),
    (VERTICAL, '{"found": true, "v": "crossed", "h": "nonsense"}', PictureAnswer(True, "crossed")),
    (PICK, '{"found": true, "mark": "2"}', PictureAnswer(True, mark=2)),
    (PICK, '{"mark": "none", "text": "Save"}', PictureAnswer(mark=0, text="Save")),
    (LOOK, '{"found": true, "text": "Save"}', PictureAnswer(True, text="Save")),
    (LOOK, '{"example": {"a": 1}} {"found": false}', PictureAnswer(False)),
]

REFUSED = [
    (LINES, "", "no JSON"),
    (LINES, "It is a nice page.", "no JSON"),
    (LINES, '{"found": true, "v": "left"}', '"h" is missing'),
    (LINES, '{"v": "left or right", "h": "above"}', '"v" is'),
    (LINES, '{"v": "middle", "h": "above"}', '"v" is'),
    (LINES, '{"found": false, "v": "left", "h": "above"}', "both"),
    (LINES, '{"v": "未发现", "h": "above"}', "both"),
    (LINES, '{"found": true, "v": "not found", "h": "not found"}', "both"),
    (COMBINED, '{"v": "left", "h": "above", "mark": 7}', "no number in the picture"),
    (PICK, '{"found": true, "mark": -1}', "no number"),
    (PICK, '{"found": true}', '"mark" is missing'),
    (LOOK, '{"text": "Save"}', '"found" is missing'),
]


@pytest.mark.parametrize(("question", "reply", "answer"), READ)
def test_what_a_reply_says_is_read(
    question: PictureQuestion, reply: str, answer: PictureAnswer
) -> None:
    assert read_reply(reply, question) == (answer, "")


@pytest.mark.parametrize(("question", "reply", "problem"), REFUSED)
def test_what_is_wrong_with_a_reply_is_named(
    question: PictureQuestion, reply: str, problem: str
) -> None:
    assert problem in read_reply(reply, question).problem


def test_one_readable_axis_is_kept_and_the_other_is_not_made_up() -> None:
    reading = read_reply('{"found": true, "v": "left", "h": "somewhere"}', LINES)

    assert (reading.answer.x, reading.answer.y) == ("left", None)
    assert read_reply('{"v": "left", "h": "not found"}', LINES).answer == PictureAnswer()


words = st.sampled_from(["left", "右", "crossed", "未发现", "", "up", "1", "[v]", "h:", "{", '"v"'])
loose = st.dictionaries(
    st.sampled_from(["v", "h", "mark", "found", "竖线", "text", "other"]),
    st.one_of(words, st.booleans(), st.none(), st.integers(), st.lists(words), st.floats()),
)


@given(
    st.one_of(st.text(), st.lists(words).map("\n".join), loose.map(json.dumps)),
    st.sampled_from([LINES, VERTICAL, COMBINED, PICK, LOOK]),
)
def test_any_reply_gives_an_answer_to_the_question_or_a_problem(
    reply: str, question: PictureQuestion
) -> None:
    answer, problem = read_reply(reply, question)

    assert question.x is not None or answer.x is None
    assert question.y is not None or answer.y is None
    assert answer.mark is None or answer.mark in {0, *(badge.number for badge in question.badges)}
    if answer.visible is False:
        assert (answer.x, answer.y, answer.mark, problem) == (None, None, None, "")
    if not problem and answer.visible is not False:
        assert (answer.x is None) == (question.x is None)
        assert (answer.y is None) == (question.y is None)
        assert (answer.mark is None) == (not question.badges)


@pytest.mark.parametrize("question", [LINES, VERTICAL, COMBINED, PICK, LOOK])
def test_the_form_asks_for_what_is_read(question: PictureQuestion) -> None:
    form = form_of(question).replace("true|false", "true").replace("number", "1")
    for options, first in (("left|right|crossed", "left"), ("above|below|crossed", "above")):
        form = form.replace(options, first)

    assert read_reply(form, question).problem == ""


@pytest.mark.parametrize("question", [LINES, VERTICAL, COMBINED, PICK, LOOK])
@pytest.mark.parametrize("found", [True, False])
def test_an_answer_that_the_schema_admits_is_read_whatever_was_asked(
    question: PictureQuestion, found: bool
) -> None:
    answer = {
        "found": found,
        "v": "left" if found and question.x is not None else "none",
        "h": "above" if found and question.y is not None else "none",
        "mark": question.badges[0].number if found and question.badges else 0,
        "text": "",
    }
    jsonschema.validate(answer, ANSWER_SCHEMA)

    answered, problem = read_reply(json.dumps(answer), question)

    assert problem == ""
    assert answered.visible is found
    assert all(f'"{name}": ' in whole_form() for name in answer)
