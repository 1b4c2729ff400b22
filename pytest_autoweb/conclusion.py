"""What a cell's outcome means to pytest: passed, failed, skipped or an expected failure."""

import pytest

from pytest_autoweb.llm.builtin import NOOP
from pytest_autoweb.results import CellResult


class CellFailed(Exception):
    """Raised when a cell did not pass; carries its result for the test report."""

    def __init__(self, result: CellResult) -> None:
        self.result = result
        super().__init__(f"{result.outcome}: {result.reason}")


def conclude(result: CellResult) -> None:
    """Turn the outcome into pytest's terms."""
    if result.model == NOOP and result.outcome == "failed":
        pytest.xfail("the control holds: doing nothing does not pass the checks")
    if result.model == NOOP and result.outcome in ("passed", "healed"):
        raise CellFailed(
            result.model_copy(update={"reason": "the checks pass although nothing was done"})
        )
    if result.outcome in ("ungraded", "skipped"):
        pytest.skip(f"{result.outcome}: {result.reason}")
    if result.outcome not in ("passed", "healed"):
        raise CellFailed(result)


def describe(result: CellResult) -> list[str]:
    """A failed cell in a few lines, for the terminal."""
    lines = [f"{result.case_id} on {result.model}: {result.outcome.upper()} - {result.reason}"]
    for attempt in result.attempts:
        steps = " ".join(f"{r.step_index}:{r.status}" for r in attempt.step_results)
        lines.append(f"  attempt {attempt.attempt_index}: steps {steps or 'none'}")
        lines += [f"    {error}" for error in attempt.formatted_errors[:5]]
        lines += [
            f"    check {c.index} {c.type}: expected {c.expected}, saw {c.actual}"
            for c in attempt.checks
            if not c.passed
        ]
    return [*lines, f"  details: {result.folder}"]
