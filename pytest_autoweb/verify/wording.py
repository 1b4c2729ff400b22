"""The result of judging again, as lines for a terminal."""

from collections.abc import Iterator

from pytest_autoweb.report.wording import one_line
from pytest_autoweb.verify.run import CellChange, CheckChange, Verification

_WORD = {True: "holds", False: "does not hold", None: "no verdict"}


def verification_lines(verification: Verification) -> Iterator[str]:
    """Yield a line for each cell with its changed checks below it, then all undecided checks."""
    for cell in verification.cells:
        yield f"{_name(cell)}: {_outcomes(cell)}"
        for note in cell.notes:
            yield f"    {one_line(note)}"
        for check in cell.checks:
            if not check.undecided:
                yield f"    {_check_line(check)}"
    undecided = [(c, check) for c in verification.cells for check in c.checks if check.undecided]
    if undecided:
        yield ""
        yield "undecided:"
    for cell, check in undecided:
        was = f" (was: {_WORD[check.before]})" if check.before is not None else ""
        yield f"  {_name(cell)} check {check.index} {check.type}: {one_line(check.note)}{was}"
    yield ""
    changed = len(verification.changed)
    yield (
        f"{len(verification.cells)} cells judged again: {changed} changed outcome, "
        f"{len(undecided)} checks undecided"
    )


def _name(cell: CellChange) -> str:
    return one_line(f"{cell.case_id}[{cell.model}-{cell.capture_mode}-{cell.repeat}]")


def _outcomes(cell: CellChange) -> str:
    return cell.before if cell.before == cell.after else f"{cell.before} -> {cell.after}"


def _check_line(check: CheckChange) -> str:
    verdicts = f"{_WORD[check.before]} -> {_WORD[check.after]}"
    note = f" ({check.note})" if check.note else ""
    seen = f": expected {check.expected}, saw {check.actual}" if check.actual else ""
    what = f"attempt {check.attempt} check {check.index} {check.type}"
    return f"{what}: {verdicts}{note}{one_line(seen)}"
