"""The run in markdown: `summary.md` on one screen, and the body of a comment on a pull request.

The comment is sticky: it lists each model's changes, and the gates.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import CaseReport, Report, ReportedPanel, Scalar
from pytest_autoweb.report.reported_agents import agents_by_hold
from pytest_autoweb.report.summary import MatrixCell, Summary
from pytest_autoweb.report.wording import (
    EVERY_STEP_RAN,
    chance_lines,
    count_of,
    different_cases,
    discrimination_line,
    execution_lines,
    flaky_cases,
    flips,
    gate_state,
    gates_alone,
    in_all_cases,
    in_order,
    limit_lines,
    median_seconds,
    models_in_modes,
    models_without_checks,
    money,
    newly_failing,
    percent,
    price_lines,
    ran_without_checks,
    rate,
    score_text,
    seconds,
    what_failed,
    with_baseline,
)
from pytest_autoweb.results.analysis.cell_numbers import (
    CellSummary,
    Numbers,
    RunRows,
    by_model,
    case_key,
)
from pytest_autoweb.results.analysis.comparison import CasePair, Comparison, compare_runs, points
from pytest_autoweb.results.analysis.controls import ControlRow, is_control
from pytest_autoweb.results.analysis.counted_outcomes import first_attempt_rate
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.side_files import GateResult

_SPECIAL = re.compile(r"[\\`*_\[\]|~]")
_MATRIX_ROWS = 60
_LISTED = 30
_REASON_CHARS = 300
_UNSTEADY = 10
_GATES = {
    "holds": "✅",
    "failed": "❌",
    "failed (soft)": "⚠️",
    "not decided": "➖",
}
_MARKS = {
    "passed": "✅ passed",
    "healed": "🔁 healed",
    "failed": "❌ failed",
    "broken": "⚠️ broken",
    "ungraded": "❔ ungraded",
    "skipped": "➖ skipped",
    "needs_input": "❓ needs input",
    "off_record": "⏏️ off the record",
}

LIMIT = 65_536
"""GitHub's limit on the characters of a comment."""
_LISTED_IN_COMMENT = 8
_CUT = "\n\n*Cut here; the whole report is among the artifacts of the run.*\n"


def render_markdown(report: Report) -> str:
    """Return the report as GitHub-flavoured markdown; foreign text cannot become markup in it."""
    summary = report.summary
    lines = [f"# autoweb report {escape(report.ts)}", "", _what_was_run(report), ""]
    notes = [*report.notes, *_outside(report)]
    lines += [f"> {escape(note, 600)}" for note in notes] + ([""] if notes else [])
    if summary is None or not report.cases:
        lines += [*_gates(report), "No cells were run.", ""]
    else:
        lines += _gates(report)
        lines += _models(summary, models_without_checks(report))
        lines += _execution(report)
        lines += _baseline(report)
        lines += _controls(summary.controls)
        lines += _unsteady(report)
        lines += _matrix(summary)
        lines += _failures(report.cases, models_in_modes(report))
    for panel in report.panels:
        lines += _panel(panel)
    lines += _analysis(report)
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str, limit: int = 300) -> str:
    """Return foreign text for a line or table cell, so that it makes no markup, link or mention."""
    safe = one_line(text, limit)
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _SPECIAL.sub(lambda match: "\\" + match[0], safe)
    safe = safe.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
    safe = re.sub(r"(?<!&)#", "&#35;", safe)
    # Only these can begin a list or underline a heading; `7.0` is a number.
    safe = re.sub(r"^([-+=])", r"\\\1", safe)
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", safe)


def _gates(report: Report) -> list[str]:
    lines = []
    for gate in in_order(gates_alone(report.gates)):
        lines.append(
            f"- {_GATES[gate_state(gate)]} **{escape(gate.title)}**: {escape(gate.message, 600)}"
        )
        if gate.passed is False:
            lines += [f"  - {escape(detail)}" for detail in gate.details[:_LISTED]]
    lines = ["## Gates", "", *lines, ""] if lines else []
    return [*lines, *_notices(report.gates)]


