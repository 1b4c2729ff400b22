"""`autoweb prove` and `autoweb explore`: what the checks of cases are worth, and new cases.

`prove` shows that checks notice what is not done. With `explore` a model proposes cases for a site,
and those that are proven are kept.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_autoweb.commands.arguments import (
    add_entry_arguments,
    add_json_argument,
    add_model_arguments,
    asked_model,
    opened_page,
    print_json,
    served_entry,
    spent,
    tell_progress,
    text_path,
    webserver_section,
)

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.values.url_globs import UrlGlob
    from pytest_autoweb.verify.proposed_cases import CaseFileForm, ProposedCase, Proposer, SeenPage
    from pytest_autoweb.verify.prove_cases import CaseProof, ChangeResult, ProofOrder, Start

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_PROVE_ABOUT = """\
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
_MARKS = {"noticed": "", "unnoticed": "NOT NOTICED", "no verdict": "no verdict",
          "not tried": "not tried"}  # fmt: skip

UNREADABLE = "reply"
"""Stands for the id of a case where the whole reply could not be read."""
_EXPLORE_ABOUT = """\
Shows a model the page, and some that it links to, and asks it for cases: a task, checks, and an
oracle that does the task. Each is proven as `autoweb prove` does it: the oracle passes three times,
doing nothing fails, and a check notices every step and every request that is left out. The model is
told why cases were refused, and may write them again. Only those that are proven are written.

  autoweb explore http://localhost:8000/ --model openai/gpt-5-mini
  autoweb explore --command "python -m shop --port {port} --db {data}/shop.db" --model \
openai/gpt-5-mini --cases 8 --pages 3 --about "orders"

The proof plays each case many times, so let it be a server of your own; one that --command starts
is started anew each time. Ctrl-C ends it and keeps what was proven until then. What pytest does is
kept in autoweb-explore/ (or --runs DIR).

Exit status: 0 a case was proven and written; 1 none was; 4 invalid input, a page that cannot be
opened, or a model that cannot be asked; 130 interrupted.
"""


def add_prove_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb prove`."""
    parser = subparsers.add_parser(
        "prove",
        help="show that the checks of cases notice what is not done",
        description=_PROVE_ABOUT,
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
    parser.set_defaults(run=run_prove)


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


def run_prove(args: argparse.Namespace) -> int:
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
    from pytest_autoweb.interruption import end_pytest

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
                    _tell_of_proof(cells, began, told, judged=judged)
            finally:
                end_pytest(process)
            _tell_of_proof(cells, began, told, judged=judged)
        if process.returncode not in (0, 1):
            said = log.read_text("utf-8", "replace").strip()
            raise AutowebError(f"pytest could not run the cases; it said:\n{said[-2000:]}")
        return process.returncode

    return start


def _tell_of_proof(folder: Path, began: float, told: set[Path], *, judged: bool) -> None:
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


def add_explore_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb explore`."""
    parser = subparsers.add_parser(
        "explore",
        help="have a model propose cases for a site, and keep those that are proven",
        description=_EXPLORE_ABOUT,
    )
    add_entry_arguments(parser)
    add_model_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=text_path,
        default=Path("cases/explored.yaml"),
        metavar="FILE",
        help="the case file to write, which must not exist; default: cases/explored.yaml",
    )
    parser.add_argument(
        "--cases", type=int, default=5, metavar="N", help="the most cases; default: 5"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=2,
        metavar="N",
        help="how often the model is asked: from the second round on, to correct what was refused, "
        "with the reasons; default: 2",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=1,
        metavar="N",
        help="the most pages of the site that the model sees; default: 1",
    )
    parser.add_argument(
        "--about", default="", metavar="TEXT", help="what the cases are to be about"
    )
    add_ignore_argument(parser)
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("autoweb-explore"),
        metavar="DIR",
        help="folder of the runs; default: autoweb-explore",
    )
    parser.add_argument(
        "--keep-refused",
        type=Path,
        metavar="DIR",
        help="keep each case that was refused in a file of this folder",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run_explore)


class _Verdict:
    """What became of a proposal."""

    def __init__(self, case: "ProposedCase", proof: "CaseProof | None" = None) -> None:
        self.case, self.proof = case, proof
        self.kept = proof is not None and proof.verdict == "proven"

    @property
    def reason(self) -> str:
        """Say why the case was kept or refused."""
        if self.proof is None:
            return f"it is no case: {self.case.problem}"
        unnoticed = [one.name for one in self.proof.changes if one.state == "unnoticed"]
        listed = f"; not noticed: {', '.join(unnoticed)}" if unnoticed else ""
        return f"{self.proof.reason}{listed}"

    def told(self) -> "ProposedCase":
        """Return the case with the reason, as the model is told of it."""
        return replace(self.case, problem=self.case.problem or self.reason)

    def document(self) -> dict[str, object]:
        """Return the verdict for programs."""
        state: Literal["kept", "refused"] = "kept" if self.kept else "refused"
        return {
            "case_id": self.case.id,
            "state": state,
            "reason": self.reason,
            "fields": self.case.fields,
            "proof": self.proof,
        }


Verdicts = dict[str, _Verdict]
"""What became of each proposal so far, by its id; a later round replaces what it corrects."""


def run_explore(args: argparse.Namespace) -> int:
    """Ask for cases, prove them one after another, and write those that are proven.

    Raises:
        AutowebError: an argument, the page or the model cannot be used.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.verify.proposed_cases import Proposer

    for name in ("cases", "pages", "rounds"):
        if getattr(args, name) < 1:
            raise SettingsError(f"--{name} must be 1 or more")
    if args.output.exists():
        raise SettingsError(f"{args.output} exists; move it, or name another file with -o")
    if args.output.suffix not in (".yaml", ".yml"):
        raise SettingsError(f"-o: a case file ends in .yaml, and {args.output} does not")
    globs = ignored(args.ignore)
    verdicts: Verdicts = {}
    interrupted = False
    with asked_model(args) as (client, spec):
        proposer = Proposer(client, spec, args.about)
        try:
            _explore(args, proposer, globs, verdicts)
        except KeyboardInterrupt:
            interrupted = True
            tell_progress("interrupted")
    _tell_of_proposals(args, proposer, list(verdicts.values()))
    if interrupted:
        return 130
    return int(not any(verdict.kept for verdict in verdicts.values()))


