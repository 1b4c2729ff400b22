"""The controls of each case, without which its verdicts do not count.

The oracle must pass each case, and doing nothing must fail. The same rules apply to complete cells
and to the rows kept for comparisons.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary
from pytest_autoweb.results.records import CellResult, Record

ORACLE = "builtin/oracle"
NOOP = "builtin/noop"
RANDOM = "builtin/random"
ATTACKED = f"{ORACLE}@attacked"
"""The oracle on attacked pages, which says whether an attack is fair."""
MUTANT = "builtin/mutant-"
"""The beginning of the names under which `autoweb prove` runs a changed oracle, which must fail."""

ControlState = Literal["holds", "broken", "unproven"]
"""The state of a control; `unproven` means that it did not reach a verdict."""

Cell = CellResult | CellSummary

OTHER_VERSION = "the controls were run on another version of the case or its checks"
_ENOUGH = 3
"""The fewest random runs that say something if all pass."""
_VERDICTS = ("passed", "failed")
_SAME = ("case", "checks")
"""The checksums that must agree for a control to say anything about a cell."""


class ControlRow(Record):
    """The results of the controls of one case."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    oracle: ControlState | None = None
    """`holds` if the case's own solution passes the checks every time; None if it was not run."""
    oracle_held: int = 0
    """Runs in which the oracle passed."""
    oracle_runs: int = 0
    """Runs of the oracle."""
    noop: ControlState | None = None
    """`holds` if doing nothing fails a check every time; None if it was not run."""
    noop_held: int = 0
    """Runs in which doing nothing failed."""
    noop_runs: int = 0
    """Runs of doing nothing."""
    random_passed: int = 0
    """Runs in which random actions passed, which is neither right nor wrong."""
    random_runs: int = 0
    """Runs of random actions that have a verdict."""
    reason: str = ""
    """The reason why a control does not hold."""

    @property
    def floor(self) -> float | None:
        """Return the share of random runs that pass; None without any."""
        return self.random_passed / self.random_runs if self.random_runs else None

    @property
    def by_chance(self) -> bool:
        """Tell whether random actions always pass, so that the case tells no models apart."""
        return _ENOUGH <= self.random_runs == self.random_passed


def is_control(model: str) -> bool:
    """Return whether the model is a control, possibly a changed one, rather than a contestant."""
    return model in (ORACLE, NOOP, RANDOM) or model.startswith(MUTANT) or proves_change(model)


def must_fail(model: str) -> bool:
    """Return whether the model is a control that has to fail the checks."""
    return model == NOOP or model.startswith(MUTANT)


def proves_change(model: str) -> bool:
    """Return whether it is the oracle on changed or attacked pages, which says what is fair.

    It is no control of the case itself.
    """
    return model.startswith(f"{ORACLE}@")


def control_rows(cells: Sequence[Cell]) -> tuple[ControlRow, ...]:
    """Return a row for each case whose controls were run, broken ones first.

    A control holds only if every repeat of it holds. Controls whose checksums differ from those of
    the case's other cells prove nothing about them.
    """
    controls: dict[CaseKey, list[Cell]] = {}
    contestants: dict[CaseKey, list[Cell]] = {}
    for cell in cells:
        if cell.not_needed or proves_change(cell.model):
            continue
        group = controls if is_control(cell.model) else contestants
        group.setdefault((cell.case_path, cell.case_id), []).append(cell)
    rows = [_row(key, group, contestants.get(key, [])) for key, group in controls.items()]
    return tuple(sorted(rows, key=lambda row: min(map(_urgency, (row.oracle, row.noop)))))


def broken_controls(rows: Iterable[ControlRow]) -> frozenset[CaseKey]:
    """Return the cases with a broken control, whose verdicts cannot be trusted."""
    return frozenset(
        (row.case_path, row.case_id) for row in rows if "broken" in (row.oracle, row.noop)
    )


