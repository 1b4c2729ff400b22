"""`autoweb explore`: a model proposes cases for a site, and those that are proven are kept."""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from pytest_autoweb.base.documents.readers import Unreadable
from pytest_autoweb.base.errors import ModelError, SettingsError
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.cli.arguments import tell_progress, text_path
from pytest_autoweb.cli.asked_model import add_model_arguments, asked_model, spent
from pytest_autoweb.cli.case_proofs import (
    DEFAULT_PLAYS,
    add_concurrency_argument,
    add_ignore_argument,
    ignored,
    plays_at_once,
    proof_lines,
)
from pytest_autoweb.cli.entry_page import (
    add_entry_arguments,
    opened_page,
    served_entry,
    webserver_section,
)
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.tools.verify.proposed_cases import (
    CaseFileForm,
    ProposedCase,
    Proposer,
    SeenPage,
    check_with_loader,
    see_pages,
)
from pytest_autoweb.tools.verify.prove_cases import CaseProof, ProofOrder, prove_cases, screen_cases

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _EXPLORE_ABOUT
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
    add_concurrency_argument(parser)
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
    parser.set_defaults(run=run)


class _Verdict:
    """What became of a proposal."""

    def __init__(self, case: ProposedCase, proof: CaseProof | None = None) -> None:
        self.case, self.proof = case, proof
        self.kept = proof is not None and proof.verdict == "proven"

    @property
    def reason(self) -> str:
        """Say why the case was kept or refused."""
        if self.proof is None:
            return f"it is not a valid case: {self.case.problem}"
        unnoticed = [one.name for one in self.proof.changes if one.state == "unnoticed"]
        listed = f"; not noticed: {', '.join(unnoticed)}" if unnoticed else ""
        return f"{self.proof.reason}{listed}"

    def told(self) -> ProposedCase:
        """Return the case with the reason, as the model is told of it."""
        return replace(self.case, problem=self.case.problem or self.reason)

    def document(self) -> dict[str, object]:
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


def run(args: argparse.Namespace) -> int:
    """Ask for cases, prove them, and write those that are proven.

    Raises:
        AutowebError: an argument, the page or the model cannot be used.
    """
    for name in ("cases", "pages", "rounds"):
        if getattr(args, name) < 1:
            raise SettingsError(f"--{name} must be 1 or more")
    if args.concurrency is not None:
        plays_at_once(args.concurrency, ())
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
    proposer: Proposer,
    globs: tuple[UrlGlob, ...],
    verdicts: Verdicts,
) -> None:
    """Ask, prove, and ask again with the reasons for what was refused, round by round.

    What becomes of each proposal is added to the verdicts as soon as it is known.
    """
    args.runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="drafts-", dir=args.runs) as name:
        drafts = Path(name)
        section = _section(args, drafts / "case.yaml")
        with (
            served_entry(args, section, drafts / "case.yaml") as (site, entry, _),
            opened_page(entry) as page,
        ):
            seen = see_pages(page, entry, args.pages, proposer.budget, tell_progress)
        form = CaseFileForm(site, entry, section)
        order = ProofOrder((), args.runs, Path.cwd(), globs, _plays_at_once(args, section))
        try:
            for number in range(1, args.rounds + 1):
                proposed = _proposed(args.cases, proposer, seen, form, verdicts)
                order = order._replace(output=args.runs / f"round-{number}")
                for case in _proven(proposed, form, drafts, order):
                    verdicts[case.case.id] = case
                    kept = "kept" if case.kept else "refused"
                    tell_progress(f"{case.case.id}: {kept}: {case.reason}")
                    if case.kept:
                        _keep(args, site, entry, verdicts)
                if not proposed or all(verdict.kept for verdict in verdicts.values()):
                    break
        finally:
            _keep_refused(args, site, entry, verdicts)


def _plays_at_once(args: argparse.Namespace, section: dict[str, str]) -> int:
    """Return how many plays there may be at once; a running site has one state for all."""
    if args.concurrency is None:
        return DEFAULT_PLAYS if section else 1
    return plays_at_once(args.concurrency, ())


def _proven(
    proposed: list[ProposedCase], form: CaseFileForm, drafts: Path, order: ProofOrder
) -> Iterator[_Verdict]:
    """Yield what becomes of each proposal; those that fail at the first try need no proof."""
    files = {case.id: drafts / f"{case.id}.yaml" for case in proposed}
    checked = {case.id: check_with_loader(case, form, files[case.id]) for case in proposed}
    for case in checked.values():
        if case.problem:
            yield _Verdict(case)
    sound = [id_ for id_, case in checked.items() if not case.problem]
    start = watched(order.output, sessions=3)
    if sound:
        tell_progress("playing each case once")
        screened = order._replace(targets=tuple(str(files[id_]) for id_ in sound))
        for proof in screen_cases(screened, start):
            sound.remove(proof.case_id)
            yield _Verdict(checked[proof.case_id], proof)
    if sound:
        rest = order._replace(targets=tuple(str(files[id_]) for id_ in sound))
        for proof in prove_cases(rest, start):
            yield _Verdict(checked[proof.case_id], proof)


def _section(args: argparse.Namespace, file: Path) -> dict[str, str]:
    section = webserver_section(args, file)
    # A proof needs the same start each time, which only a new process has for sure.
    return {**section, "reset": "restart"} if "command" in section else section


def _proposed(
    most: int,
    proposer: Proposer,
    seen: list[SeenPage],
    form: CaseFileForm,
    verdicts: Verdicts,
) -> list[ProposedCase]:
    """Return proposals: the first ones, or those that were refused written again.

    Raises:
        ModelError: the model cannot be asked in the first round.
    """
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
    kept = [verdict.case for verdict in verdicts.values() if verdict.kept]
    args.output.parent.mkdir(parents=True, exist_ok=True)
    if len(kept) == 1:
        # A file of this name may exist by now.
        args.output.touch(exist_ok=False)
    form = CaseFileForm(site, entry, _section(args, args.output))
    write_text_atomic(args.output, form.text(kept))


def _keep_refused(args: argparse.Namespace, site: str, entry: str, verdicts: Verdicts) -> None:
    """Write what is not proven in the end, if that is wanted."""
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
    args: argparse.Namespace, proposer: Proposer, verdicts: list[_Verdict]
) -> None:
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
