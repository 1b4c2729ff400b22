import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, realistic_cells, run_info
from markdown_it import MarkdownIt

from pytest_autoweb.report.foreign_text import one_line, whole_words
from pytest_autoweb.report.json_report import Analysis, build_report
from pytest_autoweb.report.markdown import escape, render_markdown
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import RecordedRun


def markdown_of(*cells: CellResult, analysis: Analysis | None = None, **info: Any) -> str:
    return render_markdown(
        build_report(RecordedRun(Path(), run_info(list(cells), **info), cells), analysis)
    )


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_foreign_text_cannot_become_markup(text: str) -> None:
    safe = escape(text)

    assert "\n" not in safe
    assert "<" not in safe
    assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]|~]", safe)
    assert "@" not in safe
    assert "://" not in safe


@pytest.mark.parametrize(
    "text", ["7.0 s", "7. of May", "12) x", "-5 points", "+", "= b", "1.", "3.4"]
)
def test_escaped_text_reads_as_it_was(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(escape(text))

    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert "".join(child.content for child in tokens[1].children or ()) == text


@settings(deadline=None)
@given(st.text(st.sampled_from("07.)-+=#> *_`\\&;ax<|~:@"), min_size=1))
def test_no_escape_is_shown(text: str) -> None:
    page = MarkdownIt("commonmark").render(escape(text))

    assert page == (f"<p>{html.escape(one_line(text))}</p>\n" if one_line(text) else "")


@pytest.mark.parametrize(
    "text",
    ["a\n# heading", "x | y | z", "[click](https://evil.example)", "![](https://evil.example/x)"],
)
def test_a_hostile_reason_stays_inside_its_line(text: str) -> None:
    page = markdown_of(cell(CellKey("a", "m"), "failed", reason=text))

    (line,) = (line for line in page.splitlines() if line.startswith("- a on m: failed"))
    assert "https://" not in page
    assert "\n# heading" not in page
    assert line.count("|") == line.count("\\|")


def test_every_row_of_a_table_has_the_columns_of_its_head() -> None:
    page = markdown_of(*realistic_cells())

    blocks = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        columns = {len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}
        assert len(columns) == 1


def test_unknown_cost_is_not_zero() -> None:
    page = markdown_of(*realistic_cells())

    row = next(line for line in page.splitlines() if line.startswith("| local/qwen"))
    assert "| unknown |" in row
    assert "$0" not in row


def test_both_rates_and_the_verdict_are_there() -> None:
    page = markdown_of(cell(CellKey("a", "m")), cell(CellKey("a", "n"), "healed"))

    assert "| m | 100% (21–100%), 1 of 1 | 100% (21–100%), 1 of 1 |" in page
    assert "| n | 0% (0–79%), 0 of 1 | 100% (21–100%), 1 of 1 |" in page
    assert "**m against n: Too few cases to compare: 1 (6 needed).**" in page


def test_an_empty_run_says_so() -> None:
    assert "No cells were run." in markdown_of()


def test_a_large_matrix_is_left_to_the_other_reports() -> None:
    cells = [cell(CellKey(f"c{i}", "m")) for i in range(100)]

    assert "| c99 |" not in markdown_of(*cells)


def test_a_local_analysis_is_quoted() -> None:
    page = markdown_of(
        cell(CellKey("a", "m")),
        analysis=Analysis(prompt="", model="q", text="one\n\n# two <script>"),
    )

    assert "> one\n>\n> &#35; two &lt;script&gt;" in page


@given(st.text(), st.integers(1, 40))
def test_a_line_is_cut_between_words(text: str, limit: int) -> None:
    whole, cut = one_line(text, len(text) + 1), whole_words(text, limit)

    assert len(cut) <= limit
    if len(whole) <= limit:
        assert cut == whole
    elif " " in whole[:limit].rstrip(" ,;:"):
        kept = cut.removesuffix("…")
        assert whole.startswith(kept)
        assert whole[len(kept)] in " ,;:"
