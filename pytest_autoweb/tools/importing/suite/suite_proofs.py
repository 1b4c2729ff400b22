"""Which recorded tests become cases: those whose controls and proof hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.tools.importing.suite.suite_cases import NotTaken, SuiteCase
from pytest_autoweb.tools.importing.suite.suite_files import SuiteFiles
from pytest_autoweb.tools.record.proven_checks import why_not_played
from pytest_autoweb.tools.verify.prove_cases import (
    CaseProof,
    ProofOrder,
    Start,
    prove_cases,
    run_session,
)

_NOT_AT_THE_END = "it does not hold at the end; it stays in the oracle"
_SCREEN = {
    "models": f"{ORACLE},{NOOP}",
    "controls": "false",
    "check_timeout": "3",
    "failure_model": "",
    "store": "",
}
_NOT_AGAIN = "what was recorded does not come to its end again"
_ORACLE_FAILS = "the oracle "
_WEAK = "weak"
_COMMAND = re.compile(r'the web server ".*?"(?= ended| did)', re.DOTALL)


class Sifted(NamedTuple):
    """The tests that became cases, and why the others did not."""

    kept: tuple[SuiteCase, ...]
    left_out: tuple[NotTaken, ...]
    interrupted: bool = False
    """Whether the proof was interrupted; what was proven until then is kept."""


class _Draft(NamedTuple):
    """A file that is written for a proof, and what is in it."""

    path: Path
    group: tuple[SuiteCase, ...]


def sift(
    candidates: Sequence[SuiteCase],
    files: SuiteFiles,
    runs: Path,
    start: Start,
    *,
    concurrency: int = 1,
    weak: bool = False,
) -> Sifted:
    """Play candidates beside doing nothing, and return those that are proven.

    Args:
        candidates: the tests that may become cases.
        files: writes them.
        runs: the folder of the runs.
        start: runs a session of pytest.
        concurrency: the most plays at once.
        weak: also keep cases of whose steps some go unnoticed, with a tag that says so.

    Raises:
        AutowebError: pytest could not run the cases.
    """
    screened = _screened(candidates, files, runs, start, concurrency)
    if not screened.kept:
        return screened
    with _drafts(screened.kept, files) as drafts:
        order = ProofOrder(
            tuple(str(draft.path) for draft in drafts), runs / "proof", Path.cwd(),
            concurrency=concurrency,
        )  # fmt: skip
        known = {(draft.path.name, one.id): one for draft in drafts for one in draft.group}
        kept: list[SuiteCase] = []
        left: list[NotTaken] = []
        for proof in _until_interrupted(prove_cases(order, start)):
            if proof is None:
                return Sifted(tuple(kept), (*screened.left_out, *left), interrupted=True)
            one = known[Path(proof.case_path).name, proof.case_id]
            unnoticed = [change.name for change in proof.changes if change.state == "unnoticed"]
            if proof.verdict == "proven":
                kept.append(one)
            elif weak and proof.verdict == _WEAK:
                kept.append(one.tagged(_WEAK))
            else:
                listed = f"; not noticed: {', '.join(unnoticed)}" if unnoticed else ""
                advice = files.site.advice(one) if proof.reason.startswith(_ORACLE_FAILS) else ""
                why = f"{proof.reason}{listed}{advice}"
                left.append(NotTaken(one.test.where, one.test.name, why))
    return Sifted(tuple(kept), (*screened.left_out, *left))


def _until_interrupted(proofs: Iterator[CaseProof]) -> Iterator[CaseProof | None]:
    """Yield the proofs, and None in place of an interruption."""
    try:
        yield from proofs
    except KeyboardInterrupt:
        yield None


def _screened(
    candidates: Sequence[SuiteCase],
    files: SuiteFiles,
    runs: Path,
    start: Start,
    concurrency: int,
) -> Sifted:
    """Play each candidate once, and keep the checks that hold at its end."""
    kept: list[SuiteCase] = []
    left: list[NotTaken] = []
    with _drafts(candidates, files) as drafts:
        folder = (runs / "once").resolve()
        settings = {**_SCREEN, "concurrency": str(concurrency)}
        targets = [str(draft.path) for draft in drafts]
        run_session(targets, folder, Path.cwd(), settings, start)
        cells = {
            (Path(cell.case_path).name, cell.case_id, cell.model): cell
            for cell in read_run(folder).cells
        }
        for draft in drafts:
            for one in draft.group:
                played = cells.get((draft.path.name, one.id, ORACLE))
                idle = cells.get((draft.path.name, one.id, NOOP))
                narrowed, why = _narrowed(one, played, idle)
                if why:
                    advice = files.site.advice(one) if why.startswith(_NOT_AGAIN) else ""
                    left.append(NotTaken(one.test.where, one.test.name, f"{why}{advice}"))
                else:
                    kept.append(narrowed)
    return Sifted(tuple(kept), tuple(left))


def _narrowed(
    one: SuiteCase, played: CellResult | None, idle: CellResult | None
) -> tuple[SuiteCase, str]:
    """Return the case with the checks that hold at its end, or why there is no case."""
    if played is None or idle is None:
        return one, "it was not played"
    if why := why_not_played(played):
        said = _COMMAND.sub("the server", why)
        return one, f"{_NOT_AGAIN}: {said}"
    held = _holding(played)
    if not held:
        return one, "nothing that it expects still holds at its end"
    if set(held) <= set(_holding(idle)):
        return one, "what it expects at its end also holds when nothing is done"
    return one.keeping(held, _NOT_AT_THE_END), ""


def _holding(cell: CellResult) -> list[int]:
    checks = cell.attempts[-1].checks if cell.attempts else ()
    return [check.index for check in checks if check.passed is True]


@contextmanager
def _drafts(candidates: Sequence[SuiteCase], files: SuiteFiles) -> Iterator[list[_Draft]]:
    """Write candidates next to where their files will be, and remove them afterwards."""
    files.folder.mkdir(parents=True, exist_ok=True)
    groups: Mapping[str, Sequence[SuiteCase]] = files.groups(candidates)
    drafts = [
        _Draft(files.folder.resolve() / f".importing-{name}", tuple(group))
        for name, group in groups.items()
    ]
    try:
        for draft in drafts:
            draft.path.write_text(files.text(draft.group, draft=True), encoding="utf-8")
        yield drafts
    finally:
        for draft in drafts:
            draft.path.unlink(missing_ok=True)
