"""`autoweb prove`: show that the checks of cases notice what is not done."""

import argparse
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.case_proofs import (
    add_concurrency_argument,
    add_ignore_argument,
    ignored,
    plays_at_once,
    proof_lines,
)
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.results.runs.run_folder import CONTROLS_FOLDER, is_run_folder
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.tools.verify.learned_writes import keep_learned
from pytest_autoweb.tools.verify.prove_cases import (
    ProofOrder,
    control_files,
    control_lines,
    control_run,
    pages_told,
    prove_cases,
)

_PROVE_ABOUT = """\
Shows that the checks of cases are worth something, by mutation testing. For each case its oracle is
played three times and must pass; nothing is done, which must fail; then the oracle is played again
without each of its steps, and with each request that may change something (POST, PUT, PATCH,
DELETE …) answered as before but kept from its server. Every time a check must fail.

  autoweb prove cases
  autoweb prove cases/shop.yaml::login cases/mail.yaml --ignore "**/statistics/**"
  autoweb prove --quick cases

CASES are case files, folders of them, or FILE::CASE. No model is asked. The runs are kept in
autoweb-proof/ (or --output DIR), one folder for each.

What the oracles write is kept beside their case file, as FILE.writes.json: runs of models tell by
it what else was written (`overreach`), and the check `writes: {only: oracle}` asks for it.

With --quick only the controls are run: the oracle and doing nothing, three times each. CASES may
then also be one run folder: the controls of its cases go into its folder `controls`, and its report
is written again.

Exit status: 0 every case is proven; 1 one is not, or has no oracle; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _PROVE_ABOUT
    parser.add_argument(
        "cases",
        nargs="*",
        default=[],
        metavar="CASES",
        help="files, folders or FILE::CASE; default: the folder cases",
    )
    add_ignore_argument(parser)
    add_concurrency_argument(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of the runs; default: autoweb-proof, or autoweb-controls with --quick",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only run the controls, and leave nothing out"
    )
    # What `autoweb verify --controls` took, in earlier versions.
    parser.add_argument("--cases", dest="more", nargs="+", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--rootdir", type=Path, default=Path(), metavar="DIR", help="as in pytest")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prove the cases and print what notices what; return 1 if one is not proven, else 0.

    Raises:
        AutowebError: a path or a pattern cannot be used, or pytest could not run the cases.
    """
    args.cases = [*args.cases, *args.more] or ["cases"]
    if args.quick:
        with project_variants(args.rootdir):
            return _run_controls(args)
    args.output = args.output or Path("autoweb-proof")
    globs = ignored(args.ignore)
    most = plays_at_once(args.concurrency, args.cases)
    order = ProofOrder(tuple(args.cases), args.output, args.rootdir.resolve(), globs, most)
    proofs = tuple(prove_cases(order, watched(args.output, sessions=2)))
    controls = args.output.resolve() / "controls"
    kept = (*keep_learned(controls, order.rootdir), *pages_told(controls))
    if args.json:
        cases = [proof.model_dump(mode="json") for proof in proofs]
        print_json("proof", {"folder": args.output, "cases": cases, "notes": kept})
    else:
        print("\n".join((*(line for proof in proofs for line in proof_lines(proof)), *kept)))
        print(f"runs: {args.output}")
    return int(any(proof.verdict != "proven" for proof in proofs))


def _run_controls(args: argparse.Namespace) -> int:
    """Run the controls and print the results; return 1 when a control is broken, else 0.

    Raises:
        AutowebError: a case file is missing, or pytest could not run them.
    """
    rootdir = args.rootdir.resolve()
    paths = [Path(path) for path in args.cases]
    if is_run_folder(paths[0]):
        if len(paths) > 1:
            raise SettingsError(f"{paths[0]} is a run folder; name it alone, or case files")
        folder = paths[0]
        done = control_run(folder, rootdir=rootdir, words_to_stderr=args.json)
        played = folder.resolve() / CONTROLS_FOLDER
    else:
        folder = args.output or Path("autoweb-controls")
        done = control_files(args.cases, folder, rootdir=rootdir, words_to_stderr=args.json)
        played = folder.resolve()
    notes = (*done.notes, *keep_learned(played, rootdir))
    page = folder / "index.html"
    if args.json:
        held = {"controls": done.rows, "failed": done.failed, "notes": notes}
        print_json("controls", {"report": page, **held})
    else:
        for line in (*control_lines(done.rows), *notes):
            print(line)
        print(f"report: {page}")
    return int(done.failed)
