"""What goes to GitHub: one comment, annotations, a job's summary; nothing in them can be forged."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rows import cells, run
from made_up_run import CellKey, cell

from pytest_autoweb.report.gates.gate_decision import evaluate_gates
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_limits
from pytest_autoweb.report.github_actions import (
    SHOWN,
    SUMMARY_BYTES,
    annotations,
    append_summary,
    neutral,
    path_prefix,
)
from pytest_autoweb.report.markdown import LIMIT, comment_body, marker
from pytest_autoweb.results.runs.side_files import GateResult

NAMES = [f"case{n:02}" for n in range(12)]
BEFORE = run(cells(dict.fromkeys(NAMES, "P")), commit="abc1234")
AFTER = run(cells({**dict.fromkeys(NAMES, "P"), **dict.fromkeys(NAMES[:7], "F")}), day=1)
HOSTILE = "x | y\n<script>alert(1)</script> [a](http://evil) @everyone <!-- autoweb-comment -->"


def test_a_comment_says_score_change_flips_and_gates() -> None:
    policy = GatePolicy(limits=read_limits("pass_rate:5%", "x"), compare="latest")

    body = comment_body(AFTER, evaluate_gates(AFTER, policy, baseline=BEFORE), BEFORE)

    lines = body.splitlines()
    assert lines[:2] == [marker("default"), "## autoweb: ❌ 1 of 1 gates failed"]
    assert "| model | Score | Δ | Improvements | Regressions |" in lines
    assert "| m | 42% (19–68%), 5 of 12 | −58 points | 0 🟢 | 7 🔴 |" in lines
    assert any(
        line.startswith("- ❌ **drop of the pass rate (m)**: −58.3 points") for line in lines
    )
    assert "- 🔴 case00: 100% → 0%" in lines
    assert "of commit abc1234" in lines[-1]


def test_a_comment_says_so_when_models_ran_on_different_cases() -> None:
    both = run(cells({"a": "P", "b": "F"}), cells({"a": "P", "c": "P"}, "n"))

    lines = comment_body(both, (), None).splitlines()

    assert "The models were run on different cases; 1 of them on all:" in lines
    assert "- n: 2 cases; 100% (21–100%), 1 of 1 on the common ones" in lines
    assert "different" not in comment_body(BEFORE, (), None)


def test_a_change_that_is_not_significant_is_called_not_decisive() -> None:
    after = run(cells({**dict.fromkeys(NAMES, "P"), "case00": "F"}), day=1)

    body = comment_body(after, (), BEFORE)

    assert "| m | 92% (65–99%), 11 of 12 | −8 points (not decisive) | 0 🟢 | 1 🔴 |" in body
    assert "- m: Not decisive: " in body


def test_without_a_baseline_or_gates_there_is_a_score_all_the_same() -> None:
    body = comment_body(AFTER, (), None, key="nightly run", link="https://ci.example/run/1)(x")

    assert body.startswith(
        "<!-- autoweb-comment nightly-run -->\n## autoweb: no gate was decided\n"
    )
    assert "| m | 42% (19–68%), 5 of 12 | – | – | – |" in body
    assert body.endswith("[Whole report](https://ci.example/run/1x)\n")
    assert "javascript" not in comment_body(AFTER, (), None, link="javascript:alert(1)")


@settings(max_examples=60, deadline=None)
@given(text=st.one_of(st.just(HOSTILE), st.text(max_size=80)))
def test_no_text_becomes_markup_or_a_second_marker(text: str) -> None:
    named = run(cells({f"a{text}": "F"}, f"m{text}"), day=1, models=(f"m{text}",))
    gate = GateResult(name="g", model=text, passed=False, message=text, details=(text,))

    body = comment_body(named, (gate,), run(cells({f"a{text}": "P"}, f"m{text}")))

    table = [line for line in body.splitlines() if line.startswith("| m")]
    assert len(re.findall(r"(?<!\\)\|", table[1])) == 6
    assert body.count("<!--") == 1
    allowed = ["<!-- autoweb-comment default -->", "<details>", "<summary>", "</summary>"]
    assert set(re.findall(r"<[^>]*>", body)) <= {*allowed, "</details>"}
    assert not re.search(r"(?<![\\!])\[[^\]]*\]\(|(?<!\w)@\w|https?://", body)


def test_a_comment_keeps_to_the_limit_and_closes_what_it_opened() -> None:
    long = [f"{n:02} {'long ' * 50}" for n in range(150)]
    before = run(*(cells({"a": "P", "b": "P"}, model) for model in long))
    after = run(*(cells({"a": "F", "b": "P"}, model) for model in long), day=1)

    body = comment_body(after, (), before)

    assert LIMIT - 2000 < len(body) <= LIMIT
    assert body.count("<details>") == body.count("</details>")
    assert body.rstrip().endswith("is among the artifacts of the run.*")


def test_annotations_escape_what_the_runner_reads_and_stop_where_it_stops_reading() -> None:
    cells_of_run = [
        cell(CellKey(f"a,b:{n}", "m"), "failed", must_pass=True, line=7, reason="50%\n::error::x")
        for n in range(30)
    ]
    soft = GateResult(name="soft", passed=False, message="low", soft=True)

    lines = list(annotations(cells_of_run, (soft,), GatePolicy(), prefix="web/"))

    assert lines[0] == (
        "::error file=web/cases/shop.yaml,line=7,title=a%2Cb%3A0 on m%3A failed::50%25 ::error::x"
    )
    assert len(lines) == SHOWN + 1
    assert lines[-1] == "::warning title=soft gate failed%3A soft::low"


@given(st.text(alphabet=st.sampled_from(":# [\n\r\t\x0b\x85\u2028aé")))
def test_neutral_text_holds_no_command(text: str) -> None:
    safe = neutral(text)

    assert not any(line.strip().startswith("::") for line in safe.splitlines())
    assert "##[" not in safe


def test_the_summary_is_appended_and_cut_at_the_size_github_takes(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    environ = {"GITHUB_STEP_SUMMARY": str(file)}
    append_summary({}, "nowhere")
    append_summary(environ, "é" * 40 + "\n")

    append_summary(environ, ("ü" * 999 + "\n") * 2000)

    text = file.read_text(encoding="utf-8")
    assert SUMMARY_BYTES - 2100 < file.stat().st_size <= SUMMARY_BYTES
    assert text.startswith("é" * 40 + "\nüü")
    assert text.endswith("is in the run's report.*\n")


def test_paths_are_those_of_the_repository(tmp_path: Path) -> None:
    environ = {"GITHUB_WORKSPACE": str(tmp_path)}

    assert path_prefix(tmp_path / "web" / "tests", environ) == "web/tests/"
    assert path_prefix(tmp_path, environ) == ""
    assert path_prefix(tmp_path, {}) == ""
    assert path_prefix(tmp_path.parent, environ) == ""


def test_a_headline_counts_the_gates_that_are_listed_and_no_notice() -> None:
    decided = [
        GateResult(name="cost", passed=False, message="high"),
        GateResult(name="duration", passed=True, message="fine"),
        GateResult(name="group new", passed=False, message="low", soft=True),
        GateResult(name="drop", passed=None, message="nothing to compare"),
    ]
    policy = GatePolicy(compare="latest")
    (notice,) = evaluate_gates(AFTER, policy, baseline=BEFORE)

    lines = comment_body(AFTER, (*decided, notice), None).splitlines()

    assert lines[1] == ("## autoweb: ❌ 1 of 4 gates failed, 1 failed (soft), 1 not decided")
    assert sum(bool(re.match(r"- (✅|❌|⚠️|➖)", line)) for line in lines) == 4
    assert any(line.startswith("Note: baseline: compared with ") for line in lines)
    hold = comment_body(AFTER, (*decided[1:3], notice), None)
    assert hold.splitlines()[1] == "## autoweb: ✅ 1 of 2 gates hold, 1 failed (soft)"
    assert (
        comment_body(AFTER, (decided[1], notice), None)
        .splitlines()[1]
        .endswith("✅ all gates hold")
    )
    assert "no gate was decided" in comment_body(AFTER, (notice,), None)
