"""What the lint says of each kind of code, in its own words and at its own place."""

from pathlib import Path

import pytest

from pytest_autoweb.sandbox.allowed_python import MAX_DEPTH, MAX_NODES
from pytest_autoweb.sandbox.lint import lint_code


def _findings() -> list[tuple[str, list[str]]]:
    """Pieces of code (lines that begin with `> `) and how each finding on them begins.

    What Python itself says of its syntax is left to Python.
    """
    text = (Path(__file__).parent / "lint_findings.txt").read_text(encoding="utf-8")
    pieces = [piece.splitlines() for piece in text.split("\n\n")]
    return [
        (
            "\n".join(line[2:] for line in piece if line.startswith("> ")),
            [line for line in piece if not line.startswith("> ")],
        )
        for piece in pieces
    ]


FINDINGS = _findings()


def told(code: str, *, scripts: bool = True, offered: str = "") -> list[str]:
    names = frozenset(offered.split())
    return [str(finding) for finding in lint_code(code, scripts=scripts, offered=names)]


@pytest.mark.parametrize(("code", "findings"), FINDINGS)
def test_a_finding_says_where_what_and_what_to_do_instead(code: str, findings: list[str]) -> None:
    found = told(code)

    assert [text[: len(begins)] for text, begins in zip(found, findings, strict=True)] == findings


def test_what_the_cell_offers_may_be_used_and_not_bound_anew() -> None:
    code = (
        "page.get_by_mark(7).clik()\nx.get_by_mark(7)\npage.keyboard.get_by_mark(7)\n"
        "page.get_by_sight('x')\ncollect_urls(1)\ncollect_urls = 1\ndef collect_urls(): pass"
    )

    assert [text.partition(" (")[0] for text in told(code, offered="get_by_mark collect_urls")] == [
        "1:1 AW304 Locator has no attribute 'clik'",
        "3:1 AW304 Keyboard has no attribute 'get_by_mark'",
        "4:1 AW309 'get_by_sight' is not available in this cell",
        "6:1 AW303 'collect_urls' is provided and may not be rebound",
        "7:1 AW303 'collect_urls' is provided and may not be rebound",
    ]


def test_scripts_of_the_code_are_refused_where_the_cell_has_none() -> None:
    code = "page.evaluate('1')\nx.wait_for_function('1')\npage.click('a')\neval('a')"
    why = "runs a script in the page, which `strict` refuses"
    hint = "(read with locators: inner_text(), get_attribute(), count())"

    assert told(code, scripts=False)[:2] == [
        f"1:1 AW310 evaluate() {why} {hint}",
        f"2:1 AW310 wait_for_function() {why} {hint}",
    ]
    assert [text[:9] for text in told(code, scripts=False)[2:]] == ["4:1 AW301"]
    assert [text[:9] for text in told(code)] == ["4:1 AW301"]


@pytest.mark.parametrize("scripts", [True, False])
def test_what_only_compiling_tells_is_told_where_nothing_else_is(scripts: bool) -> None:
    assert [text[:9] for text in told("x = 1\nreturn 1", scripts=scripts)] == ["2:1 AW001"]
    assert [text[:9] for text in told("eval('a')\nreturn 1", scripts=scripts)] == ["1:1 AW301"]


@pytest.mark.parametrize("code", ["return 1", "x = = 1", "x.__y", "x" * 20_001])
def test_a_finding_moves_with_its_block(code: str) -> None:
    (here,) = lint_code(code)
    (moved,) = lint_code(code, line_offset=7)

    assert moved == here.model_copy(update={"line": here.line + 7})


def test_a_long_name_is_shown_in_part() -> None:
    sixty, longer = "_" + "y" * 59, "_" + "y" * 60

    assert told(f"x.{sixty}") == [f"1:1 AW304 no object here has an attribute '{sixty}'"]
    assert told(f"x.{longer}") == [f"1:1 AW304 no object here has an attribute '{sixty[:59]}…'"]


def test_fifty_findings_are_enough_and_the_first_ones_count() -> None:
    code = "\n".join(f"x.__a{number}" for number in range(60, 0, -1))

    findings = lint_code(code)

    assert [finding.line for finding in findings] == list(range(1, 51))


def test_findings_of_one_line_stand_in_their_order() -> None:
    assert [text[:10] for text in told("f(b.__b, __a, a.__a)\n__x")] == [
        *("1:3 AW304 ", "1:10 AW302", "1:15 AW304", "2:1 AW302 ")
    ]


def test_code_has_so_many_parts_and_no_more() -> None:
    # A module, its list in a statement, and then each name with its context.
    def listed(names: int) -> str:
        return "[" + ",".join(["a"] * names) + "]"

    most = (MAX_NODES - 4) // 2

    assert told(listed(most)) == []
    assert told(listed(most + 1)) == [
        f"1:1 AW002 the code has more than {MAX_NODES} parts (write less code)"
    ]


def test_code_is_nested_so_deep_and_no_deeper() -> None:
    # A module, a statement, the lists, and the context of the innermost.
    def nested(lists: int) -> str:
        return "[" * lists + "]" * lists

    most = MAX_DEPTH - 3

    assert told(nested(most)) == []
    assert told(nested(most + 1)) == [
        f"1:1 AW002 the code is nested more than {MAX_DEPTH} deep (write less code)"
    ]
    assert told("(" * 5000 + ")" * 5000)[0].startswith("1:")


def test_text_that_python_cannot_hold_is_not_readable() -> None:
    (finding,) = told("x = '\ud800'")

    assert finding.startswith("1:1 AW001 not readable: 'utf-8' codec can't encode")
    assert told("x\0")[0][:9] == "1:1 AW001"


def test_a_syntax_error_is_told_in_the_words_of_python() -> None:
    assert told("x = = 1") == ["1:5 AW001 not Python: invalid syntax"]


def test_the_code_may_have_so_many_characters() -> None:
    assert told("#" * 20_001) == [
        "1:1 AW002 the code has more than 20000 characters (write less code)"
    ]


@pytest.mark.parametrize("mode", ["r", "rb", "rt"])
def test_a_file_may_be_opened_for_reading_by_its_mode(mode: str) -> None:
    for code in (f"open('cv.pdf', {mode!r}).read()", f"open('cv.pdf', mode={mode!r}).read()"):
        assert [found.code for found in lint_code(code)] == []


def test_what_is_not_python_is_told_in_pythons_words() -> None:
    (found,) = lint_code("page.click(")

    assert (found.code, found.line) == ("AW001", 1)
    assert found.message == "not Python: '(' was never closed"
