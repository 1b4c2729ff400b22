"""What `autoweb prove` and `autoweb explore` share: flags, and proofs in words."""

import argparse
from collections.abc import Iterator, Sequence

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import columns
from pytest_autoweb.tools.verify.prove_cases import CaseProof, ChangeResult, each_has_own_state

DEFAULT_PLAYS = 4
"""Plays in one process share its browser; most of their time they wait for pages and servers."""

_MARKS = {"noticed": "", "unnoticed": "NOT NOTICED", "no verdict": "no verdict",
          "not tried": "not tried"}  # fmt: skip


def add_ignore_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--ignore`, whose globs `ignored` reads."""
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="GLOB",
        help="leave alone requests to addresses like this, which decide nothing; may be repeated",
    )


def add_concurrency_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `-n`, which `plays_at_once` reads."""
    parser.add_argument(
        "-n",
        "--concurrency",
        type=int,
        metavar="N",
        help=f"the most plays at once; default: {DEFAULT_PLAYS} where each play has a state of its "
        "own (static files, or a server with `reset`), else 1",
    )


def plays_at_once(asked: int | None, targets: Sequence[str]) -> int:
    """Return how many plays there may be at once.

    Args:
        asked: the value of `-n`, if it was given.
        targets: the cases.

    Raises:
        SettingsError: the value is not positive.
    """
    if asked is None:
        return DEFAULT_PLAYS if each_has_own_state(targets) else 1
    if asked < 1:
        raise SettingsError("-n must be 1 or more")
    return asked


def ignored(globs: Sequence[str]) -> tuple[UrlGlob, ...]:
    """Return the globs of `--ignore`.

    Raises:
        SettingsError: one is none.
    """
    try:
        return tuple(UrlGlob(glob) for glob in globs)
    except ValueError as error:
        raise SettingsError(f"--ignore: {error}") from None


def proof_lines(proof: CaseProof) -> Iterator[str]:
    """Yield the verdict on a case, and a table of changes and checks."""
    verdict = proof.verdict.upper() if proof.verdict != "proven" else "proven"
    yield f"{one_line(proof.case_id, 60)} ({one_line(proof.case_path)}) {verdict}: {proof.reason}"
    if len(proof.changes) > 1:
        head = ["", *(f"{number} {name}" for number, name in enumerate(proof.checks, 1)), ""]
        rows = [_row(change, len(proof.checks)) for change in proof.changes]
        yield from (f"  {line}" for line in columns([head, *rows]))
    noticing = {number for change in proof.changes for number in change.noticed_by}
    for number, name in enumerate(proof.checks):
        # What was left out is nothing that was done beyond the oracle.
        if number not in noticing and name != "writes":
            yield f"  check {number + 1} ({name}) notices none of these"
    yield from (f"  {note}" for note in proof.notes)
    if advice := _advice(proof.changes):
        yield f"  {advice}"
    yield ""


def _row(change: ChangeResult, checks: int) -> list[str]:
    seen = ["notices" if number in change.noticed_by else "·" for number in range(checks)]
    if change.state in ("no verdict", "not tried"):
        seen = [""] * checks
    why = f": {change.why}" if change.why else ""
    return [change.name, *seen, f"{_MARKS[change.state]}{why}"]


def _advice(changes: Sequence[ChangeResult]) -> str:
    """Say what to do about changes that nothing notices."""
    unnoticed = [change.name for change in changes if change.state == "unnoticed"]
    if any(name.endswith("suppressed") for name in unnoticed):
        return (
            "Add a check of what the request changes (sql, http, file) or of the request itself; "
            "if it decides nothing, name its address with --ignore."
        )
    return "Add a check of what the step changes, or drop the step." if unnoticed else ""
