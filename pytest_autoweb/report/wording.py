"""Wording of numbers and foreign text for the terminal and markdown, and a run's headlines."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.summary import Summary
from pytest_autoweb.results.analysis.cell_numbers import Cost, Numbers, PassRate
from pytest_autoweb.results.analysis.chance import AboveChance
from pytest_autoweb.results.analysis.comparison import Comparison, points, signed_range
from pytest_autoweb.results.analysis.limits import LimitShare
from pytest_autoweb.results.analysis.price import Median, PriceOfPass
from pytest_autoweb.results.analysis.robustness import Robustness
from pytest_autoweb.results.analysis.scores import MeanScore
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.results.records import BROKEN, OUTCOME_LETTERS, Attempt, CellResult
from pytest_autoweb.results.runs.side_files import GateResult

NAMED = 5
"""Limit on the cases named in one line."""

_URGENCY = ("failed", "failed (soft)", "not decided", "holds")


def gates_alone(gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates without what only informs the reader."""
    return [gate for gate in gates if not gate.notice]


def gate_state(gate: GateResult) -> str:
    if gate.passed is None:
        return "not decided"
    if gate.passed:
        return "holds"
    return "failed (soft)" if gate.soft else "failed"


def in_order(gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates with the failed ones first."""
    return sorted(gates, key=lambda gate: _URGENCY.index(gate_state(gate)))


def with_baseline(report: Report) -> list[Comparison]:
    """Return the comparisons of this run with an earlier one."""
    return [comparison for comparison in report.comparisons if comparison.kind == "runs"]


def flips(comparison: Comparison) -> str:
    """Return how many cases changed, such as `2 gained, 1 lost, 9 same`."""
    return f"{comparison.gained} gained, {comparison.lost} lost, {comparison.same} same"


def flaky_cases(report: Report) -> Iterator[str]:
    """Yield the flaky cases of this run, then those that are flaky only across several runs."""
    repeats = report.summary.flaky if report.summary else ()
    known = set()
    several = models_in_modes(report)
    for row in repeats:
        known.add((row.case_path, row.case_id, row.model, row.capture_mode))
        letters = " ".join(OUTCOME_LETTERS[outcome] for outcome in row.outcomes)
        mode = f" in {row.capture_mode}" if row.model in several else ""
        yield f"{row.case_id} on {row.model}{mode}: {letters}"
    for case in report.history.flaky if report.history else ():
        if (case.case_path, case.case_id, case.model, case.capture_mode) in known:
            continue
        passed = case.passed + case.healed
        trials = count_of(passed + case.failed, "try", "tries")
        runs = count_of(case.runs, "run")
        mode = f" in {case.capture_mode}" if case.model in several else ""
        yield f"{case.case_id} on {case.model}{mode}: passed {passed} of {trials} in {runs}"


def models_in_modes(report: Report) -> set[str]:
    """Return the models that were run in several capture modes, so that lines name the mode."""
    models = report.summary.models if report.summary else ()
    return {row.model for row in models if len(row.by_capture) > 1}


def different_cases(summary: Summary) -> Iterator[str]:
    """Yield lines on the cases behind each model's rate, if these differ between models."""
    rows = [(row, row.on_common) for row in summary.models if row.on_common]
    if not rows:
        return
    common = count_of(rows[0][1].cases, "case") if rows[0][1].cases else "no case"
    yield f"The models were run on different cases ({common} on all of them):"
    for row, rates in rows:
        own = count_of(row.numbers.first_attempt.all_trials.cases, "case")
        line = f"{one_line(row.model, 48)}: {own}{_without(row.not_run)}"
        if rates.cases:
            first, after = rates.first_attempt.all_trials, rates.after_repair.all_trials
            line += f"; on the common ones {rate(first)} at first, {rate(after)} after repair"
        yield line


def chance_lines(summary: Summary) -> Iterator[str]:
    """Yield lines on what random actions pass, and how far above that each model is."""
    played = [row for row in summary.controls if row.random_runs]
    if not played:
        return
    passed, runs = sum(r.random_passed for r in played), sum(r.random_runs for r in played)
    solved = [row.case_id for row in played if row.by_chance]
    every = f"; every time: {_named(solved)}" if solved else ""
    yield f"By chance: random actions passed {passed} of {count_of(runs, 'run')}{every}"
    for row in summary.models:
        if row.above_chance:
            yield f"{one_line(row.model, 48)}: {_above(row.above_chance)}"


def _above(found: AboveChance) -> str:
    between = found.interval
    told = f" (95% {signed_range(between)})" if between else ""
    where = f"{found.rate:.0%} against {found.floor:.0%} on {count_of(found.cases, 'case')}"
    return f"{points(found.difference)} above chance{told}, {where}"


def price_lines(summary: Summary) -> Iterator[str]:
    """Yield what a passed cell of each model took, as medians."""
    for row in summary.models:
        if row.price and row.price.calls.value:
            yield f"a pass of {one_line(row.model, 48)} takes {_price(row.price)}"


def _price(found: PriceOfPass) -> str:
    parts = [
        _counted(found.calls, "call"),
        f"{median_text(found.tokens, '{:,.0f}'.format)} tokens",
        median_text(found.seconds),
    ]
    if found.actions:
        beside = found.beside_oracle
        oracle = f", {median_text(beside, '{:.1f}'.format)} × the oracle's" if beside else ""
        parts.append(_counted(found.actions, "action") + oracle)
    if found.usd:
        parts.append(median_text(found.usd, lambda usd: money(Cost(usd=usd, complete=True), 1)))
    medians = f"medians of {found.passed}" if found.passed > 1 else "the only one"
    return f"{', '.join(parts)} ({medians}{' with 95% intervals' if found.calls.interval else ''})"


def _counted(found: Median, one: str) -> str:
    """Return a median number of things, such as `1 call` or `2 (1–3) calls`."""
    single = found.value == 1 and not found.interval
    return f"{median_text(found, '{:g}'.format)} {one if single else one + 's'}"


def median_text(found: Median, write: Callable[[float], str] | None = None) -> str:
    """Return a median with its interval, by default of seconds, such as `2.3 s (1.9 s–3.1 s)`."""
    write = write or seconds
    return write(found.value) + (f" ({_between(found.interval, write)})" if found.interval else "")


def _between(interval: Interval, write: Callable[[float], str]) -> str:
    return f"{write(interval.low)}–{write(interval.high)}"


def median_seconds(numbers: Numbers) -> str:
    """Return the median time of a cell with its interval, such as `2.3 s (1.9 s–3.1 s)`."""
    if numbers.median_s is None:
        return seconds(None)
    return median_text(Median(value=numbers.median_s, interval=numbers.median_interval))


def score_text(found: MeanScore | None) -> str:
    """Return a mean score with its interval, such as `62% (48–75%)`; a dash for None."""
    if found is None:
        return "–"
    low, high = round(found.interval.low * 100), round(found.interval.high * 100)
    return f"{found.value:.0%} ({low}–{high}%)"


def limit_lines(summary: Summary) -> Iterator[str]:
    """Yield which share of each model's attempts a limit ended, for models with such attempts."""
    for row in summary.models:
        if row.limits and row.limits.share:
            yield f"{one_line(row.model, 48)}: {_limits(row.limits)}"


def _limits(found: LimitShare) -> str:
    counts = {
        "time": found.time,
        "steps": found.steps,
        "tokens": found.tokens,
        "the cost cap": found.cost,
    }
    parts = ", ".join(f"{count} by {name}" for name, count in counts.items() if count)
    low, high = (found.interval.low, found.interval.high) if found.interval else (0.0, 1.0)
    return (
        f"a limit ended {found.share:.0%} ({low:.0%} to {high:.0%}) of "
        f"{count_of(found.attempts, 'attempt')}: {parts}"
    )


def discrimination_line(summary: Summary) -> str:
    """Return how many cases tell the models apart; empty without several models."""
    found = summary.discrimination
    if found is None:
        return ""
    same = (
        (found.all_pass, "all models pass"),
        (found.none_pass, "no model passes"),
        (found.alike, "all pass equally often"),
    )
    told = "; ".join(f"{what} {_named(cases)}" for cases, what in same if cases)
    count = sum(map(len, (found.apart, found.all_pass, found.none_pass, found.alike)))
    apart = f"{len(found.apart)} of {count_of(count, 'case')} tell the models apart"
    return f"{apart}: {told}" if told else apart


def _named(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(one_line(case, 48) for case in cases[:NAMED]) + more


def _without(cases: Sequence[str]) -> str:
    if not cases:
        return ""
    return f", without {_named(cases)}"


def newly_failing(report: Report) -> Iterator[str]:
    """Yield the cases that never failed in earlier runs and now fail on every repeat."""
    several = models_in_modes(report)
    for case in report.history.steady if report.history else ():
        if case.broke:
            before = count_of(case.trials, "time")
            mode = f" in {case.capture_mode}" if case.model in several else ""
            who = f"{case.case_id} on {case.model}{mode}"
            yield f"{who}: passed {before} before, now fails every time"


def count_of(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as `1 case` or `2 cases`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def in_all_cases(n: int) -> str:
    """Return in words that something is so in all of some cases."""
    return f"in all {n} cases" if n > 1 else "in the one case"


def percent(value: float | None) -> str:
    """Return a rate in percent, or a dash if there is none."""
    return "–" if value is None else f"{value:.0%}"


def rate(rate: PassRate) -> str:
    """Return a rate with its interval and counts, such as `70% (48–85%), 14 of 20`."""
    if rate.interval is None:
        return "–"
    low, high = round(rate.interval.low * 100), round(rate.interval.high * 100)
    return f"{percent(rate.value)} ({low}–{high}%), {rate.passed_trials} of {rate.trials}"


def money(cost: Cost, calls: int) -> str:
    """Return a cost in US dollars, marked when it is unknown or only a lower bound."""
    if calls == 0 and cost.complete:
        return "–"
    if cost.usd is None or (cost.usd == 0 and not cost.complete):
        return "unknown"
    digits = 0 if cost.usd == 0 else 5 if cost.usd < 0.01 else 3 if cost.usd < 1 else 2
    return f"{'' if cost.complete else '≥ '}${cost.usd:.{digits}f}"


def seconds(value: float | None) -> str:
    """Return a duration in seconds or minutes, or a dash for None."""
    if value is None:
        return "–"
    if value >= 90:
        return f"{int(value // 60)} min {int(value % 60)} s"
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def width(text: str) -> int:
    """Return the columns that a text takes in a terminal, two for wide East Asian characters."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def verdict_of(attempt: Attempt) -> str:
    """Return `ok` or `failed`; `unjudged` if no check that ran could be evaluated; `asked`.

    The checks decide, as they do for the outcome, even if a step failed on the way. An attempt that
    infrastructure broke has no verdict (`-`).
    """
    if attempt.failure and attempt.failure.kind in BROKEN and not attempt.checks_passed:
        return "-"
    if attempt.failure and attempt.failure.kind == "question":
        return "asked"
    if attempt.executed and attempt.checks_passed is None:
        return "unjudged"
    return "ok" if attempt.checks_passed else "failed"


EVERY_STEP_RAN = "every step ran (no proof)"
"""What is told of a cell without checks, in place of a verdict."""


_REPAIR_BROKE = " (the repair broke: "


def what_failed(cell: CellResult, limit: int = 200, *, expected: bool = False) -> str:
    """Return what failed, in the first words of the cell's reason, on one line.

    A check is named with what it saw, such as `check 1 sql: saw Code_Defect`, and a step with its
    number. The result is empty if nothing failed.

    Args:
        cell: the cell.
        limit: the most characters.
        expected: also say what a check expected, and how a repair broke.
    """
    if cell.outcome in ("passed", "healed", "skipped"):
        return ""
    if ran_without_checks(cell):
        return EVERY_STEP_RAN
    failure = cell.failure
    if failure is None:
        return one_line(cell.reason, limit)
    if failure.kind == "check":
        decided = next((a for a in reversed(cell.attempts) if a.failure == failure), None)
        checks = decided.checks if decided else ()
        unmet = next((c for c in checks if c.passed is False and not c.advisory), None)
        if unmet is not None:
            saw = f"saw {unmet.actual}" if unmet.actual.strip() else "not met"
            _, broke, how = cell.reason.partition(_REPAIR_BROKE)
            more = f"; expected {unmet.expected}{broke}{how}" if expected else ""
            return one_line(f"check {unmet.number} {unmet.type}: {saw}{more}", limit)
    step = f"step {failure.step_index}: " if failure.step_index is not None else ""
    said = cell.reason or failure.message
    return one_line(step + (said if expected else said.partition(_REPAIR_BROKE)[0]), limit)


def failure_name(type_: str, kind: str | None = "") -> str:
    """Return the name of a failure type for readers; the stored one is the classification's.

    Args:
        type_: the stored type, such as `DATA_NOT_FOUND`.
        kind: the kind below it, if it is known; empty where several are counted together.
    """
    if type_ == "VALIDATION_ERROR":
        # To a tester, a validation error is what a form shows.
        if kind == "claim":
            return "check not met"
        return "value refused" if kind else "check not met or value refused"
    return type_.lower().replace("_", " ")


def ran_without_checks(cell: CellResult) -> bool:
    """Tell whether every step of a cell ran, and there are no checks to give a verdict."""
    return cell.without_checks and cell.outcome == "ungraded"


def execution_lines(report: Report) -> Iterator[str]:
    """Yield what is known of cases without checks: rates, comparisons, and how to get verdicts."""
    execution = report.execution
    if execution is None:
        return
    cases = count_of(execution.cases, "case")
    has = "has" if execution.cases == 1 else "have"
    yield (
        f"{cases} {has} no checks: that every step ran is no proof. For verdicts add `expect:` "
        "(docs/checks.md), start from `autoweb init`, or let a `judge` decide (docs/judge.md)."
    )
    for each in execution.models:
        repaired = each.after_repair.passed_trials > each.first_attempt.passed_trials
        after = f"; after repair {rate(each.after_repair)}" if repaired else ""
        yield f"{each.model}: every step ran in {rate(each.first_attempt)}{after}"
    leaders = {each.model for each in execution.models[:2]}
    for pair in execution.comparisons:
        if {pair.a.model, pair.b.model} == leaders:
            yield f"{pair.a.label} against {pair.b.label}: {pair.verdict}"


def robustness_lines(report: Report) -> Iterator[str]:
    """Yield what each change of the page costs each model, and where it was not fair."""
    for each in report.robustness:
        yield f"{each.model} under {each.change}: {robustness_text(each)}"


def robustness_text(found: Robustness) -> str:
    """Return what one change of the page costs one model, and the number of cases left out."""
    told = "no case to compare"
    if found.loss is not None:
        between = found.interval
        sure = f" (95% {signed_range(between)})" if between else ""
        cases = count_of(found.cases, "case")
        told = f"loses {points(found.loss).lstrip('+')}{sure} over {cases}"
    left = {"unfair": found.unfair, "unproven": found.unproven, "never met": found.never_met}
    return told + "".join(f"; {len(ids)} {word}, left out" for word, ids in left.items() if ids)


def models_without_checks(report: Report) -> set[str]:
    """Return the models none of whose cells has checks, so that they have no pass rate."""
    cells = [cell for case in report.cases for cell in case.cells if cell.outcome != "skipped"]
    return {cell.model for cell in cells} - {c.model for c in cells if not c.without_checks}


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(pad(text, size) for text, size in zip(row, widths, strict=True) if size).rstrip()
        for row in rows
    ]