def _explore(
    args: argparse.Namespace,
    proposer: "Proposer",
    globs: "tuple[UrlGlob, ...]",
    verdicts: Verdicts,
) -> None:
    """Ask, prove, and ask again with the reasons for what was refused, round by round.

    What becomes of each proposal is added to the verdicts as soon as it is known.
    """
    from pytest_autoweb.verify.proposed_cases import CaseFileForm, see_pages
    from pytest_autoweb.verify.prove_cases import ProofOrder

    args.runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="drafts-", dir=args.runs) as name:
        drafts = Path(name)
        section = _section(args, drafts / "case.yaml")
        with (
            served_entry(args, section, drafts / "case.yaml") as (site, entry),
            opened_page(entry) as page,
        ):
            seen = see_pages(page, entry, args.pages, proposer.budget, tell_progress)
        form = CaseFileForm(site, entry, section)
        order = ProofOrder((), args.runs, Path.cwd(), globs)
        try:
            for _ in range(args.rounds):
                proposed = _proposed(args.cases, proposer, seen, form, verdicts)
                for case in _proven(proposed, form, drafts, order):
                    verdicts[case.case.id] = case
                    tell_progress(f"{'kept' if case.kept else 'refused'}: {case.reason}")
                    if case.kept:
                        _keep(args, site, entry, verdicts)
                if not proposed or all(verdict.kept for verdict in verdicts.values()):
                    break
        finally:
            _keep_refused(args, site, entry, verdicts)


def _proven(
    proposed: "list[ProposedCase]", form: "CaseFileForm", drafts: Path, order: "ProofOrder"
) -> "Iterator[_Verdict]":
    """Yield what becomes of each proposal; those that fail at the first try need no proof."""
    from pytest_autoweb.verify.proposed_cases import check_with_loader
    from pytest_autoweb.verify.prove_cases import prove_cases

    files = {case.id: drafts / f"{case.id}.yaml" for case in proposed}
    proposed = [check_with_loader(case, form, files[case.id]) for case in proposed]
    sound = tuple(str(files[case.id]) for case in proposed if not case.problem)
    screened = {proof.case_id: proof for proof in _screened(order._replace(targets=sound))}
    for number, case in enumerate(proposed, start=1):
        tell_progress(f"[{number}/{len(proposed)}] {case.id}: {case.fields.get('user_task', '')}")
        proof = screened.get(case.id)
        if not case.problem and proof is None:
            output = order.output / case.id
            one = order._replace(targets=(str(files[case.id]),), output=output)
            proof = prove_cases(one, watched(output))[0]
        yield _Verdict(case, proof)


