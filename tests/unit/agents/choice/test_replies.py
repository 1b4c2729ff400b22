"""Replies that a person reads at once: nearly JSON, several decisions, reasoning before them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.choice.decision_json import ReplyProblem, read_decisions, read_object
from pytest_autoweb.models.replies import whole_object

NEXT = {"action": "click", "mark_id": 5, "expected_text": "Next"}
SLIPS = {
    "fence": '```json\n{"action":"click","mark_id":5,"expected_text":"Next"}\n```',
    "trailing comma": '{"action":"click","mark_id":5,"expected_text":"Next",}',
    "single quotes": "{'action':'click','mark_id':5,'expected_text':'Next'}",
    "comment": '{"action":"click", // press\n"mark_id":5,"expected_text":"Next"}',
    "smart quotes": "{“action”:“click”,“mark_id”:5,“expected_text”:“Next”}",
    "double braces": '{{"action":"click","mark_id":5,"expected_text":"Next"}}',
    "last brace": '{"action":"click","mark_id":5,"expected_text":"Next"',
    "words around": 'I press it.\n{"action":"click","mark_id":5,"expected_text":"Next"}\nDone.',
    "reasoning": '<think>{"action":"done"}</think>{"action":"click","mark_id":5,'
    '"expected_text":"Next"}',
}
REPAIRED = {
    "no quotes at keys": '{action: "click", mark_id: 5, expected_text: "Next"}',
    "no comma": '{"action":"click" "mark_id":5, "expected_text":"Next"}',
    "no closing quote": '{"action":"click","mark_id":5,"expected_text":"Next}',
    "leading zero": '{"action":"click","mark_id":05,"expected_text":"Next"}',
    "no quotes at a value": '{"action":click,"mark_id":5,"expected_text":"Next"}',
    "semicolons": '{"action":"click";"mark_id":5;"expected_text":"Next"}',
    "an ellipsis": '{"action":"click","mark_id":5,"expected_text":"Next", ...}',
    "escaped": '{\\"action\\":\\"click\\",\\"mark_id\\":5,\\"expected_text\\":\\"Next\\"}',
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_usual_slip_is_read(slip: str) -> None:
    assert read_decisions(SLIPS[slip]) == ((NEXT,), False)


@pytest.mark.parametrize("slip", REPAIRED)
def test_what_is_nearly_json_is_repaired_and_says_so(slip: str) -> None:
    assert read_decisions(REPAIRED[slip]) == ((NEXT,), True)


@pytest.mark.parametrize(
    "words",
    [
        "I cannot find a Next button on this page.",
        "The set {1, 2, 3} of results is empty.",
        "Run `function f() { return 5 }` to see.",
        "1. Click [5]\n2. Then wait",
        "{note: the action is unclear}",
    ],
)
def test_words_are_no_decision(words: str) -> None:
    with pytest.raises(ReplyProblem, match="no JSON object"):
        read_decisions(words)


CUT = '{"action":"steps","steps":[{"action":"click","mark_id":1,"expected_text":"a"},{"act'


def test_what_was_cut_off_within_a_list_is_not_read_as_its_part() -> None:
    (decision,), repaired = read_decisions(CUT)

    assert (decision["action"], repaired) == ("steps", True)
    assert whole_object(CUT) == ""
    assert whole_object('{"a": [1]} and then {"b"') != ""


@pytest.mark.parametrize(
    "reply",
    [
        '[{"action":"click","mark_id":2},{"action":"click","mark_id":3}]',
        '{"action":"click","mark_id":2}{"action":"click","mark_id":3}',
        '{"action":"click","mark_id":2},\n{"action":"click","mark_id":3}',
        '```json\n{"action":"click","mark_id":2}\n```\n```json\n{"action":"click","mark_id":3}\n```',
        '1. {"action":"click","mark_id":2}\n2. {"action":"click","mark_id":3}',
        '- {"action":"click","mark_id":2}\n- {"action":"click","mark_id":3}',
        'First: {"action":"click","mark_id":2}\n**Then:** {"action":"click","mark_id":3}',
        '{"action":"click","mark_id":2}\n\nStep 2: {"action":"click","mark_id":3}',
    ],
)
def test_decisions_that_follow_one_another_all_count(reply: str) -> None:
    assert [fields["mark_id"] for fields in read_decisions(reply).fields] == [2, 3]


def test_of_decisions_with_words_between_the_last_counts() -> None:
    reply = '{"action":"click","mark_id":2} No, wait: {"action":"click","mark_id":3}'

    assert [fields["mark_id"] for fields in read_decisions(reply).fields] == [3]


def test_long_thinking_and_tags_in_a_text_are_read() -> None:
    long = f'{{"thinking": "{"x" * 25_000}", "action": "click", "mark_id": 5}}'
    typed = '{"action": "type", "mark_id": 1, "text": "<think>slow</think>"}'

    assert read_object(long)["mark_id"] == 5
    assert read_object(typed)["text"] == "<think>slow</think>"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.text(max_size=200), st.text(alphabet='{}[]":,a1 \n\\', max_size=300), JSON)
def test_no_reply_breaks_the_reader(words: str, odd: str, value: Any) -> None:
    for reply in (words, odd, f"{words}{value!r}{odd}"):
        try:
            fields = read_decisions(reply).fields
        except ReplyProblem:
            continue
        assert all(isinstance(one, dict) for one in fields)