def shared_pages_told(cells: Iterable[CellResult]) -> str:
    """Return in words how many pages controls that do nothing had together; empty if none had."""
    shared = [c for c in cells if c.model == NOOP and c.attempts and c.attempts[0].page_of]
    if not shared:
        return ""
    pages = len({cell.attempts[0].page_of for cell in shared})
    cases = len({(cell.case_path, cell.case_id) for cell in shared})
    opened = "1 page was opened" if pages == 1 else f"{pages} pages were opened"
    plays = f" ({len(shared)} plays)" if len(shared) > cases else ""
    return f"doing nothing: {opened} for {cases} cases{plays} that begin alike"


def with_later_controls(
    cells: Sequence[CellResult], later: Sequence[CellResult]
) -> tuple[CellResult, ...]:
    """Return a run's cells, with its controls replaced by those that were run later."""
    again = {(cell.case_path, cell.case_id) for cell in later}
    kept = [
        c
        for c in cells
        if not is_control(c.model)
        or proves_change(c.model)
        or (c.case_path, c.case_id) not in again
    ]
    known = {(cell.case_path, cell.case_id) for cell in cells}
    return (*kept, *(cell for cell in later if (cell.case_path, cell.case_id) in known))


def _urgency(state: ControlState | None) -> int:
    return {"broken": 0, "unproven": 1}.get(state or "", 2)


def _row(key: CaseKey, cells: Sequence[Cell], contestants: Sequence[Cell]) -> ControlRow:
    played = [cell for cell in cells if cell.model == RANDOM and cell.outcome in _VERDICTS]
    judged = [(c, *_judge(c, contestants)) for c in cells if c.model != RANDOM]
    oracle = [state for cell, state, _ in judged if cell.model == ORACLE]
    noop = [state for cell, state, _ in judged if cell.model == NOOP]
    doubts = [(state, reason) for _, state, reason in judged if state != "holds"]
    return ControlRow(
        case_path=key[0],
        case_id=key[1],
        oracle=_worst(oracle),
        oracle_held=oracle.count("holds"),
        oracle_runs=len(oracle),
        noop=_worst(noop),
        noop_held=noop.count("holds"),
        noop_runs=len(noop),
        random_passed=sum(cell.outcome == "passed" for cell in played),
        random_runs=len(played),
        reason=min(doubts, key=lambda doubt: _urgency(doubt[0]), default=("", ""))[1],
    )


def _worst(states: Iterable[ControlState]) -> ControlState | None:
    return min(states, key=_urgency, default=None)


def _judge(cell: Cell, contestants: Sequence[Cell]) -> tuple[ControlState, str]:
    if any(_differ(cell, other) for other in contestants):
        return "unproven", OTHER_VERSION
    state = _oracle_state(cell) if cell.model == ORACLE else _noop_state(cell)
    if state == "holds":
        return state, ""
    if cell.model == NOOP and state == "broken":
        return state, "doing nothing passes every check, so a pass of this case proves nothing"
    return state, f"{cell.model}: {getattr(cell, 'reason', '') or cell.outcome}"


def _differ(one: Cell, other: Cell) -> bool:
    sums = [(one.checksums.get(name), other.checksums.get(name)) for name in _SAME]
    # A checksum missing on one side proves no difference.
    return any(a and b and a != b for a, b in sums)


def _oracle_state(cell: Cell) -> ControlState:
    if cell.outcome == "passed":
        return "holds"
    # A solution that needed a repair failed first, so the case does not pass reliably.
    return "broken" if cell.outcome in ("failed", "healed") else "unproven"


def _noop_state(cell: Cell) -> ControlState:
    if cell.outcome in ("passed", "healed"):
        return "broken"
    # A cell that failed before it was judged says nothing about the checks.
    return "holds" if cell.outcome == "failed" and _was_judged(cell) else "unproven"


def _was_judged(cell: Cell) -> bool:
    if isinstance(cell, CellSummary):
        return cell.score is not None
    return bool(cell.attempts) and cell.attempts[-1].checks_passed is False
