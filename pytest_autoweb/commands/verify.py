"""`autoweb verify` and `autoweb judge-labels`: saved verdicts looked at again.

`verify` judges a saved run again; with `--controls` it runs the controls of its cases, or of case
files. `judge-labels` collects verdicts of people beside those of a judging model. Both take the
arguments of commands that ask models for `judge` checks.
"""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.commands.arguments import add_json_argument, print_json

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.checks.check_type import Evidence, JudgeQuery, RubricFinding, RubricJudge
    from pytest_autoweb.judge.model_judge import Label
    from pytest_autoweb.results import Attempt, CellResult, CheckResult
    from pytest_autoweb.runs.run_folder import RecordedRun

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]
    Key = tuple[str, str, int, int, str]


def add_judge_arguments(parser: argparse.ArgumentParser, *, about: str) -> None:
    """Declare the flags for the judging model, its costs and the location of case files.

    Args:
        parser: the parser of the command.
        about: the help text of `--ask-judge`, which differs between the commands.
    """
    parser.add_argument("--ask-judge", action="store_true", help=about)
    parser.add_argument(
        "--judge-model",
        default="",
        metavar="NAME",
        help="with --ask-judge: the model for `judge` checks that name none",
    )
    parser.add_argument(
        "--max-cost",
        type=_dollars,
        metavar="USD",
        help="with --ask-judge: the most that all calls together may cost; a call that might "
        "exceed it, or whose model has no known price, is not made",
    )
    parser.add_argument(
        "--rootdir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder that the run's case paths are relative to; default: the current one",
    )


