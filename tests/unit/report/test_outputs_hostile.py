"""Text of pages and models in every output: it stays text, whatever reads that output.

HTML is looked at in a browser (tests/browser), JUnit's file by an XML reader and the streamed log
in whole sessions (tests/plugin/test_ci_outputs.py).
"""

import json
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, run_info, save_run

from pytest_autoweb.report.comparison_text import comparison_text
from pytest_autoweb.report.gates.gate_decision import gate_lines, rows_of
from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.report.github_actions import annotations, neutral
from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import Report, build_report
from pytest_autoweb.report.junit_properties import junit_properties
from pytest_autoweb.report.markdown import comment_body, render_markdown
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.results.analysis.comparison import compare_runs
from pytest_autoweb.results.records import Attempt, CellResult, CheckResult, Failure
from pytest_autoweb.results.runs.progress_file import Progress
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_run
from pytest_autoweb.results.runs.saving import json_text, plain
from pytest_autoweb.results.runs.side_files import GateResult, SideFiles
from pytest_autoweb.session.progress import Display
from pytest_autoweb.session.pytest_outcome import describe, raise_outcome

PATIENT = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PIECES = (
    *("::error file=a.py::forged", "::set-output name=a::b", "::add-mask::x", "##[error]x"),
    *("##vso[task.setvariable variable=a]b", "##teamcity[testFailed name='a']", "::", "##["),
    *(
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x9b31m",
        "\x07",
        "\x08",
        "\r",
        "\n",
        "\u2028",
        "\x85",
        "\x0c",
    ),
    *("\u202egnp.exe", "\u2066", "\u200b", "\ufeff", "\ud800", "\x00", "\ufffe"),
    *("[a](http://evil.test)", "![a](http://evil.test/x.png)", "<img src=x onerror=alert(1)>", "|"),
    *(
        "</script>",
        "<!--",
        "-->",
        "]]>",
        "&lt;",
        "`",
        "```",
        "\n# head",
        "\n- item",
        "www.evil.test",
    ),
    *(
        "http://evil.test",
        "@somebody",
        "#1",
        "=1+1",
        "+1",
        "-1",
        "{{7*7}}",
        "a@evil.test",
        "<details>",
    ),
    *("../../x", "C:\\x", " ", "text", "é", "文"),
)
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


def hostile_cell(text: str) -> CellResult:
    check = CheckResult(
        index=0, type="text", passed=False, expected=text, actual=text, message=text
    )
    attempt = Attempt(
        executed=True, formatted_errors=(text, f"x {text}"), checks=(check,), code=text
    )
    return cell(
        CellKey("case", "fake/m"),
        "failed",
        reason=text,
        failure=Failure(kind="step", message=text),
        attempts=(attempt,),
        must_pass=True,
    )


def commands(text: str) -> list[str]:
    """What a CI runner would obey in a log."""
    return [
        line
        for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
        if line.strip().startswith("::") or re.search(r"##(vso|teamcity)?\[", line)
    ]


def steering(text: str) -> list[str]:
    """Characters that a terminal would obey."""
    bidi = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    return [
        c
        for c in text
        if (unicodedata.category(c) == "Cc" and c != "\n") or unicodedata.bidirectional(c) in bidi
    ]


def assert_fit_for_a_log(text: str) -> None:
    assert commands(text) == []
    assert steering(text) == []


@PATIENT
@given(TEXTS)
@example("::error::x\n  ::error::y\r##[error]z")
def test_what_a_session_says_of_a_cell_steers_neither_terminal_nor_runner(text: str) -> None:
    failed = hostile_cell(text)
    assert_fit_for_a_log("\n".join(describe(failed)))
    gates = (GateResult(name=text, passed=False, message=text, details=(text,)),)
    assert_fit_for_a_log("\n".join(line for line, _ in gate_lines(gates)))
    report = build_report_of(failed, note=text)
    assert_fit_for_a_log("\n".join(neutral(line) for line, _ in terminal_lines(report)))
    ungraded = failed.model_copy(update={"outcome": "ungraded"})
    with pytest.raises(pytest.skip.Exception) as skipped:
        raise_outcome(ungraded, GatePolicy())
    assert_fit_for_a_log(str(skipped.value))


@PATIENT
@given(TEXTS)
def test_an_annotation_is_one_command_and_no_other(text: str) -> None:
    gates = (GateResult(name=text, passed=False, message=text),)

    lines = list(annotations([hostile_cell(text)], gates, GatePolicy()))

    assert len(lines) >= 1
    for line in lines:
        assert re.fullmatch(r"::error (file=[^,:]*,)?(line=\d+,)?title=[^:,]*::.*", line)
        assert steering(line) == []
        assert len(line.splitlines()) == 1


@PATIENT
@given(TEXTS)
def test_properties_and_the_report_s_data_can_be_read_back(text: str) -> None:
    failed = hostile_cell(text)
    suite = ElementTree.Element("properties")
    for name, value in junit_properties(failed):
        ElementTree.SubElement(suite, "property", name=name, value=value)

    read = ElementTree.fromstring(ElementTree.tostring(suite, encoding="unicode"))
    assert len(read) == len(suite)

    report = json.loads(json_text(build_report_of(failed, note=text)))
    assert report["cases"][0]["cells"][0]["outcome"] == "failed"

    page = render_html(plain(build_report_of(failed, note=text)), {})
    body = page.partition('<script type="application/json"')[2]
    data = body.partition(">")[2].partition("</script>")[0]
    assert "<" not in data
    assert json.loads(data)["report"]["cases"][0]["id"] == "case"


@PATIENT
@given(TEXTS)
def test_markdown_holds_no_markup_of_others(tmp_path: Path, text: str) -> None:
    failed = hostile_cell(text)
    rows = rows_of(read_run(save_run(tmp_path / "run", [failed])))
    gates = (GateResult(name=text, passed=False, message=text, details=(text,)),)
    for markdown in (
        render_markdown(build_report_of(failed, text)),
        comment_body(rows, gates, None),
    ):
        assert steering(markdown) == []
        assert commands(markdown) == []
        assert re.search(r"(?<!\\)\]\(|<(?!!-- autoweb|/?details>|/?summary>)", markdown) is None
        assert re.search(r"https?://|www\.|@somebody|@evil|(?<!\\)`", markdown) is None
        assert len(re.findall(r"^#", markdown, re.MULTILINE)) <= 6


@PATIENT
@given(TEXTS)
def test_a_comparison_on_the_terminal_is_plain(tmp_path: Path, text: str) -> None:
    rows = rows_of(read_run(save_run(tmp_path / "run", [hostile_cell(text)])))
    named = rows.model_copy(update={"name": text})
    assert steering(comparison_text(compare_runs(named, rows))) == []


@PATIENT
@given(TEXTS)
def test_streamed_lines_steer_neither_terminal_nor_runner(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "progress"
    path.unlink(missing_ok=True)
    display = Display(path, verbose=True, stream_log=True, neutral=neutral)
    for kind in ("log", "stage"):
        Progress(path).emit("case[fake/m]", kind, text)

    display.stop()

    shown = capfd.readouterr().out
    assert shown.count("case[fake/m]") == 2
    assert_fit_for_a_log(shown)


def build_report_of(result: CellResult, note: str) -> Report:
    info = run_info([result])
    return build_report(RecordedRun(Path(), info, (result,), (note,)), None, SideFiles())
