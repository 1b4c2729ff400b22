"""Maps a cell's outcome to pytest's: passed, failed, skipped or expected to fail."""

import re
from collections.abc import Iterator, Sequence

import pytest

from pytest_autoweb.cell.cell_outcome import NO_CHECKS
from pytest_autoweb.report.foreign_text import clean_lines, one_line
from pytest_autoweb.report.gates.gate_policy import GatePolicy, read_policy
from pytest_autoweb.report.github_actions import neutral
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import is_graded
from pytest_autoweb.results.analysis.controls import (
    NOOP,
    RANDOM,
    is_control,
    must_fail,
    proves_change,
)
from pytest_autoweb.results.analysis.fair_changes import page_change
from pytest_autoweb.results.records import Attempt, CellResult
from pytest_autoweb.settings.run_settings import Settings

POLICY: pytest.StashKey[GatePolicy] = pytest.StashKey()


class CellEnded(Exception):
    """Raised when a cell did not pass; carries its result for the test report."""

    def __init__(self, result: CellResult) -> None:
        self.result = result
        super().__init__(f"{result.outcome}: {result.reason}")


class CellFailed(CellEnded, AssertionError):
    """Raised when a check does not hold; other plugins tell by its base that a test has failed."""


class CellBroken(CellEnded):
    """Raised when infrastructure failed, which other plugins show as an error of the test."""


def policy_of(config: pytest.Config, settings: Settings) -> GatePolicy:
    """Return the session's gates, which each process reads once.

    Raises:
        SettingsError: a flag or a group's table is invalid.
    """
    if POLICY not in config.stash:
        config.stash[POLICY] = read_policy(settings)
    return config.stash[POLICY]


def raise_outcome(result: CellResult, policy: GatePolicy) -> None:
    """Translate the outcome into pytest's terms.

    Where a gate decides, a failed cell is an expected failure: it neither fails the session nor
    counts for `-x`. Controls and pinned cases are never left to a gate.
    """
    if must_fail(result.model):
        done = "nothing" if result.model == NOOP else "not everything"
        if result.outcome == "failed":
            pytest.xfail(f"the control holds: doing {done} does not pass the checks")
        if result.outcome in ("passed", "healed"):
            reason = f"the checks pass although {done} was done"
            raise CellFailed(result.model_copy(update={"reason": reason}))
    if result.model == RANDOM and result.outcome == "failed":
        pytest.xfail("random actions do not pass the checks, as they seldom do")
    if proves_change(result.model) and result.outcome == "failed":
        pytest.xfail("the task cannot be done any more: the change is unfair to this case")
    if result.outcome in ("ungraded", "needs_input", "off_record", "skipped"):
        pytest.skip(_shown(f"{result.outcome}: {result.reason}"))
    if result.outcome in ("passed", "healed"):
        return
    gated = policy.decides_on(result) or ("robust" in policy.limits and page_change(result))
    if gated and not policy.is_pinned(result) and not is_control(result.model):
        pytest.xfail(_shown(f"the gates decide ({result.outcome}: {result.reason})"))
    raise (CellBroken if result.outcome == "broken" else CellFailed)(result)


def is_lost(report: pytest.TestReport) -> bool:
    """Tell whether a report is of a cell that a compared model lost in a case it may lose."""
    if not report.failed:
        return False
    facts = {name: value for name, value in report.user_properties if isinstance(name, str)}
    return (
        facts.get("autoweb.outcome") == "failed"
        and not facts.get("autoweb.must_pass")
        and not is_control(str(facts.get("autoweb.model")))
    )


def never_graded(cells: Sequence[CellResult]) -> dict[str, str]:
    """Return the models without a single verdict, each with the reason from its first such cell.

    Cells without checks do not count, because there was nothing to grade.
    """
    graded = {cell.model for cell in cells if is_graded(cell)}
    return {
        cell.model: cell.reason
        for cell in reversed(cells)
        if cell.outcome in ("broken", "ungraded", "needs_input", "off_record")
        and cell.model not in graded
        and cell.reason != NO_CHECKS
    }


def no_verdicts(cells: Sequence[CellResult]) -> list[str]:
    """Return a sentence for each model that was never graded; any such model fails the run."""
    return [
        f"no verdict on {model}: none of its cells could be graded ({why})"
        for model, why in never_graded(cells).items()
    ]


def describe(result: CellResult) -> list[str]:
    """Describe a failed cell in a few lines without commands for a CI runner."""
    lines = [f"{result.case_id} on {result.model}: {result.outcome.upper()} - {result.reason}"]
    if result.failure is not None and "unreachable" in result.failure.evidence:
        # The end of the output says once for the address what would start a server there.
        return [_shown(lines[0])]
    for attempt in result.attempts:
        steps = " ".join(f"{r.step_index}:{r.status}" for r in attempt.step_results)
        turns = f"{count_of(attempt.turns, 'turn')}, " if attempt.turns else ""
        lines.append(f"  attempt {attempt.attempt_index}: {turns}steps {steps or 'none'}")
        lines += [f"    {error}" for error in attempt.formatted_errors[:5]]
        lines += [f"      {fact}" for fact in _where(attempt)]
        lines += [
            f"    check {c.number} {c.type}: expected {c.expected}"
            + (f", saw {c.actual}" if c.actual else f": {c.message}" if c.message else "")
            for c in attempt.checks
            if not c.passed
        ]
    return [*map(_shown, lines), f"  details: {result.folder}"]


def _where(attempt: Attempt) -> Iterator[str]:
    """Yield the line of each failed step, and what blocked Playwright's call."""
    steps = [step.failure for step in attempt.step_results if step.status == "failed"]
    for failure in (steps or [attempt.failure])[:5]:
        if failure is None or not failure.line:
            continue
        if code := "".join(attempt.code.splitlines()[failure.line - 1 : failure.line]).strip():
            yield one_line(f"line {failure.line}: {code}")
        detail = str(failure.evidence.get("detail", ""))
        tried = [line.strip(" -") for line in detail.splitlines() if line.strip().startswith("- ")]
        # The log repeats, and may end with the pause before the next retry.
        telling = [line for line in tried if not _PAUSES.match(line)]
        if telling or tried:
            yield one_line(f"call log: {(telling or tried)[-1]}")


_PAUSES = re.compile(r"(?:\d+ × )?(?:waiting \d+ ?ms|retrying|attempting|scrolling)")


def _shown(text: str) -> str:
    """Return text from pages and models in a form that is safe for terminals and CI logs."""
    return neutral(clean_lines(text))
