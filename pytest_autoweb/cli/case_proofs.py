"""What `autoweb prove` and `autoweb explore` share: ignored addresses, and proofs in words."""

import argparse
from collections.abc import Iterator, Sequence

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.report.wording import columns, one_line
from pytest_autoweb.tools.verify.prove_cases import CaseProof, ChangeResult

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
        head = ["", *(f"{number} {name}" for number, name in enumerate(proof.checks)), ""]
        rows = [_row(change, len(proof.checks)) for change in proof.changes]
        yield from (f"  {line}" for line in columns([head, *rows]))
    noticing = {number for change in proof.changes for number in change.noticed_by}
    for number, name in enumerate(proof.checks):
        if number not in noticing:
            yield f"  check {number} ({name}) notices none of these"
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