def _notices(gates: Sequence[GateResult]) -> Iterator[str]:
    """Yield what the gates have to say without deciding anything, as a list of its own."""
    notices = [gate for gate in gates if gate.notice]
    for notice in notices:
        yield f"Note: {escape(notice.title)}: {escape(notice.message, 600)}"
        yield from (f"  - {escape(detail)}" for detail in notice.details[:_LISTED])
        yield ""


def _outside(report: Report) -> list[str]:
    """Return the note about agents that are not confined like the built-in ones."""
    notes = agents_by_hold(report.agents).items()
    return [f"Outside agents ran: {names}: {note}." for names, note in notes]


def _baseline(report: Report) -> list[str]:
    lines = [
        f"- {escape(pair.b.model)} since {escape(pair.a.label)}: {escape(pair.verdict, 600)} "
        f"({flips(pair)})"
        for pair in with_baseline(report)
    ]
    return ["Compared with the baseline:", "", *lines, ""] if lines else []


def _unsteady(report: Report) -> list[str]:
    lines = [f"- never failed before: {escape(line)}" for line in newly_failing(report)]
    lines += [f"- flaky: {escape(line)}" for line in flaky_cases(report)]
    if len(lines) > _UNSTEADY:
        lines[_UNSTEADY:] = [f"- and {len(lines) - _UNSTEADY} more in index.html"]
    return [*lines, ""] if lines else []


def _what_was_run(report: Report) -> str:
    cells = sum(len(case.cells) for case in report.cases)
    workers = f"{report.workers} xdist workers" if report.workers else "one process"
    parts = [
        count_of(cells, "cell"),
        count_of(len(report.cases), "case"),
        ", ".join(report.capture_modes),
        seconds(report.duration_s),
        workers,
    ]
    text = " · ".join(escape(part) for part in parts if part)
    return text + (" · **interrupted**" if report.interrupted else "")


def _models(summary: Summary, unchecked: AbstractSet[str]) -> list[str]:
    if not summary.models:
        return ["Only the controls were run.", ""]
    head = ["model", "first attempt", "after repair", "graded only", "passed", "healed", "failed"]
    head += [
        "broken",
        "ungraded",
        "skipped",
        "needs input",
        "off record",
        "false success",
        "cost",
        "tokens in / out",
        "median",
    ]
    if scored := any(row.scores for row in summary.models):
        head.insert(3, "score")
    lines = [_row(head), _row(["---"] + ["---:"] * (len(head) - 1))]
    for row in summary.models:
        rated = row.model not in unchecked
        score = [score_text(row.scores.first_attempt if row.scores else None)] if scored else []
        lines.append(_row(_model_row(escape(row.model), row.numbers, score, rated=rated)))
        if len(row.by_capture) > 1:
            none = ["–"] * len(score)
            lines += [
                _row(
                    _model_row(f"↳ in {escape(mode.capture_mode)}", mode.numbers, none, rated=rated)
                )
                for mode in row.by_capture
            ]
    lines += [
        "",
        "Rates with 95% intervals over cases. Graded only: without broken and ungraded cells and "
        "without cases whose controls are broken.",
    ]
    if about := list(different_cases(summary)):
        lines += ["", escape(about[0], 600), "", *(f"- {escape(line, 600)}" for line in about[1:])]
    if prices := [*price_lines(summary), *limit_lines(summary)]:
        lines += ["", *(f"- {escape(line, 400)}" for line in prices)]
    if above := list(chance_lines(summary)):
        lines += ["", escape(above[0], 600), "", *(f"- {escape(line, 600)}" for line in above[1:])]
    if apart := discrimination_line(summary):
        lines += ["", f"{escape(apart, 600)}."]
    verdict = summary.verdict if {row.model for row in summary.models} - unchecked else ""
    return [*lines, "", f"**{escape(verdict)}**", ""] if verdict else [*lines, ""]


