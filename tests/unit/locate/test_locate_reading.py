"""Replies of vision models: what is read from them, and that nothing is made up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.locate.question import Answer, Badge, Box, Question
from pytest_autoweb.locate.reading import form_of, read_reply

BOX = Box(10, 10, 50, 20)
BADGES = (Badge(1, BOX, 0), Badge(2, BOX, 1))
LINES = Question(1, "both", x=100, y=200)
VERTICAL = Question(1, "vertical", x=100)
COMBINED = Question(1, "combined", x=100, y=200, badges=BADGES)
PICK = Question(1, "pick", badges=BADGES)
LOOK = Question(1, "look")

READ = [
    (LINES, '{"found": true, "v": "left", "h": "crossed"}', Answer(True, "left", "crossed")),
    (
        COMBINED,
        'I think so.\n```json\n{"found": true, "v": "right", "h": "below", "mark": 2,\n'
        '"text": " Sa\\nve "}\n```',
        Answer(True, "right", "below", 2, "Sa ve"),
    ),
    (LINES, '{"v": "to the left of V", "h": "completely below it"}', Answer(None, "left", "below")),
    (LINES, '{"发现": "是", "竖线": "左边", "横线": "穿过"}', Answer(True, "left", "crossed")),
    (LINES, "[竖线位置]\n右边\n[横线位置]\n上面\n", Answer(None, "right", "above")),
    (
        LINES,
        "First: left.\n[vertical line]\nright\n[Horizontal Line]: above",
        Answer(None, "right", "above"),
    ),
    (LINES, "V: left\nH: below", Answer(None, "left", "below")),
    (LINES, "**V**: left\n- h = above", Answer(None, "left", "above")),
    (LINES, '{"v": "未发现", "h": "未发现"}', Answer(False)),
    (LINES, '{"found": false, "v": null, "h": "", "text": ""}', Answer(False)),
    (LINES, '{"found": "未发现"}', Answer(False)),
    (VERTICAL, '{"found": true, "v": "crossed", "h": "nonsense"}', Answer(True, "crossed")),
    (PICK, '{"found": true, "mark": "2"}', Answer(True, mark=2)),
    (PICK, '{"mark": "none", "text": "Save"}', Answer(mark=0, text="Save")),
    (LOOK, '{"found": true, "text": "Save"}', Answer(True, text="Save")),
    (LOOK, '{"example": {"a": 1}} {"found": false}', Answer(False)),
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
def test_what_a_reply_says_is_read(question: Question, reply: str, answer: Answer) -> None:
    assert read_reply(reply, question) == (answer, "")


@pytest.mark.parametrize(("question", "reply", "problem"), REFUSED)
def test_what_is_wrong_with_a_reply_is_named(question: Question, reply: str, problem: str) -> None:
    assert problem in read_reply(reply, question).problem


def test_one_readable_axis_is_kept_and_the_other_is_not_made_up() -> None:
    reading = read_reply('{"found": true, "v": "left", "h": "somewhere"}', LINES)

    assert (reading.answer.x, reading.answer.y) == ("left", None)
    assert read_reply('{"v": "left", "h": "not found"}', LINES).answer == Answer()


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
    reply: str, question: Question
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
def test_the_form_asks_for_what_is_read(question: Question) -> None:
    form = form_of(question).replace("true|false", "true").replace("number", "1")
    for options, first in (("left|right|crossed", "left"), ("above|below|crossed", "above")):
        form = form.replace(options, first)

    assert read_reply(form, question).problem == ""
