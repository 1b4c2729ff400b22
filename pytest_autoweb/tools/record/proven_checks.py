"""Which checks of a recorded case hold whenever its oracle runs, and never when nothing is done."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.results.records import CellResult

TIMES = 3
"""The number of times that each control has to hold."""


class ProvenChecks(NamedTuple):
    """The checks that hold, and why the others do not."""

    kept: tuple[int, ...]
    dropped: Mapping[int, str]
    problem: str
    """Why the case cannot be accepted regardless of its checks; empty if it can."""


def prove_checks(cells: Sequence[CellResult], count: int) -> ProvenChecks:
    """Return which checks held in every run of the oracle and in no run of doing nothing.

    Args:
        cells: the runs of the controls.
        count: the number of checks.
    """
    played = [cell for cell in cells if cell.model == ORACLE]
    idle = [cell for cell in cells if cell.model == NOOP]
    problem = _problem(played) or ("" if len(idle) >= TIMES else "doing nothing did not run")
    if problem:
        return ProvenChecks((), {}, problem)
    dropped: dict[int, str] = {}
    for number in range(count):
        held = sum(_held(cell, number) is True for cell in played)
        before = sum(_held(cell, number) is not False for cell in idle)
        if held < len(played):
            dropped[number] = f"it held in {held} of {len(played)} runs of the oracle"
        elif before:
            dropped[number] = f"it did not fail in {before} of {len(idle)} runs of doing nothing"
    kept = tuple(number for number in range(count) if number not in dropped)
    return ProvenChecks(kept, dropped, "")


def _held(cell: CellResult, number: int) -> bool | None:
    checks = cell.attempts[-1].checks if cell.attempts else ()
    return next((check.passed for check in checks if check.index == number), None)


def _problem(played: Sequence[CellResult]) -> str:
    done = sum(bool(cell.attempts) and cell.attempts[-1].executed for cell in played)
    if len(played) < TIMES or done < len(played):
        why = next((said for cell in played if (said := why_not_played(cell))), "")
        return f"the oracle ran to its end {done} of {max(TIMES, len(played))} times: {why}"
    return ""


def why_not_played(cell: CellResult) -> str:
    """Return why the oracle did not run to its end; empty if it did."""
    attempt = cell.attempts[-1] if cell.attempts else None
    if attempt and attempt.executed:
        return ""
    return (attempt and attempt.failure and attempt.failure.message) or cell.reason or cell.outcome