def _execution(report: Report) -> list[str]:
    """Return what is known of cases without checks, apart from every pass rate."""
    lines = list(execution_lines(report))
    if not lines:
        return []
    return [escape(lines[0], 600), "", *(f"- {escape(line, 600)}" for line in lines[1:]), ""]


def _model_row(name: str, n: Numbers, score: list[str], *, rated: bool) -> list[str]:
    graded = f"{percent(n.first_attempt.graded.value)} → {percent(n.after_repair.graded.value)}"
    return [
        name,
        rate(n.first_attempt.all_trials) if rated else "no checks",
        rate(n.after_repair.all_trials) if rated else "no checks",
        *score,
        f"{graded} of {n.first_attempt.graded.trials}" if rated else "no checks",
        *(str(count) for count in n.counts.model_dump().values()),
        str(n.false_success),
        money(n.cost, n.calls),
        f"{n.input_tokens:,} / {n.output_tokens:,}",
        median_seconds(n),
    ]


def _controls(rows: Sequence[ControlRow]) -> list[str]:
    rows = [row for row in rows if row.oracle or row.noop]
    if not rows:
        return []
    doubtful = [row for row in rows if {row.oracle, row.noop} - {None, "holds"}]
    if not doubtful:
        return [f"Controls hold {in_all_cases(len(rows))}.", ""]
    lines = [f"Controls are in doubt in {len(doubtful)} of {count_of(len(rows), 'case')}:", ""]
    return [
        *lines,
        *(f"- {escape(row.case_id)}: {escape(row.reason)}" for row in doubtful[:_LISTED]),
        "",
    ]


def _matrix(summary: Summary) -> list[str]:
    if not 0 < len(summary.matrix) <= _MATRIX_ROWS:
        return []
    models = [row.model for row in summary.models]
    in_modes = {row.model for row in summary.models if len(row.by_capture) > 1}
    lines = [_row(["case", *map(escape, models)]), _row(["---"] * (len(models) + 1))]
    for row in summary.matrix:
        cells = {
            model: [_mark(cell, in_modes) for cell in row.cells if cell.model == model]
            for model in models
        }
        lines.append(_row([escape(row.case_id), *(", ".join(cells[model]) for model in models)]))
    return [*lines, ""]


def _mark(cell: MatrixCell, in_modes: Collection[str]) -> str:
    mark = _MARKS[cell.outcome]
    if cell.without_checks and cell.outcome == "ungraded":
        mark = f"❔ {EVERY_STEP_RAN}"
    return f"{escape(cell.capture_mode)}: {mark}" if cell.model in in_modes else mark


def _failures(cases: tuple[CaseReport, ...], in_modes: Collection[str]) -> list[str]:
    bad = [
        cell
        for case in cases
        for cell in case.cells
        if not (
            cell.passed
            or cell.outcome == "skipped"
            or is_control(cell.model)
            or ran_without_checks(cell)
        )
    ]
    if not bad:
        return []
    lines = ["<details><summary>What went wrong</summary>", ""]
    lines += [_failure_line(cell, in_modes) for cell in bad[:_LISTED]]
    if len(bad) > _LISTED:
        lines.append(f"- and {len(bad) - _LISTED} more in index.html")
    return [*lines, "", "</details>", ""]


def _failure_line(cell: CellResult, in_modes: Collection[str]) -> str:
    mode = f" in {escape(cell.capture_mode)}" if cell.model in in_modes else ""
    return (
        f"- {escape(cell.case_id)} on {escape(cell.model)}{mode}: {cell.outcome}: "
        f"{escape(what_failed(cell, _REASON_CHARS, expected=True), _REASON_CHARS)}"
    )


