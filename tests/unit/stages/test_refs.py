import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.codegen.refs_dialect import grammar, read_actions
from pytest_autoweb.page.frames import RefElement

BOX = RefElement("e1", "textbox", "User", "", 'page.get_by_label("User")', ("fill", "press"))
BUTTON = RefElement("e2", "button", "Go", "", 'page.get_by_role("button", name="Go")', ("click",))
PICK = RefElement(
    "e3", "combobox", "", "", 'page.locator("select")', ("select_option",), ("Red", 'B"lue')
)
ALL = (BOX, BUTTON, PICK)


def test_lines_become_plain_playwright_code() -> None:
    read = read_actions('e1.fill("a\'b")\ne3.select_option("Red")\ne2.click()\n', ALL)

    assert [action.code for action in read.actions] == [
        'page.get_by_label("User").fill("a\'b")',
        'page.locator("select").select_option(label="Red")',
        'page.get_by_role("button", name="Go").click()',
    ]
    assert not read.problems


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("e9.click()", "no such element"),
        ("e2.fill('x')", "takes click"),
        ("e1.fill()", "takes one text"),
        ("e2.click(force=True)", "not an action"),
        ("e1.fill(open('/etc/passwd').read())", "only plain values"),
        ("import os", "not an action"),
        ("I would click the button.", "not an action"),
    ],
)
def test_a_line_outside_the_dialect_is_named(line: str, problem: str) -> None:
    read = read_actions(line, ALL)

    assert not read.actions
    assert problem in read.problems[0]


def test_fences_and_done_are_understood() -> None:
    read = read_actions("```python\ne2.click()\n```\ndone()\ne1.fill('late')", ALL)

    assert [action.line for action in read.actions] == ["e2.click()"]
    assert read.done


def test_the_grammar_offers_only_fitting_actions_and_leaves_out_banned_ones() -> None:
    rule = grammar(ALL, banned={(BUTTON.locator, "click")}, may_end=True, may_answer=False)

    assert rule is not None
    assert '"e1.fill(" str ")"' in rule
    assert "e2" not in rule
    assert '"\\"Red\\""' in rule
    assert '"done()" | act' in rule
    assert "answer" not in rule


def test_nothing_to_do_gives_no_grammar() -> None:
    assert grammar((), may_end=True, may_answer=False) is None


@given(st.text(max_size=120))
def test_any_text_is_typed_as_it_stands(text: str) -> None:
    read = read_actions(f"e1.fill({text!r})", ALL)
    if not read.actions:
        assert re.search(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|`$", f"e1.fill({text!r})")
        return
    call = ast.parse(read.actions[0].code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.literal_eval(call.args[0]) == text