def _screened(order: "ProofOrder") -> "tuple[CaseProof, ...]":
    """Return the proofs of cases that are refused at the first try."""
    from pytest_autoweb.verify.prove_cases import screen_cases

    if not order.targets:
        return ()
    tell_progress("playing each case once")
    return screen_cases(order, watched(order.output))


def _section(args: argparse.Namespace, file: Path) -> dict[str, str]:
    section = webserver_section(args, file)
    # A proof needs the same start each time, which only a new process has for sure.
    return {**section, "reset": "restart"} if "command" in section else section


def _proposed(
    most: int,
    proposer: "Proposer",
    seen: "list[SeenPage]",
    form: "CaseFileForm",
    verdicts: Verdicts,
) -> "list[ProposedCase]":
    """Return proposals: the first ones, or those that were refused written again.

    Raises:
        ModelError: the model cannot be asked in the first round.
    """
    from pytest_autoweb.cases.validation import Unreadable
    from pytest_autoweb.errors import ModelError
    from pytest_autoweb.verify.proposed_cases import ProposedCase

    kept = [id_ for id_, verdict in verdicts.items() if verdict.kept]
    refused = [one.told() for one in verdicts.values() if not one.kept]
    what = "to correct what was refused" if refused else f"for up to {most} cases"
    tell_progress(f"asking {proposer.spec.name} {what}")
    try:
        raw = proposer.ask(seen, form.entry, most - len(kept), refused)
    except (Unreadable, ModelError) as problem:
        if refused:
            tell_progress(f"it did not: {problem}")
            return []
        if isinstance(problem, ModelError):
            raise
        return [ProposedCase(UNREADABLE, {}, f"the reply cannot be read: {problem.reason}")]
    verdicts.pop(UNREADABLE, None)
    proposed: list[ProposedCase] = []
    for one in raw:
        # One that was refused may come again under its name.
        proposed.append(form.proposed(one, [*kept, *(other.id for other in proposed)]))
    return proposed


def _keep(args: argparse.Namespace, site: str, entry: str, verdicts: Verdicts) -> None:
    """Write what is proven so far."""
    from pytest_autoweb.runs.saving import write_text_atomic
    from pytest_autoweb.verify.proposed_cases import CaseFileForm

    kept = [verdict.case for verdict in verdicts.values() if verdict.kept]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    if len(kept) == 1:
        # Nobody may have written a file of this name meanwhile.
        args.output.touch(exist_ok=False)
    form = CaseFileForm(site, entry, _section(args, args.output))
    write_text_atomic(args.output, form.text(kept))


def _keep_refused(args: argparse.Namespace, site: str, entry: str, verdicts: Verdicts) -> None:
    """Write what is not proven in the end, if that is wanted."""
    from pytest_autoweb.report.wording import one_line
    from pytest_autoweb.runs.saving import write_text_atomic
    from pytest_autoweb.verify.proposed_cases import CaseFileForm

    refused = [verdict for verdict in verdicts.values() if not verdict.kept]
    if not args.keep_refused or not refused:
        return
    args.keep_refused.mkdir(parents=True, exist_ok=True)
    for verdict in refused:
        file = args.keep_refused / f"{verdict.case.id}.yaml"
        form = CaseFileForm(site, entry, _section(args, file))
        head = f"# Refused: {one_line(verdict.reason)}\n"
        write_text_atomic(file, form.text([verdict.case], head))


def _tell_of_proposals(
    args: argparse.Namespace, proposer: "Proposer", verdicts: list[_Verdict]
) -> None:
    from pytest_autoweb.report.wording import count_of, one_line

    kept = [verdict for verdict in verdicts if verdict.kept]
    if args.json:
        fields = {"file": args.output if kept else None, "runs": args.runs}
        cases = [verdict.document() for verdict in verdicts]
        print_json("exploration", {**fields, "cases": cases, "usage": proposer.usage})
        return
    for verdict in verdicts:
        if verdict.kept and verdict.proof:
            print("\n".join(proof_lines(verdict.proof)))
    for verdict in verdicts:
        if not verdict.kept:
            print(one_line(f"refused {verdict.case.id}: {verdict.reason}", 400))
    if kept:
        print(f"wrote   {args.output}  ({count_of(len(kept), 'case')})")
    print(f"{proposer.spec.name}: {spent(proposer.usage)}; runs: {args.runs}")
