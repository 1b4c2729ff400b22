"""The body of a sticky comment on a pull request: what changed for each model, and the gates."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_autoweb.analysis.cell_numbers import CellSummary, RunRows, by_model, case_key
from pytest_autoweb.analysis.comparison import CasePair, Comparison, compare_runs, points
from pytest_autoweb.analysis.pairing import first_attempt_rate
from pytest_autoweb.analysis.verdict_validity import is_control
from pytest_autoweb.report.markdown import escape
from pytest_autoweb.report.wording import rate
from pytest_autoweb.runs.side_files import GateResult

LIMIT = 65_536
"""The most characters that GitHub accepts in a comment."""
_LISTED = 8
_CUT = "\n\n*Cut here; the whole report is among the artifacts of the run.*\n"


def marker(key: str) -> str:
    """Return the hidden first line by which an existing comment is found."""
    return f"<!-- autoweb-comment {re.sub('[^A-Za-z0-9_.]+', '-', key) or 'default'} -->"


def comment_body(
    rows: RunRows,
    gates: Sequence[GateResult],
    baseline: RunRows | None,
    *,
    key: str = "default",
    link: str = "",
) -> str:
    """Return the comment in GitHub's markdown, in which foreign text cannot become markup.

    Args:
        rows: the run.
        gates: the gates of the run.
        baseline: the run to compare with.
        key: a name that keeps several comments on one pull request apart.
        link: the address of the whole report, if it has one.
    """
    pairs = compare_runs(baseline, rows) if baseline else ()
    lines = [marker(key), f"## autoweb: {_headline(gates)}", ""]
    lines += _scores(rows, {pair.b.model: pair for pair in pairs})
    lines += _gates(gates, {pair.verdict for pair in pairs})
    lines += _changes(pairs)
    lines.append(_foot(rows, baseline))
    if link.startswith(("https://", "http://")):
        lines += ["", f"[Whole report]({re.sub(r'[^!-~]|[()<>]', '', link)})"]
    return _cut("\n".join(lines) + "\n")


def _headline(gates: Sequence[GateResult]) -> str:
    decided = [gate for gate in gates if gate.passed is not None and not gate.soft]
    failed = sum(gate.failed for gate in decided)
    if failed:
        return f"❌ {failed} of {len(decided)} gates failed"
    return "✅ all gates hold" if decided else "no gate was decided"


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
        yield from (f"- {escape(pair.b.model)}: {escape(pair.verdict)}" for pair in pairs.values())
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
        yield f"- {escape(model)}: {count} cases; {score} on the common ones"
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


def _gates(gates: Sequence[GateResult], said: Collection[str]) -> Iterator[str]:
    if not gates:
        return
    yield "### Gates"
    yield ""
    for gate in gates:
        mark = {True: "✅", False: "⚠️ soft" if gate.soft else "❌", None: "➖"}[gate.passed]
        yield f"- {mark} **{escape(gate.title)}**: {escape(gate.message)}"
        details = [detail for detail in gate.details if detail not in said]
        yield from (
            f"  - {escape(detail)}" for detail in details[:_LISTED] if gate.passed is not True
        )
    yield ""


def _changes(pairs: Sequence[Comparison]) -> Iterator[str]:
    for pair in pairs:
        flips = [case for case in pair.cases if case.flip != "same"]
        if not flips:
            continue
        yield f"<details><summary>Cases that changed on {escape(pair.b.model)}</summary>"
        yield ""
        yield from (_case_line(case) for case in flips[: 4 * _LISTED])
        if len(flips) > 4 * _LISTED:
            yield f"- and {len(flips) - 4 * _LISTED} more"
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
