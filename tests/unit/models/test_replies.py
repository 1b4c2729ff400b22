import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.codegen.generate import extract_code
from pytest_autoweb.agents.codegen.script_turns import read_turn, unread_code
from pytest_autoweb.models.replies import (
    closed_block,
    heading_number,
    parse_plan,
    strip_reasoning,
    whole_lines,
    whole_object,
)
from pytest_autoweb.models.reply_blocks import holds_calls, split_fences

PLAN = """Here is my plan.
/*
PLAN_START
Step 1: Open the login page
- Description: Open the login page
- Target URL: http://shop/login
- Entry Point Action: Direct URL
- Status: CONFIRMED
**步骤 ２：** 填写表单
- 目标URL： CURRENT_PAGE
- 状态：CONFIRMED
PLAN_END
*/
Good luck."""


def test_a_plan_is_read_with_its_fields_whatever_surrounds_it() -> None:
    plan = parse_plan(PLAN)

    assert [s.index for s in plan.steps] == [1, 2]
    assert plan.steps[0].target_url == "http://shop/login"
    assert plan.steps[0].entry_action == "Direct URL"
    assert plan.steps[1].description == "填写表单"
    assert plan.confirmed
    assert not plan.has_question


@pytest.mark.parametrize(
    "heading",
    ["Step 3: go", "// Step 3 - go", "# 步骤 3：go", "第３步 go", "* **Step 3:** go", "PART 3 go",
     "第三步：go", "步骤三：go", "步骤 三 go"],
)  # fmt: skip
def test_headings_of_both_languages_give_the_number(heading: str) -> None:
    assert heading_number(heading) == 3


@pytest.mark.parametrize("line", ["stepping 3 back", "the step 3", "Step", "page.click('Step 1')"])
def test_prose_is_no_heading(line: str) -> None:
    assert heading_number(line) is None


def test_a_question_after_the_plan_is_seen_and_unconfirms_it() -> None:
    plan = parse_plan(PLAN + "\nQUESTION: which account?")

    assert plan.has_question
    assert plan.question == "which account?"
    assert not plan.confirmed


@pytest.mark.parametrize(
    "asked",
    [
        "QUESTION:\nwhich account?",
        "Questions:\n\n1. which account?\n2. when?",
        "提问：\nwhich account?",
        "## Question\n- which account?",
        "**Questions**\nwhich account?",
        "Question 1: which account?",
    ],
)
def test_a_question_may_stand_on_the_next_line(asked: str) -> None:
    assert parse_plan(f"{PLAN}\n{asked}").question == "which account?"
    assert parse_plan(f"{asked}\n\n{PLAN}").question == "which account?"


@pytest.mark.parametrize(
    "nothing", ["QUESTION:\n", "QUESTION:\nnone", "## Questions\nN/A", "Questions:\nPLAN_END"]
)
def test_a_title_without_a_question_asks_nothing(nothing: str) -> None:
    assert not parse_plan(f"{PLAN}\n{nothing}").has_question


def test_question_none_is_no_question() -> None:
    assert not parse_plan(PLAN + "\nQUESTION: none").has_question


@pytest.mark.parametrize("status", ["", "- Status: UNKNOWN", "- Status: maybe", "- Status:"])
def test_a_missing_or_odd_status_is_unknown(status: str) -> None:
    plan = parse_plan(f"PLAN_START\nStep 1: x\n{status}\nPLAN_END")

    assert plan.steps[0].status == "UNKNOWN"
    assert not plan.confirmed


def test_reasoning_is_never_read_as_plan() -> None:
    plan = parse_plan("<think>Step 1: wrong\nQUESTION: eh?</think>Step 2: right\nStatus: CONFIRMED")

    assert [s.index for s in plan.steps] == [2]
    assert plan.confirmed
    assert strip_reasoning("<think>never closed Step 1: x") == ""
    assert strip_reasoning("opened elsewhere</think>rest") == "rest"