def _dollars(text: str) -> float:
    from pytest_autoweb.options import dollars

    try:
        return dollars(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_JUDGE_LABELS_ABOUT = """\
Measures how far the model of `judge` checks agrees with people. Only a judge that was measured may
decide anything (--autoweb-judge-labels); until then it gives advice.

  autoweb judge-labels autoweb-report --labels labels.yaml
  autoweb judge-labels RUN --labels labels.yaml --ask-judge --judge-model openai/gpt-5-mini

The first time, it writes an entry for every judge check of the run. A person looks at each cell in
the report and fills in `human: pass` or `human: fail`. The next time, it adds the verdicts of the
run's own judge and prints the agreement. With --ask-judge another model judges each labelled cell
from the evidence that the run kept. These calls cost money; --max-cost limits it.

Entries of other runs stay in the file, so that it can grow. The measurement needs at least 20
labels with a verdict of the judge, among them 5 human passes and 5 human fails.

Exit status: 0 written or measured; 4 invalid input, or a run without `judge` checks.
"""


def add_judge_labels_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb judge-labels`."""
    parser = subparsers.add_parser(
        "judge-labels",
        help="measure how far a judging model agrees with people",
        description=_JUDGE_LABELS_ABOUT,
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--labels", type=Path, required=True, metavar="FILE", help="YAML file to write or extend"
    )
    add_judge_arguments(parser, about="ask the judge about the labelled cells")
    add_json_argument(parser)
    parser.set_defaults(run=run_judge_labels)


def run_judge_labels(args: argparse.Namespace) -> int:
    """Update the labels file and print the agreement.

    Raises:
        AutowebError: the run or the labels file cannot be used.
    """
    from pytest_autoweb.analysis.verdict_validity import agreement_line, agreements
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.judge.model_judge import LabelFile, read_labels, write_labels
    from pytest_autoweb.runs.run_folder import read_run, refuse_other_folders

    refuse_other_folders(args.folder)
    saved = read_run(args.folder)
    before = read_labels(args.labels).labels if args.labels.exists() else ()
    labels = {label.key: label for label in before}
    recorded = dict(_opinions(saved.info.ts, saved.cells))
    if not recorded:
        raise SettingsError(f"{args.folder}: no cell of this run has a `judge` check")
    for key, result in recorded.items():
        labels.setdefault(key, _unlabelled(key, result))
    _add(labels, recorded)
    if args.ask_judge:
        _add(labels, dict(_asked(args, saved, labels)))
    write_labels(args.labels, labels.values())
    waiting = sum(label.human is None for label in labels.values())
    new = len(labels) - len(before)
    judges = agreements(LabelFile(labels=tuple(labels.values())).pairs())
    if args.json:
        counts = {"entries": len(labels), "new": new, "waiting": waiting}
        print_json("judge-labels", {"file": args.labels, **counts, "judges": judges})
        return 0
    print(f"{args.labels}: {len(labels)} entries, {new} new")
    if waiting:
        print(f"{waiting} need a human verdict: fill in `human: pass` or `human: fail`")
    for found in judges:
        print(agreement_line(found))
    return 0


def _opinions(ts: str, cells: "tuple[CellResult, ...]") -> "Iterator[tuple[Key, CheckResult]]":
    """Yield the result of every `judge` check of a run, with the key of its label."""
    for cell in cells:
        for attempt in cell.attempts:
            for result in attempt.checks:
                if result.type == "judge":
                    digest = hashlib.sha256(_rubric(result).encode()).hexdigest()
                    yield (ts, cell.folder, attempt.attempt_index, result.index, digest), result


def _rubric(result: "CheckResult") -> str:
    return result.expected.removeprefix("rubric: ")


def _unlabelled(key: "Key", result: "CheckResult") -> "Label":
    from pytest_autoweb.judge.model_judge import Label

    ts, cell, attempt, check, digest = key
    return Label(
        run=ts,
        cell=cell,
        attempt=attempt,
        check=check,
        rubric=_rubric(result),
        rubric_checksum=digest,
    )


def _add(labels: "dict[Key, Label]", results: "dict[Key, CheckResult]") -> None:
    """Add the judge's verdict to every label that has a human one.

    The others wait, so that a model's opinion cannot influence the person who labels the cell.
    """
    from pytest_autoweb.judge.model_judge import JudgeVerdict

    for key, result in results.items():
        label = labels.get(key)
        if label is None or label.human is None or not (result.where and result.finding):
            continue
        said = JudgeVerdict(judge=result.where, verdict=result.finding, reason=result.actual)
        others = tuple(other for other in label.judged if other.judge != said.judge)
        labels[key] = label.model_copy(update={"judged": (*others, said)})


def _asked(
    args: argparse.Namespace, saved: "RecordedRun", labels: "dict[Key, Label]"
) -> "Iterator[tuple[Key, CheckResult]]":
    """Ask the judge about the labelled cells, with the evidence that the run kept."""
    from pytest_autoweb.runs.run_folder import read_run
    from pytest_autoweb.verify.verify_run import Order, asked_judges, verify_run

    wanted = {key[1:3] for key, label in labels.items() if label.human is not None}
    with (
        tempfile.TemporaryDirectory(prefix="autoweb-labels-") as name,
        asked_judges(
            saved.info.models,
            default=args.judge_model,
            labels=None,
            rootdir=args.rootdir.resolve(),
            max_cost=args.max_cost,
        ) as judges,
    ):

        def judge(cell: "CellResult", attempt: "Attempt") -> "RubricJudge":
            labelled = (cell.folder, attempt.attempt_index) in wanted
            return judges(cell, attempt) if labelled else _refuse_unlabelled

        output = Path(name) / "again"
        verify_run(
            Order(
                run_folder=args.folder.resolve(),
                output=output,
                rootdir=args.rootdir.resolve(),
                judge=judge,
            )
        )
        yield from _opinions(saved.info.ts, read_run(output).cells)


def _refuse_unlabelled(query: "JudgeQuery", evidence: "Evidence") -> "RubricFinding":
    """Refuse to judge a cell that nobody has labelled, to save the cost of asking."""
    from pytest_autoweb.checks.check_type import NotEvaluated

    raise NotEvaluated("nobody has labelled this cell")


def add_argument(verify: argparse.ArgumentParser) -> None:
    """Declare `--controls`."""
    verify.add_argument(
        "--controls",
        action="store_true",
        help="instead, run the controls of the run's cases in a browser, three times each: the "
        "oracle must pass, and doing nothing must fail. The results go into the run's folder "
        "`controls`, and its report is written again. RUN may also be a case file or a folder of "
        "case files; --output (default: autoweb-controls) then takes the results. Exits with 1 "
        "when a control is broken",
    )


def run_controls(args: argparse.Namespace) -> int:
    """Run the controls and print the results; return 1 when a control is broken, else 0.

    Raises:
        AutowebError: a case file is missing, or pytest could not run them.
    """
    from pytest_autoweb.runs.run_folder import is_run_folder
    from pytest_autoweb.verify.prove_cases import control_files, control_lines, control_run

    rootdir = args.rootdir.resolve()
    if is_run_folder(args.folder):
        folder = args.folder
        done = control_run(folder, rootdir=rootdir, words_to_stderr=args.json)
    else:
        folder = args.output or Path("autoweb-controls")
        paths = [args.folder, *args.cases]
        done = control_files(paths, folder, rootdir=rootdir, words_to_stderr=args.json)
    page = folder / "index.html"
    if args.json:
        held = {"controls": done.rows, "failed": done.failed, "notes": done.notes}
        print_json("controls", {"report": page, **held})
    else:
        for line in (*control_lines(done.rows), *done.notes):
            print(line)
        print(f"report: {page}")
    return int(done.failed)


_VERIFY_ABOUT = """\
Judges the cells of a saved run again, by the checks that are in the case files now and from the
evidence that the run kept: the page (shown in a browser with scripts and network off), the answer,
the requests and the downloads. No server is needed, and no model unless you ask for one. The old
run is only read; a new run folder with its own report is written.

Checks that need the live page or its server (js, http, sql, file, python) keep their recorded
verdict while they are unchanged; a changed one is undecided, and its cell is at best ungraded.

  autoweb verify autoweb-report
  autoweb verify autoweb-report --cases cases/shop.yaml --changed-only --fail-on-change

Exit status: 0 judged; 1 with --fail-on-change, an outcome changed or the run did not come to its
end, or with --controls, a control does not hold; 4 invalid input.
"""


def add_verify_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb verify`."""
    verify = subparsers.add_parser(
        "verify",
        help="judge a saved run again, offline",
        description=_VERIFY_ABOUT,
    )
    verify.add_argument("folder", type=Path, metavar="RUN", help="the folder of the run")
    verify.add_argument(
        "--cases",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="case files with the checks; default: the run's own, relative to --rootdir",
    )
    verify.add_argument(
        "--changed-only",
        action="store_true",
        help="keep the recorded verdict of every check that has not changed",
    )
    add_judge_arguments(verify, about="ask models again for `judge` checks, which may cost money")
    verify.add_argument(
        "--judge-labels",
        type=Path,
        metavar="FILE",
        help="with --ask-judge: file of human verdicts; only judges that agree with them decide",
    )
    verify.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of the new run; default: the run's folder with -verified appended",
    )
    verify.add_argument(
        "--fail-on-change",
        action="store_true",
        help="exit with 1 when the outcome of a cell changes",
    )
    add_argument(verify)
    add_json_argument(verify)
    verify.set_defaults(run=run_verify, with_variants=True)


def run_verify(args: argparse.Namespace) -> int:
    """Judge the run again and print the changes; return 1 if they are to fail, else 0.

    Raises:
        AutowebError: a folder or a case file cannot be used.
    """
    if args.controls:
        return run_controls(args)
    from pytest_autoweb.gates.gate_decision import why_unfinished
    from pytest_autoweb.runs.run_folder import read_run
    from pytest_autoweb.verify.verify_run import Order, asked_judges, verification_lines, verify_run

    folder = args.folder.resolve()
    order = Order(
        run_folder=folder,
        output=args.output or folder.with_name(f"{folder.name}-verified"),
        rootdir=args.rootdir.resolve(),
        case_files=tuple(path.resolve() for path in args.cases),
        changed_only=args.changed_only,
    )
    with ExitStack() as stack:
        if args.ask_judge:
            judges = asked_judges(
                read_run(folder).info.models,
                default=args.judge_model,
                labels=args.judge_labels,
                rootdir=order.rootdir,
                max_cost=args.max_cost,
            )
            order = replace(order, judge=stack.enter_context(judges))
        verification = verify_run(order)
    unfinished = why_unfinished(read_run(folder))
    page = order.output / "index.html"
    if args.json:
        changed = len(verification.changed)
        print_json(
            "verification", {"report": page, "changed": changed, "cells": verification.cells}
        )
    else:
        for line in verification_lines(verification):
            print(line)
        print(f"report: {page}")
    if unfinished:
        print(f"autoweb: {unfinished}", file=sys.stderr)
    return int(args.fail_on_change and bool(verification.changed or unfinished))
