"""The code of an attempt as plain Playwright: quoting, names, marks, frames, imports."""

import ast
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.values.url_globs import url_glob
from pytest_autoweb.results.records import Attempt, StepResult, ToolCall
from pytest_autoweb.tools.export.assertions import as_script, regex_of_glob
from pytest_autoweb.tools.export.plain_code import (
    NotExportable,
    PlainCode,
    RuntimeTexts,
    TranslationInputs,
    literal,
    plain_code,
)

STANDS = RuntimeTexts({"<secret:pin>": "secret_pin", "http://127.0.0.1:80": "server"})
VALUES = {"secret_pin": 'a"\\{n}', "server": "http://127.0.0.1:4321"}
WILD = st.text(st.sampled_from("ab{}\"'\\\n\t<>%N☃\ud800\u2028:/ ")) | st.text()


def plain(code: str, *calls: ToolCall, context: str = "page", acts: bool = False) -> PlainCode:
    steps = [int(number) for number in re.findall(r"(?m)^# Step (\d+)", code)] or [1]
    results = tuple(StepResult(step_index=n, ok=True, status="ok", context=context) for n in steps)
    attempt = Attempt(code=code, step_results=results, tool_calls=calls)
    return plain_code(
        attempt, TranslationInputs(STANDS, {"a.pdf": 'FOLDER / "a.pdf"'}, by_decisions=acts)
    )


def lines(code: str, *calls: ToolCall, context: str = "page") -> list[str]:
    return [line for step in plain(code, *calls, context=context).steps for line in step.lines]


def found(method: str, located: str, step: int = 1) -> ToolCall:
    return ToolCall(
        step_index=step, seq=0, target="page", method=method, arguments="", acting=False, ok=True,
        located=located, duration_ms=1,
    )  # fmt: skip