def test_a_numbered_list_is_a_plan_of_last_resort() -> None:
    plan = parse_plan("1. Click Login\n2. Fill the form")

    assert [s.description for s in plan.steps] == ["Click Login", "Fill the form"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\npage.click('a')\n```", "page.click('a')"),
        ("Sure!\n```py\n# Step 1\na()\n```\nthen\n```python\n# Step 2\nb()\n```",
         "# Step 1\na()\n\n# Step 2\nb()"),
        ("```\nx()\n```\nexplained\n```\nlonger_call()\n```", "x()\n\nlonger_call()"),
        ("Draft:\n```\nx()\n```\nBetter:\n```\nx()\ny()\n```", "x()\ny()"),
        ("```\nx()\n```\nAgain:\n```\nx()\n```", "x()"),
        ("```\npage.a()\n```\nin full:\n```python\nb()\n```", "b()"),
        ("```python\r\na()\r\nb()\r\n```\r\nDONE\r\n", "a()\nb()"),
        ("```python\ra()\r```", "a()"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''"),
        ('~~~python title="a.py"\na()\n~~~~', "a()"),
        ("1. First:\n   ```python\n   a()\n     .b()\n   ```", "a()\n  .b()"),
        ("```{python}\na()\n```", "a()"),
        ("```tool_code\na()\n```", "a()"),
        ("```Python3\na()\n```", "a()"),
        ("```pycon\n>>> a()\n'said'\n>>> for x in y:\n...     b(x)\n```",
         "a()\nfor x in y:\n    b(x)"),
        ("<code>\na()\n</code>\nDONE", "a()"),
        ('```python\na("<think>slow</think>")\n```', 'a("<think>slow</think>")'),
        ('```python\na("</think>")\n```', 'a("</think>")'),
        ('```python\na("<thought>")\nb()\n```', 'a("<thought>")\nb()'),
        ("```python\nnever_closed()", "never_closed()"),
        ("# Step 1\nbare()", "# Step 1\nbare()"),
        ("/* PLAN_START\nStep 1: x\nPLAN_END */\n# Step 1\ny()", "# Step 1\ny()"),
        ("<think>```python\nno()\n```</think>```python\nyes()\n```", "yes()"),
        ("```python\n<<code 670b46bf>>\nc()\n<<end code 670b46bf>>\n```", "c()"),
        ("```json\n{}\n```\n```python\nz()\n```", "z()"),
        ("Sure:\n# Step 1\npage.click('a')\n\n# Step 2\npage.click('b')\nThat is all.",
         "# Step 1\npage.click('a')\n# Step 2\npage.click('b')"),
    ],
)  # fmt: skip
def test_code_is_found_in_fences_and_in_bare_replies(reply: str, code: str) -> None:
    assert extract_code(reply) == code


@pytest.mark.parametrize(
    ("reply", "code", "done"),
    [
        ("Now I press it.\npage.click('a')\nDONE", "page.click('a')", True),
        ("The answer is 12.\nanswer(12)\nDONE", "answer(12)", True),
        ("answer(12)", "answer(12)", False),
        ("`page.click('a')`\nDONE", "page.click('a')", True),
        ("I will:\nfor x in page.locator('a').all():\n    x.click()\n\nThat is all.",
         "for x in page.locator('a').all():\n    x.click()", False),
        ("page.get_by_role(\n    'button'\n).click()\nDONE",
         "page.get_by_role(\n    'button'\n).click()", True),
        ("All done: the order is placed.\nDONE", "", True),
        ("I used page.click before, so nothing is left.\nDONE", "", True),
        ("x = 5\nDONE", "", True),
        ("- page.click('a')\n- page.click('b')\nDONE", "page.click('a')\npage.click('b')", True),
        ("* page.click('a')\nDONE", "page.click('a')", True),
        ("1. page.click('a')\n2. answer(5)\nDONE", "page.click('a')\nanswer(5)", True),
        ("Now I press it: page.click('a')\nDONE", "page.click('a')", True),
        ("Next: `page.click('a')`\nDONE", "page.click('a')", True),
        ("Go:\nif page.url:\n    page.click('a')\nelse:\n    page.click('b')\nDONE",
         "if page.url:\n    page.click('a')\nelse:\n    page.click('b')", True),
        ("Go:\nwith page.expect_popup() as tab:\n    page.click('a')\n\ntab.value.click('b')\nDONE",
         "with page.expect_popup() as tab:\n    page.click('a')\ntab.value.click('b')", True),
        ("Go:\ndef press(name):\n    page.click(name)\npress('a')\nDONE",
         "def press(name):\n    page.click(name)\npress('a')", True),
        ("Go:\nif page.url: page.click('a')\nDONE", "if page.url: page.click('a')", True),
        ("Go:\npage.click(\n    'a',\n)\nDONE", "page.click(\n    'a',\n)", True),
        ("page.fill('a', '</think>')\nDONE", "page.fill('a', '</think>')", True),
        ('page.fill("a", """\n</think>\n""")\nDONE', 'page.fill("a", """\n</think>\n""")', True),
        ("I don't know.</think>page.click('a')\nDONE", "page.click('a')", True),
        ("{\"code\": \"page.click('a')\"}", "", False),
    ],
)  # fmt: skip
def test_code_without_a_fence_is_read_by_turns(reply: str, code: str, done: bool) -> None:
    said = read_turn(reply)

    assert (said.code, said.done) == (code, done)


