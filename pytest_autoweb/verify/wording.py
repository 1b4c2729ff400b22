"""What judging again came to, in lines for a terminal."""

from collections.abc import Iterator

from pytest_autoweb.verify.run import CellChange, CheckChange, Verification

_WORD = {True: "holds", False: "does not hold", None: "no verdict"}
_CHARS = 160


def verification_lines(verification: Verification) -> Iterator[str]:
    """A line per cell, below it its checks that changed; then what stays undecided."""
    for cell in verification.cells:
        yield f"{_name(cell)}: {_outcomes(cell)}"
        for note in cell.notes:
            yield f"    {note}"
        for check in cell.checks:
            if not check.undecided:
                yield f"    {_check_line(check)}"
    undecided = [(c, check) for c in verification.cells for check in c.checks if check.undecided]
    if undecided:
        yield ""
        yield "undecided:"
    for cell, check in undecided:
        was = f" (was: {_WORD[check.before]})" if check.before is not None else ""
        yield f"  {_name(cell)} check {check.index} {check.type}: {_short(check.note)}{was}"
    yield ""
    changed = len(verification.changed)
    yield (
        f"{len(verification.cells)} cells judged again: {changed} changed outcome, "
        f"{len(undecided)} checks undecided"
    )


def _name(cell: CellChange) -> str:
    return f"{cell.case_id}[{cell.model}-{cell.capture_mode}-{cell.repeat}]"


def _outcomes(cell: CellChange) -> str:
    return cell.before if cell.before == cell.after else f"{cell.before} -> {cell.after}"


def _check_line(check: CheckChange) -> str:
    verdicts = f"{_WORD[check.before]} -> {_WORD[check.after]}"
    seen = f": expected {check.expected}, saw {check.actual}" if check.actual else ""
    note = f" ({check.note})" if check.note else ""
    return f"attempt {check.attempt} check {check.index} {check.type}: {verdicts}{note}" + _short(
        seen
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARS else line[: _CHARS - 1] + "…"