def _panel(panel: ReportedPanel) -> list[str]:
    lines = [f"## {escape(panel.title)}", ""]
    if panel.error:
        lines += [f"> {escape(panel.error, 600)}", ""]
    if panel.note:
        lines += [escape(panel.note, 600), ""]
    if panel.facts:
        lines += [f"- {escape(name)}: {_value(fact)}" for name, fact in panel.facts.items()]
        lines.append("")
    if panel.columns:
        lines += [_row([*map(escape, panel.columns)]), _row(["---"] * len(panel.columns))]
        lines += [_row([*map(_value, row)]) for row in panel.rows[:_LISTED]]
        lines.append("")
    if more := len(panel.rows[_LISTED:]) + panel.rows_left_out:
        lines += [f"and {more} more rows", ""]
    return lines


def _value(value: Scalar) -> str:
    return "–" if value is None else escape(str(value))


def _analysis(report: Report) -> list[str]:
    if report.local_analysis_error:
        return [f"No local analysis: {escape(report.local_analysis_error)}", ""]
    if not report.local_analysis:
        return []
    lines = [f"## Local analysis by {escape(report.local_analysis_model or '')}", ""]
    said = [escape(line, 2000) for line in report.local_analysis.splitlines()]
    return [*lines, *(f"> {line}" if line else ">" for line in said), ""]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def marker(key: str) -> str:
    """Return the hidden first line that identifies an existing comment."""
    return f"<!-- autoweb-comment {re.sub('[^A-Za-z0-9_.]+', '-', key) or 'default'} -->"


def comment_body(
    rows: RunRows,
    gates: Sequence[GateResult],
    baseline: RunRows | None,
    *,
    key: str = "default",
    link: str = "",
    unfinished: str = "",
) -> str:
    """Return the comment in GitHub's markdown, in which foreign text cannot become markup.

    Args:
        rows: the run.
        gates: the gates of the run.
        baseline: the run to compare with.
        key: a name that keeps several comments on one pull request apart.
        link: the address of the whole report, if it has one.
        unfinished: why the run did not come to its end, if it did not.
    """
    pairs = compare_runs(baseline, rows) if baseline else ()
    lines = [marker(key), f"## autoweb: {_headline(gates, unfinished)}", ""]
    lines += _scores(rows, {pair.b.model: pair for pair in pairs})
    lines += _gates_in_comment(gates, {pair.verdict for pair in pairs})
    lines += _changes(pairs)
    lines.append(_foot(rows, baseline))
    if link.startswith(("https://", "http://")):
        lines += ["", f"[Whole report]({re.sub(r'[^!-~]|[()<>]', '', link)})"]
    return _cut("\n".join(lines) + "\n")


def _headline(gates: Sequence[GateResult], unfinished: str) -> str:
    """Return the verdict of the gates, whose numbers add up to the rows that are listed."""
    asked = gates_alone(gates)
    states = Counter(map(gate_state, asked))
    uncounted = ("failed (soft)", "not decided")
    rest = "".join(f", {states[state]} {state}" for state in uncounted if states[state])
    if states["failed"]:
        return f"❌ {states['failed']} of {len(asked)} gates failed{rest}"
    if unfinished:
        return f"❌ {unfinished}"
    if states["holds"] == len(asked) > 0:
        return "✅ all gates hold"
    if states["not decided"] == len(asked):
        return "no gate was decided"
    mark = "✅" if states["holds"] else "⚠️"
    return f"{mark} {states['holds']} of {len(asked)} gates hold{rest}"


def _scores(rows: RunRows, pairs: dict[str, Comparison]) -> Iterator[str]:
    contestants = [row for row in rows.rows if not is_control(row.model)]
    yield "| model | Score | Δ | Improvements | Regressions |"
    yield "|---|--:|--:|--:|--:|"
    for model, own in by_model(contestants).items():
        pair = pairs.get(model)
        yield f"| {escape(model)} | {_score(own)} | {_delta(pair)} | {_flips(pair)} |"
    yield ""
    yield from _different_cases(by_model(contestants))
    if pairs:
        models: dict[str, list[str]] = {}
        for pair in pairs.values():
            models.setdefault(pair.verdict, []).append(pair.b.model)
        # Of few cases, all verdicts say the same.
        yield from (
            f"- {escape(', '.join(of))}: {escape(verdict)}" for verdict, of in models.items()
        )
        yield ""