@pytest.mark.parametrize(
    "reply",
    [
        "\ufeff```python\npage.click('a')\n```\nDONE",
        "```python page.click('a')```\nDONE",
        "Here: ```python\npage.click('a')\n```\nDONE",
        "```python\npage.click('a')```\nDONE",
        "```python\npage.click('a')\n``` DONE",
        "<|message|>```python\npage.click('a')\n```\nDONE",
        "> ```python\n> page.click('a')\n> ```\nDONE",
        "- ```python\n  page.click('a')\n  ```\nDONE",
        "```python\npage.click('a')\nDONE\n```",
        "```python-repl\n>>> page.click('a')\n```\nDONE",
        "```python3.11\npage.click('a')\n```\nDONE",
        "```playwright-python\npage.click('a')\n```\nDONE",
        "I pressed <code>Save</code>:\npage.click('a')\nDONE",
        "The page says:\n```\nOrder 12 was saved\n```\n```python\npage.click('a')\n```\nDONE",
        "The page says:\n```\nSaved\n```\npage.click('a')\nDONE",
    ],
)
def test_a_reply_that_a_person_reads_at_once_is_code_and_an_end(reply: str) -> None:
    said = read_turn(reply)

    assert (said.code, said.done) == ("page.click('a')", True)


@pytest.mark.parametrize("words", ["I run `page.click('a')` now.", "It is `answer(12)`.",
                                   "const b = page.getByRole('button');"])  # fmt: skip
def test_a_call_within_a_sentence_is_no_silent_end(words: str) -> None:
    unread = unread_code(read_turn(f"{words}\nDONE"))

    assert unread is not None
    assert (unread.ends, unread.may_end) == (False, True)


@pytest.mark.parametrize(
    "words", ["All is saved.", "I used page.click before.", "Total: 12 (of 30)", "```\nSaved\n```"]
)
def test_words_alone_are_an_end(words: str) -> None:
    said = read_turn(f"{words}\nDONE")

    assert (said.code, said.done, unread_code(said)) == ("", True, None)


@pytest.mark.parametrize("words", ["1. e1.fill('a'", "page.click('a", "- answer(12", "> e3.click("])
def test_a_call_that_cannot_be_read_is_noticed(words: str) -> None:
    assert holds_calls(f"Then:\n{words}\n")
    assert not read_turn(f"Then:\n{words}\nDONE").code


def test_a_block_that_is_not_run_is_named_with_the_reason() -> None:
    said = read_turn("```\npage.first()\n```\nor\n```python\nb()\n```\nDONE")

    (left_out,) = said.left_out
    assert "'page.first()'" in left_out
    assert "not labelled as Python" in left_out


@given(st.lists(st.text("`~ab \r", max_size=12), max_size=12).map("\n".join))
def test_fences_are_read_as_commonmark_reads_them(text: str) -> None:
    """But for indented ones, which models write although CommonMark makes other blocks of them."""
    markdown_it = pytest.importorskip("markdown_it")
    if re.search(r"^[ \t]+", text, re.MULTILINE):
        return
    tokens = markdown_it.MarkdownIt("commonmark").parse(text)
    expected = [token.content.rstrip() for token in tokens if token.type == "fence"]

    assert [block.body.rstrip() for block in split_fences(text).blocks] == expected


@given(st.text(max_size=400))
def test_no_reply_breaks_the_parsers(reply: str) -> None:
    plan = parse_plan(reply)
    assert plan.confirmed <= bool(plan.steps)
    assert [s.index for s in plan.steps] == sorted({s.index for s in plan.steps})
    assert isinstance(extract_code(reply), str)


@given(st.integers(1, 999), st.sampled_from(["Step {}", "步骤{}：x", "第{}步", "// Step {}: y"]))
def test_any_number_in_any_form_is_read(number: int, form: str) -> None:
    assert heading_number(form.format(number)) == number


FENCED = "Here it is.\n```python\npage.goto('/')\n```\nThis opens"


@pytest.mark.parametrize(
    ("usable", "text", "left"),
    [
        (whole_lines, "e1.click()\ne2.fi", "e1.click()"),
        (whole_lines, "e1.cl", ""),
        (closed_block, FENCED, FENCED),
        (closed_block, "```python\npage.goto('/')\npage.cl", ""),
        (closed_block, f"{FENCED}\n```\nmore", ""),
        (closed_block, PLAN, PLAN),
        (closed_block, PLAN.partition("PLAN_END")[0], ""),
        (whole_object, 'So: {"action": "click"}\n\n{"act', 'So: {"action": "click"}\n\n{"act'),
        (whole_object, '{"thinking": {"a"', ""),
        (whole_object, "{" * 100_000, ""),
    ],
)
def test_only_the_complete_part_of_a_reply_that_was_cut_off_is_used(
    usable: Callable[[str], str], text: str, left: str
) -> None:
    assert usable(text) == left
