import ast
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_autoweb.agents.codegen.refs_dialect import Lines, read_actions, read_lines, refs_grammar
from pytest_autoweb.browser.page.frames import RefElement

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
    rule = refs_grammar(ALL, banned={(BUTTON.locator, "click")}, may_end=True, may_answer=False)

    assert rule is not None
    assert '"e1.fill(" str ")"' in rule
    assert "e2" not in rule
    assert '"\\"Red\\""' in rule
    assert '"done()" | act' in rule
    assert "answer" not in rule


def test_nothing_to_do_gives_no_grammar() -> None:
    assert refs_grammar((), may_end=True, may_answer=False) is None


@given(st.text(max_size=120))
def test_any_text_is_typed_as_it_stands(text: str) -> None:
    read = read_actions(f"e1.fill({text!r})", ALL)
    if not read.actions:
        assert re.search(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|`$", f"e1.fill({text!r})")
        return
    call = ast.parse(read.actions[0].code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.literal_eval(call.args[0]) == text


FILE = RefElement("e4", "button", "Plan", "", 'page.locator("#plan")', (), takes_files=True)
OFF = RefElement("e5", "button", "Off", "(disabled)", 'page.locator("#off")', (), disabled=True)
EVERY = (*ALL, FILE, OFF)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("e2.double_click()", 'page.get_by_role("button", name="Go").dblclick()'),
        ("e2.right_click()", 'page.get_by_role("button", name="Go").click(button="right")'),
        (
            "e1.drag_to(e2)",
            'page.get_by_label("User").drag_to(page.get_by_role("button", name="Go"))',
        ),
        ("e1.fill(12)", 'page.get_by_label("User").fill("12")'),
        ("e1.read()", 'log(page.get_by_label("User").input_value())'),
        ("e2.read()", 'log(page.get_by_role("button", name="Go").inner_text())'),
        ("e3.select_option(['Red'])", 'page.locator("select").select_option(label=["Red"])'),
        ("e4.upload('a.txt')", 'page.locator("#plan").set_input_files("a.txt")'),
        ('press("Escape")', 'page.keyboard.press("Escape")'),
        ('goto("/x")', 'page.goto("/x")'),
        (
            'e1.type("more")',
            'page.get_by_label("User").press("Control+End")\n'
            'page.get_by_label("User").press_sequentially("more")',
        ),
        ('type("more")', 'page.keyboard.type("more")'),
        (
            'e2.scroll("up")',
            'page.get_by_role("button", name="Go").hover()\npage.mouse.wheel(0, -400)',
        ),
        ("reload()", "page.reload()"),
        ("switch_tab(2)", "page.context.pages[1].bring_to_front()"),
        ('open_tab("/x")', 'tab = page.context.new_page()\ntab.goto("/x")'),
        ("show_more(2)", "# show_more(2)"),
        ("page.show_more(2, 40)", "# show_more(2, 40)"),
        ("read_download()", "# read_download()"),
        ('answer({"a": [1, null, true]})', "answer({'a': [1, None, True]})"),
    ],
)
def test_capable_models_have_more_actions(line: str, code: str) -> None:
    read = read_lines(f"Now.\n```\n{line}\n```", EVERY)

    assert ([action.code for action in read.actions], read.problem) == ([code], "")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("e9.click()", "e9 is not on the list"),
        ("e2.fill('x')", "e2 (button) takes click, double_click"),
        ("e5.click()", "e5 is disabled"),
        ("e1.fill()", "fill takes one text"),
        ("e1.fill(True)", "fill takes one text"),
        ("e2.click(force=True)", "it is not one of the actions"),
        ("e1.fill(open('/etc/passwd').read())", "only plain values are allowed"),
        ("answer(e1)", "it is not one of the actions"),
        ("e1.drag_to('e2')", "drag_to takes one element"),
        ("import os", "it is not one of the actions"),
        ("e2.type('x')", "e2 (button) takes click, double_click"),
        ("e1.scroll()", 'scroll takes one of "down", "up"'),
        ('scroll("sideways")', 'scroll takes one of "down", "up"'),
        ("switch_tab('2')", "switch_tab takes the number of a tab"),
        ("show_more()", "show_more takes the number of a list, and a row to begin at"),
        ("accept_dialog(1, 2)", "accept_dialog takes nothing or one text"),
        ("dismiss_dialog('x')", "dismiss_dialog takes nothing"),
        ("reload(1)", "reload takes nothing"),
        ("look()", "it is not one of the actions"),
        ("e2.look()", "it is not one of the actions"),
        ("goto(" * 500, "it is not one of the actions"),
    ],
)
def test_capable_models_are_told_what_could_not_be_read(line: str, problem: str) -> None:
    read = read_lines(f"```\ne2.click()\n{line}\ne2.click()\ndone()\n```", EVERY)

    assert [action.line for action in read.actions] == ["e2.click()"]
    assert problem in read.problem
    assert read.left_out == (line, "e2.click()", "done()")
    assert not read.done


@pytest.mark.parametrize("line", ["e41.click()", "e2.drag_to(e41)"])
def test_a_number_that_the_list_leaves_out_is_refused_with_a_way_to_see_it(line: str) -> None:
    read = read_lines(f"```\ne2.click()\n{line}\n```", EVERY, left_out=frozenset({"e41"}))

    assert len(read.actions) == 1
    assert read.problem.startswith("e41 is in a part of the page that the list leaves out")
    assert "show_more(N)" in read.problem
    assert read.left_out == (line,)


def test_lines_of_capable_models_are_neither_counted_nor_cut() -> None:
    long = "x" * 5_000
    text = "\n".join(["I fill it in:", *[f'e1.fill("{long}")'] * 30, "done()"])

    read = read_lines(text, EVERY)

    assert len(read.actions) == 30
    assert long in read.actions[0].code
    assert read.done


@pytest.mark.parametrize(
    "reply",
    [
        "Done (19.0 B, 1 files).",
        "The page says: Done (19.0 B, 1 files).\nI pressed e2 (Go) and it worked.",
        "e2 is pressed (twice).\nReload (F5) is not needed, nor to scroll (far).",
        "Total (3) items: e1, e2.\nfile(s) were sent.",
        "answer is 7 (seven)\nWait_for it",
    ],
)
@pytest.mark.parametrize("end", ["", "\nDONE"])
def test_a_sentence_is_no_action(reply: str, end: str) -> None:
    assert read_lines(reply + end, EVERY) == Lines((), done=bool(end))


def test_words_beside_unfenced_actions_are_left_out() -> None:
    read = read_lines("Done.\nI go on (step 2):\ne2.click()\nDone (1 file).\ne1.read()", EVERY)

    assert [action.line for action in read.actions] == ["e2.click()", "e1.read()"]
    assert not read.problem
    assert not read.done


def test_an_unfenced_call_of_something_else_ends_the_reading() -> None:
    read = read_lines('e2.click()\nclick(e1)\ne1.fill("x")', EVERY)

    assert (len(read.actions), read.left_out) == (1, ("click(e1)", 'e1.fill("x")'))


def test_pictures_are_offered_only_to_models_that_see() -> None:
    read = read_lines("```\nlook()\nlook(1, 2, 30, 40)\ne2.look()\n```", EVERY, sees=True)

    assert [action.code for action in read.actions] == [
        "page.look()",
        "page.look(1, 2, 30, 40)",
        'page.get_by_role("button", name="Go").look()',
    ]


@given(st.lists(st.none() | st.just(True) | st.text(max_size=20), min_size=1, max_size=6))
def test_dialogs_are_replied_to_in_the_order_of_the_lines(replies: list[str | bool | None]) -> None:
    """Run the code with stand-ins for page and dialogs, two more of which come than expected."""
    forms = {None: "dismiss_dialog()", True: "accept_dialog()"}
    lines = [
        f"accept_dialog({json.dumps(reply)})" if isinstance(reply, str) else forms[reply]
        for reply in replies
    ]
    heard: list[Any] = []
    page = SimpleNamespace(once=lambda event, function: heard.append(function))
    names: dict[str, Any] = {"page": page}
    for action in read_lines("\n".join(["```", *lines, "```"]), ()).actions:
        exec(action.code, names)

    became: list[str | bool | None] = []
    for _ in [*replies, 0, 0]:
        dialog = SimpleNamespace(
            page=page,
            default_value=True,
            accept=became.append,
            dismiss=lambda: became.append(None),
        )
        # Each listener that is there when the dialog opens gets it, once.
        told, heard[:] = list(heard), []
        for function in told:
            function(dialog)

    assert became == replies


def test_what_was_done_is_told_with_role_and_name() -> None:
    (action,) = read_lines("e2.click()", EVERY).actions

    assert action.told == 'e2.click()  # e2 is button "Go"'
    (twin,) = read_lines("e2.click()", [replace(BUTTON, near="No. 117")]).actions
    assert twin.told == 'e2.click()  # e2 is button "Go" beside "No. 117"'


@given(st.text())
def test_any_reply_of_a_capable_model_can_be_read(reply: str) -> None:
    read_lines(reply, EVERY)


@pytest.mark.parametrize(
    "reply",
    [
        '**1.** e1.fill("x")\n**2.** e2.click()\nDONE',
        'Step 1: e1.fill("x")\nStep 2: e2.click()\n**DONE**',
        'Fill it: e1.fill("x")\nPress it: `e2.click()`\ndone()',
        '1、e1.fill("x")\n2、e2.click()\n完成',
        '1.e1.fill("x")\n2.e2.click()\nDone.',
        '-e1.fill("x")\n-e2.click()\n- DONE',
        'I fill it.\ne1.fill("x")\nThen I press it.\nawait e2.click()\nDONE',
        '```e1.fill("x")\ne2.click()\nDONE```',
        '<code>\ne1.fill("x")\ne2.click()\n</code>\nDONE',
    ],
)
def test_lines_that_a_person_reads_at_once_are_read(reply: str) -> None:
    for read in (read_actions(reply, ALL), read_lines(reply, ALL)):
        methods = [action.code.rpartition(".")[2] for action in read.actions]
        assert methods == ['fill("x")', "click()"]
        assert read.done


def test_a_call_that_was_not_read_keeps_a_reply_from_being_the_end() -> None:
    read = read_actions("e1.fill(“x”)\ne2.click()\nDONE", ALL)

    assert (len(read.actions), read.done) == (1, False)
