"""What a turn's reply says, and what is kept of a turn that ended in an error."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.agents.codegen.script_turns import as_it_ran, read_turn

CODE = 'page.get_by_role("button", name="Save").click()'


@pytest.mark.parametrize(
    ("reply", "words", "code", "done"),
    [
        (f"I save.\n```python\n{CODE}\n```", "I save.", CODE, False),
        (f"```py\n{CODE}\n```\nDONE", "", CODE, True),
        (f"```\n{CODE}\n```\n\n**DONE.**\n", "", CODE, True),
        (f"保存。\n~~~python\n{CODE}\n~~~\n已完成", "保存。", CODE, True),
        ("DONE", "", "", True),
        ("Everything is saved.\ndone", "Everything is saved.", "", True),
        (CODE, "", CODE, False),
        ("I am not done: the list is still loading.", None, "", False),
        ("", "", "", False),
        (f"<think>DONE\n```python\n1\n```</think>```python\n{CODE}\n```", "", CODE, False),
        (f"```python\n# Step 3: save\n{CODE}\n```", "", CODE, False),
        (f"```python\n# 步骤 2\n{CODE}\n# DONE\n```", "", f"{CODE}\n# DONE", False),
        (f"Cut off\n```python\n{CODE}", "Cut off", CODE, False),
    ],
)
def test_a_reply_is_words_code_and_whether_it_ends(
    reply: str, words: str | None, code: str, done: bool
) -> None:
    read = read_turn(reply)

    assert (read.code, read.done) == (code, done)
    assert words is None or read.words == words


@given(st.text())
def test_no_reply_is_too_wild(reply: str) -> None:
    read = read_turn(reply)

    assert isinstance(read.code, str)
    assert not read.code.startswith("\n")


BLOCK = """# Step 2
a = 1
for i in range(3):
    page.click(i)
    page.press(i)
text = '''one
# Step 9
two'''
"""


@pytest.mark.parametrize(("line", "kept"), [(1, 1), (2, 1), (3, 2), (5, 2), (6, 5), (8, 5)])
def test_only_statements_that_ended_before_the_error_stay(line: int, kept: int) -> None:
    lines, before = as_it_ran(BLOCK, line).splitlines(), BLOCK.splitlines()

    assert lines[:kept] == before[:kept]
    assert all(
        now == f"#| {was}".rstrip() for now, was in zip(lines[kept:], before[kept:], strict=True)
    )


def test_code_that_is_no_python_is_all_comment() -> None:
    assert as_it_ran("# Step 1\npage.click(\n\nx\n", 2) == "# Step 1\n#| page.click(\n#|\n#| x\n"


@given(
    st.integers(1, 9),
    st.lists(
        st.sampled_from(["a = 1", "if a:\n    b = 2", "", "x(", "# Step 9", "Step 9:"]), max_size=5
    ),
)
def test_what_is_kept_is_python_with_as_many_lines(line: int, parts: list[str]) -> None:
    block = "\n".join(["# Step 1", *parts]) + "\n"

    kept = as_it_ran(block, line)

    ast.parse(kept)
    if "# Step 9" not in parts:
        assert list(split_blocks(kept).by_step) == [1]
    assert kept.count("\n") == block.count("\n")
