"""`autoweb prove`: show that the checks of cases notice what is not done."""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.commands.json_output import add_json_argument, print_json

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.values.url_globs import UrlGlob
    from pytest_autoweb.verify.prove_cases import CaseProof, ChangeResult, Start

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_ABOUT = """\
Shows that the checks of cases are worth something, by mutation testing. For each case its oracle is
played three times and must pass; nothing is done, which must fail; then the oracle is played again
without each of its steps, and with each request that may change something (POST, PUT, PATCH,
DELETE …) answered as before but kept from its server. Every time a check must fail.

  autoweb prove cases
  autoweb prove cases/shop.yaml::login cases/mail.yaml --ignore "**/statistics/**"

CASES are case files, folders of them, or FILE::CASE. No model is asked. The runs are kept in
autoweb-proof/ (or --output DIR), one folder for each.

Exit status: 0 every case is proven; 1 one is not, or has no oracle; 4 invalid input.
"""
_LOOK_S = 0.3
_END_S = 20
_MARKS = {"noticed": "", "unnoticed": "NOT NOTICED", "no verdict": "no verdict",
          "not tried": "not tried"}  # fmt: skip


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb prove`."""
    parser = subparsers.add_parser(
        "prove",
        help="show that the checks of cases notice what is not done",
        description=_ABOUT,
    )
    parser.add_argument("cases", nargs="+", metavar="CASES", help="files, folders or FILE::CASE")
    add_ignore_argument(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-proof"),
        metavar="DIR",
        help="folder of the runs; default: autoweb-proof",
    )
    parser.add_argument("--rootdir", type=Path, default=Path(), metavar="DIR", help="as in pytest")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def add_ignore_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--ignore`, whose globs `ignored` reads."""
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="GLOB",
        help="leave alone requests to addresses like this, which decide nothing; may be repeated",
    )


def ignored(globs: Sequence[str]) -> "tuple[UrlGlob, ...]":
    """Return the globs of `--ignore`.

    Raises:
        SettingsError: one is none.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.values.url_globs import UrlGlob

    try:
        return tuple(UrlGlob(glob) for glob in globs)
    except ValueError as error:
        raise SettingsError(f"--ignore: {error}") from None


def run(args: argparse.Namespace) -> int:
    """Prove the cases and print what notices what; return 1 if one is not proven, else 0.

    Raises:
        AutowebError: a path or a pattern cannot be used, or pytest could not run the cases.
    """
    from pytest_autoweb.verify.prove_cases import ProofOrder, prove_cases

    globs = ignored(args.ignore)
    order = ProofOrder(tuple(args.cases), args.output, args.rootdir.resolve(), globs)
    proofs = prove_cases(order, watched(args.output))
    if args.json:
        cases = [proof.model_dump(mode="json") for proof in proofs]
        print_json("proof", {"folder": args.output, "cases": cases})
    else:
        print("\n".join(line for proof in proofs for line in proof_lines(proof)))
        print(f"runs: {args.output}")
    return int(any(proof.verdict != "proven" for proof in proofs))


def proof_lines(proof: "CaseProof") -> Iterator[str]:
    """Yield the verdict on a case, and a table of changes and checks."""
    from pytest_autoweb.report.wording import columns, one_line

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


def _row(change: "ChangeResult", checks: int) -> list[str]:
    seen = ["notices" if number in change.noticed_by else "·" for number in range(checks)]
    if change.state in ("no verdict", "not tried"):
        seen = [""] * checks
    why = f": {change.why}" if change.why else ""
    return [change.name, *seen, f"{_MARKS[change.state]}{why}"]


def _advice(changes: "Sequence[ChangeResult]") -> str:
    """Say what to do about changes that nothing notices."""
    unnoticed = [change.name for change in changes if change.state == "unnoticed"]
    if any(name.endswith("suppressed") for name in unnoticed):
        return (
            "Add a check of what the request changes (sql, http, file) or of the request itself; "
            "if it decides nothing, name its address with --ignore."
        )
    return "Add a check of what the step changes, or drop the step." if unnoticed else ""


def watched(output: Path, *, judged: bool = True) -> "Start":
    """Return what runs a session, keeps its output in a file, and tells of each cell that ends.

    Args:
        output: where the file is kept.
        judged: whether the cells have checks; without any, their outcomes tell nothing.
    """
    from pytest_autoweb.errors import AutowebError

    def start(command: Sequence[str], folder: Path) -> int:
        output.mkdir(parents=True, exist_ok=True)
        name = next(part for part in command if part.startswith("--autoweb-report="))
        cells = Path(name.partition("=")[2])
        log, began = output / f"{cells.name}.log", time.time()
        with log.open("wb") as stream:
            process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=stream)
            told: set[Path] = set()
            try:
                while process.poll() is None:
                    time.sleep(_LOOK_S)
                    _tell(cells, began, told, judged=judged)
            finally:
                _end(process)
            _tell(cells, began, told, judged=judged)
        if process.returncode not in (0, 1):
            said = log.read_text("utf-8", "replace").strip()
            raise AutowebError(f"pytest could not run the cases; it said:\n{said[-2000:]}")
        return process.returncode

    return start


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a session that goes on although nobody waits for it any more."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tell(folder: Path, began: float, told: set[Path], *, judged: bool) -> None:
    """Print a line for each cell that has ended since the last look."""
    from pytest_autoweb.report.wording import one_line

    for file in sorted(folder.glob("cells/*/*/*/cell.json")):
        # An older run may still stand there before the session moves it aside.
        if file in told or file.stat().st_mtime < began - 1:
            continue
        told.add(file)
        cell = json.loads(file.read_bytes())
        of = len(json.loads((folder / "manifest.json").read_bytes())["cells"])
        came = cell["outcome"] if judged else "played"
        line = f"[{len(told)}/{of}] {cell['case_id']}: {_what_ran(cell, folder)}: {came}"
        print(one_line(line), file=sys.stderr, flush=True)


def _what_ran(cell: dict[str, Any], folder: Path) -> str:
    """Return in words what a cell did: a control, or a change of the oracle."""
    from pytest_autoweb.analysis.verdict_validity import NOOP, ORACLE
    from pytest_autoweb.run.prepared_cell import read_mutants
    from pytest_autoweb.verify.prove_cases import MUTANTS_FILE

    controls = {ORACLE: "the oracle", NOOP: "doing nothing"}
    if cell["model"] in controls:
        return f"{controls[cell['model']]}, time {cell['repeat']}"
    changes = read_mutants(folder.parent / MUTANTS_FILE)
    return changes[f"{cell['case_path']}::{cell['case_id']}"][cell["model"]].name