@given(WILD)
def test_every_text_is_a_literal_of_itself_on_one_line(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
    assert literal(text).isprintable()


@given(st.lists(WILD | st.sampled_from(["<secret:pin>", "http://127.0.0.1:80"])))
def test_what_is_known_later_is_put_between_the_wildest_texts(parts: list[str]) -> None:
    text = "".join(parts)
    wanted = "".join(VALUES[part] if name else part for part, name in STANDS.pieces(text))

    assert eval(STANDS.expression(text), dict(VALUES)) == wanted
    assert "<secret:pin>" not in STANDS.expression(text)
    nested = eval(STANDS.expression({text: [text, 1, None]}), dict(VALUES))
    assert nested == {wanted: [wanted, 1, None]}


@given(WILD)
def test_code_with_wild_texts_does_the_same_when_it_is_translated(text: str) -> None:
    text = text.encode(errors="replace").decode()
    code = f"# Step 1\nsaid = [{text!r}, {text!r} + '-<secret:pin>']\n"
    scope: dict[str, Any] = dict(VALUES)
    exec("\n".join(lines(code)), scope)

    assert scope["said"] == [text, f"{text}-{VALUES['secret_pin']}"]


def test_an_address_is_not_found_in_one_with_a_longer_port() -> None:
    assert STANDS.expression("http://127.0.0.1:8080/x") == '"http://127.0.0.1:8080/x"'
    assert STANDS.expression("http://127.0.0.1:80/x") == 'f"{server}/x"'


@given(st.text("ab/.*{},"), st.text("ab/."))
def test_globs_become_regular_expressions_that_take_the_same(glob: str, url: str) -> None:
    try:
        fits = url_glob(glob).fits(url)
    except ValueError:
        return

    assert (re.fullmatch(regex_of_glob(glob), url) is not None) == fits


def test_marks_and_sight_become_the_locators_that_were_recorded() -> None:
    code = (
        "# Step 1\npage.get_by_mark(1).drag_to(\n    page.get_by_mark(2, expected_text='é'),\n)\n"
        "# Step 2\npage.get_by_sight('the cart').click()  # é\n"
    )
    calls = (
        found("get_by_mark", 'page.locator("#a")'),
        found("get_by_mark", 'page.get_by_label("<secret:pin>")'),
        found("get_by_sight", 'page.get_by_role("button")', step=2),
    )

    assert lines(code, *calls) == [
        'page.locator("#a").drag_to(',
        "    page.get_by_label(secret_pin),",
        ")",
        'page.get_by_role("button").click()  # é',
    ]


@pytest.mark.parametrize(
    ("code", "calls", "why"),
    [
        ("page.get_by_mark(1).click()", [found("get_by_mark", "?")], "no locator was recorded"),
        ("for n in (1, 2):\n    page.get_by_mark(n).click()", [found("get_by_mark", "page")] * 2,
         "looks elements up 2 times in 1 places"),
        ("answer(collect_urls())", [], "only cells can do"),
        ("page.click(", [], "not valid Python"),
    ],
)  # fmt: skip
def test_what_has_no_like_is_refused_in_a_sentence(
    code: str, calls: list[ToolCall], why: str
) -> None:
    with pytest.raises(NotExportable, match=re.escape(why)):
        plain(code, *calls)


def test_what_only_shows_the_page_to_a_model_is_left_out() -> None:
    code = (
        "page.look()\nif True:\n    page.show_more(2, 25)\n"
        "page.get_by_text('Map').look()\npage.get_by_text('Go').click()"
    )

    assert lines(code) == ["if True:", "    pass", "", "page.get_by_text('Go').click()"]


def test_names_of_the_step_language_become_those_of_the_test() -> None:
    code = (
        "# Step 1: look\nimport re, json as j\ntotal = 0\ndef add(n):\n    global total\n"
        '    total += n\n    log(f"now {total}")\n#| page.click("x")\n\ntext = """a\n  b"""\n'
        "answer(math.pi)\npage.locator('#f').set_input_files('a.pdf')\n"
    )
    made = plain(code)
    (step,) = made.steps

    assert made.imports == ["import math", "import re", "import json as j"]
    assert made.answers
    assert step.lines == (
        "total = 0",
        "def add(n):",
        "    nonlocal total",
        "    total += n",
        '    print(f"now {total}")',
        "",
        'text = """a',
        '  b"""',
        "answers.append(math.pi)",
        "page.locator('#f').set_input_files(FOLDER / 'a.pdf')",
    )
    # The second line of a text keeps its indentation.
    assert step.lines[min(step.fixed)] == '  b"""'


def test_a_step_in_a_frame_looks_for_it_first() -> None:
    assert lines('page.click("a")', context="http://127.0.0.1:80/in") == [
        'frame = frame_of(page, f"{server}/in")',
        'frame.click("a")',
    ]


def test_decisions_that_failed_are_left_out() -> None:
    code = "# Step 1\npage.click('a')\n# Step 1\npage.click('b')\n"
    results = [StepResult(step_index=1, ok=ok, status="ok") for ok in (False, True)]
    attempt = Attempt(code=code, step_results=tuple(results))
    made = plain_code(attempt, TranslationInputs(STANDS, {}, by_decisions=True))

    assert [step.lines for step in made.steps] == [("page.click('b')",)]


@pytest.mark.parametrize(
    ("js", "written"),
    [
        ("() => { return 1 }", '"() => { return 1 }"'),
        ("window.a === 1", '"window.a === 1"'),
        ("let a = 1; return a", '"async () => { let a = 1; return a }"'),
    ],
)
def test_javascript_is_written_as_playwright_takes_it(js: str, written: str) -> None:
    assert as_script(js, STANDS) == written


@pytest.mark.parametrize(
    "recorded",
    [
        '__import__("os").system("x")',
        'page.locator("#a") or __import__("os")',
        'page.locator("#a").evaluate("fetch(1)")',
        'page.goto("http://evil/")',
        'page.locator("#a").click()',
        'page.context.request.get("http://evil/")',
        "page.locator(open('/etc/passwd').read())",
        'page.locator(f"{__import__(1)}")',
        'page.locator("#a", **{"has": 1})',
        'page.locator(*["#a"])',
        'page.locator("#a")\nimport os',
        'page.locator("#a"); import os',
        'page.locator("#a" + "b")',
        'page.locator(b"#a")',
        "page.locator((lambda: 1)())",
        'secret_pin.locator("#a")',
        "page.__class__",
        "page",
        "(page := 1)",
        "page" + ".first" * 5000,
        "(" * 5000,
        "page.locator('" + "a" * 20_000 + "')",
        "",
    ],
)
def test_what_was_recorded_as_a_locator_and_is_none_becomes_no_code(recorded: str) -> None:
    with pytest.raises(NotExportable, match=r"recorded"):
        plain("page.get_by_mark(1).click()", found("get_by_mark", recorded))


@pytest.mark.parametrize(
    ("recorded", "written"),
    [
        ("page.get_by_role('button', name='Sa\"ve', exact=True)",
         "page.get_by_role(\"button\", name='Sa\"ve', exact=True)"),
        ("page . locator('#a').nth(-1)", 'page.locator("#a").nth(-1)'),
        ('page.frame_locator("#f").first.get_by_text("a\\nb", exact=False)',
         'page.frame_locator("#f").first.get_by_text("a\\nb", exact=False)'),
        ('page.locator("li").filter(has=page.get_by_text("<secret:pin>"), has_text=None)',
         'page.locator("li").filter(has=page.get_by_text(secret_pin), has_text=None)'),
    ],
)  # fmt: skip
def test_a_recorded_locator_is_written_again_with_our_quotes(recorded: str, written: str) -> None:
    (line,) = lines("page.get_by_mark(1).click()", found("get_by_mark", recorded))
    assert line == f"{written}.click()"


@given(WILD)
def test_a_recorded_text_stays_a_text(text: str) -> None:
    text = text.encode(errors="replace").decode()
    (line,) = lines("page.get_by_mark(1)", found("get_by_mark", f"page.get_by_text({text!r})"))
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    assert eval(ast.unparse(call.args[0]), dict(VALUES)) == text
