"""The headlines of a run for terminal and markdown: gates, baseline and flaky cases.

The sentences contain foreign text unchanged; the code that prints them must make it safe.
"""

from collections.abc import Iterator, Sequence

from pytest_autoweb.report.comparison import Comparison
from pytest_autoweb.report.gate_result import GateResult
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results import Outcome

_LETTERS: dict[Outcome, str] = {
    "passed": "P",
    "healed": "H",
    "failed": "F",
    "broken": "B",
    "ungraded": "U",
    "skipped": "S",
}


_URGENCY = ("failed", "failed (soft)", "not decided", "holds")


def gate_state(gate: GateResult) -> str:
    """Return the state of a gate in words."""
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
    for row in repeats:
        known.add((row.case_path, row.case_id, row.model, row.capture_mode))
        letters = " ".join(_LETTERS[outcome] for outcome in row.outcomes)
        yield f"{row.case_id} on {row.model}: {letters}"
    for case in report.history.flaky if report.history else ():
        if (case.case_path, case.case_id, case.model, case.capture_mode) in known:
            continue
        passed = case.passed + case.healed
        trials = count_of(passed + case.failed, "try", "tries")
        runs = count_of(case.runs, "run")
        yield f"{case.case_id} on {case.model}: passed {passed} of {trials} in {runs}"


def newly_failing(report: Report) -> Iterator[str]:
    """Yield the cases that never failed in earlier runs and now fail on every repeat."""
    for case in report.history.steady if report.history else ():
        if case.broke:
            before = count_of(case.trials, "time")
            yield f"{case.case_id} on {case.model}: passed {before} before, now fails every time"