def _different_cases(models: Mapping[str, Sequence[CellSummary]]) -> Iterator[str]:
    """Yield the scores on the common cases, if the models were run on different ones."""
    ran = {name: [row for row in own if row.outcome != "skipped"] for name, own in models.items()}
    cases = [{case_key(row) for row in own} for own in ran.values() if own]
    common = set.intersection(*cases) if cases else set()
    if all(own == common for own in cases):
        return
    yield f"The models were run on different cases; {len(common)} of them on all:"
    yield ""
    for model, own in ran.items():
        score = _score([row for row in own if case_key(row) in common])
        count = len({case_key(row) for row in own})
        yield f"- {escape(model)}: {count_of(count, 'case')}; {score} on the common ones"
    yield ""


def _score(rows: Sequence[CellSummary]) -> str:
    return rate(first_attempt_rate(rows))


def _delta(pair: Comparison | None) -> str:
    if pair is None or pair.difference is None:
        return "–"
    sure = "" if pair.decisive else " (not decisive)"
    return f"{points(pair.difference)}{sure}"


def _flips(pair: Comparison | None) -> str:
    return "– | –" if pair is None else f"{pair.gained} 🟢 | {pair.lost} 🔴"


def _gates_in_comment(gates: Sequence[GateResult], said: Collection[str]) -> Iterator[str]:
    asked = gates_alone(gates)
    if asked:
        yield "### Gates"
        yield ""
    for gate in asked:
        mark = {True: "✅", False: "⚠️ soft" if gate.soft else "❌", None: "➖"}[gate.passed]
        yield f"- {mark} **{escape(gate.title)}**: {escape(gate.message)}"
        details = [detail for detail in gate.details if detail not in said]
        yield from (
            f"  - {escape(detail)}"
            for detail in details[:_LISTED_IN_COMMENT]
            if gate.passed is not True
        )
    if asked:
        yield ""
    yield from _notices(gates)


def _changes(pairs: Sequence[Comparison]) -> Iterator[str]:
    for pair in pairs:
        flips = [case for case in pair.cases if case.flip != "same"]
        if not flips:
            continue
        yield f"<details><summary>Cases that changed on {escape(pair.b.model)}</summary>"
        yield ""
        yield from (_case_line(case) for case in flips[: 4 * _LISTED_IN_COMMENT])
        if len(flips) > 4 * _LISTED_IN_COMMENT:
            yield f"- and {len(flips) - 4 * _LISTED_IN_COMMENT} more"
        yield ""
        yield "</details>"
        yield ""


def _case_line(case: CasePair) -> str:
    mark = "🟢" if case.flip == "gained" else "🔴"
    return f"- {mark} {escape(case.case_id)}: {case.mean_a:.0%} → {case.mean_b:.0%}"


def _foot(rows: RunRows, baseline: RunRows | None) -> str:
    if baseline is None:
        return f"Run {escape(rows.ts)}; there was no run to compare with."
    label = baseline.name or baseline.ts
    of = f" of commit {escape(baseline.commit)}" if baseline.commit else ""
    return (
        f"Run {escape(rows.ts)} compared with {escape(label)}{of}. "
        "Score: first attempt, 95% interval; cells without a verdict count as not passed."
    )


def _cut(text: str) -> str:
    if len(text) <= LIMIT:
        return text
    whole = text[: text.rfind("\n", 0, LIMIT - len(_CUT) - len("\n</details>\n"))]
    inside = whole.count("<details>") > whole.count("</details>")
    return whole + ("\n\n</details>" if inside else "") + _CUT
