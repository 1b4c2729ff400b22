"""A task cut into its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.correction.task_parts import MOST_PARTS, task_parts


@pytest.mark.parametrize(
    ("task", "parts"),
    [
        ("Buy one.", ["Buy one."]),
        ("Click on Save and close the dialog.", ["Click on Save", "and close the dialog."]),
        (
            "Close the issues of Ana that have no milestone, then set it to v4.2. Finally log out.",
            [
                "Close the issues of Ana that have no milestone,",
                "then set it to v4.2.",
                "Finally log out.",
            ],
        ),
        (
            'Open order No. 147, refund $3.50 (e.g. by card. Or so), and write "Done. And go".',
            [
                "Open order No. 147,",
                "refund $3.50 (e.g. by card. Or so),",
                'and write "Done. And go".',
            ],
        ),
        ("Buy red, green and blue pens.", ["Buy red, green and blue pens."]),
        ("Set it to high but don't save it.", ["Set it to high", "but don't save it."]),
        (
            "1. Open the list\n2. Delete row 3.\n- Log out",
            ["1. Open the list", "2. Delete row 3.", "- Log out"],
        ),
        ("Wrap this\nsentence at will", ["Wrap this\nsentence at will"]),
        (
            "Go to http://x.test/a?b=1.c!d. Then read it",
            ["Go to http://x.test/a?b=1.c!d.", "Then read it"],
        ),
        ("Type 'don't. stop' and submit", ["Type 'don't. stop'", "and submit"]),
        ("Log in with <secret:p.and q> and go on", ["Log in with <secret:p.and q>", "and go on"]),
        (
            "打开订单页面，删除第一条并返回总数。然后退出登录！",
            ["打开订单页面，", "删除第一条", "并返回总数。", "然后退出登录！"],
        ),
        ("把状态改为“已完成。好，行”，并保存", ["把状态改为“已完成。好，行”，", "并保存"]),
        ("合并账单、发票和收据", ["合并账单、发票和收据"]),
        ("Delete it!!! Really?! Yes.", ["Delete it!!!", "Really?!", "Yes."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_and_steps_are_parts_and_quoted_texts_stay_whole(
    task: str, parts: list[str]
) -> None:
    assert list(task_parts(task)) == parts


PIECES = st.sampled_from(
    ["Open", " and ", " then ", "save", ", ", ". ", "。", "，", "\n", "\n- ", "\"", "“", "”", "(",
     ")", "然后", "并返回", "1.5", "e.g. ", "http://a.b/c. ", "!", "'", "<", " ", "x", "；"]
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join)))
def test_nothing_of_a_task_is_lost_or_told_twice(task: str) -> None:
    parts = task_parts(task)

    assert "".join("".join(parts).split()) == "".join(task.split())
    assert all(part and part == part.strip() for part in parts)
    assert len(parts) <= MOST_PARTS
    assert task_parts(task) == parts


@given(st.lists(st.sampled_from(["open it", "save it", "log out"]), min_size=1, max_size=9))
def test_each_sentence_is_a_part(sentences: list[str]) -> None:
    assert task_parts(". ".join(sentences) + ".") == tuple(f"{one}." for one in sentences)


@pytest.mark.parametrize(
    "text", ["(" * 20_000, '"' * 20_001, "a. " * 9_000, "\n" * 20_000, "，" * 20_000]
)
def test_a_long_task_takes_no_long_time(text: str) -> None:
    assert len(task_parts(text)) <= MOST_PARTS
