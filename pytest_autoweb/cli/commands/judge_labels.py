"""`autoweb run labels`: collect verdicts of people beside those of a judging model."""

import argparse
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.judge_arguments import add_judge_arguments
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.judging.checks.check_type import (
    Evidence,
    JudgeQuery,
    NotEvaluated,
    RubricFinding,
    RubricJudge,
)
from pytest_autoweb.judging.human_labels import (
    JudgeVerdict,
    Label,
    LabelFile,
    read_labels,
    write_labels,
)
from pytest_autoweb.results.analysis.judge_agreement import (
    agreement_line,
    agreements,
    panel_agreements,
    panel_line,
)
from pytest_autoweb.results.records import Attempt, CellResult, CheckResult
from pytest_autoweb.results.runs.run_folder import RecordedRun, read_run, refuse_other_folders
from pytest_autoweb.tools.verify.verify_run import RejudgeOrder, asked_judges, verify_run

Key = tuple[str, str, int, int, str]
_JUDGE_LABELS_ABOUT = """\
Measures how far the model of `judge` checks agrees with people. Only a judge that was measured may
decide anything (--autoweb-judge-labels); until then it gives advice.

  autoweb run labels autoweb-report --labels labels.yaml
  autoweb run labels RUN --labels labels.yaml --ask-judge --judge-model openai/gpt-5-mini

The first time, it writes an entry for every judge check of the run. A person looks at each cell in
the report and fills in `human: pass` or `human: fail`. The next time, it adds the verdicts of the
run's own judge and prints the agreement. With --ask-judge another model judges each labelled cell
from the evidence that the run kept. These calls cost money; --max-cost limits it.

Entries of other runs stay in the file, so that it can grow. The measurement needs at least 20
labels with a verdict of the judge, among them 5 human passes and 5 human fails.

Exit status: 0 written or measured; 4 invalid input, or a run without `judge` checks.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _JUDGE_LABELS_ABOUT
    add_run_argument(parser)
    parser.add_argument(
        "--labels", type=Path, required=True, metavar="FILE", help="YAML file to write or extend"
    )
    add_judge_arguments(parser, about="ask the judge about the labelled cells")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Update the labels file and print the agreement.

    Raises:
        AutowebError: the run or the labels file cannot be used.
    """
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
    panels = panel_agreements(saved.cells)
    if args.json:
        counts = {"entries": len(labels), "new": new, "waiting": waiting}
        found = {"judges": judges, "judge_panels": panels}
        print_json("judge-labels", {"file": args.labels, **counts, **found})
        return 0
    print(f"{args.labels}: {len(labels)} entries, {new} new")
    if waiting:
        print(f"{waiting} need a human verdict: fill in `human: pass` or `human: fail`")
    for judge in judges:
        print(agreement_line(judge))
    for panel in panels:
        print(panel_line(panel))
    return 0


def _opinions(ts: str, cells: tuple[CellResult, ...]) -> Iterator[tuple[Key, CheckResult]]:
    """Yield the result of every `judge` check of a run, with the key of its label."""
    for cell in cells:
        for attempt in cell.attempts:
            for result in attempt.checks:
                if result.type == "judge":
                    digest = hashlib.sha256(_rubric(result).encode()).hexdigest()
                    yield (ts, cell.folder, attempt.attempt_index, result.index, digest), result


def _rubric(result: CheckResult) -> str:
    return result.expected.removeprefix("rubric: ")


def _unlabelled(key: Key, result: CheckResult) -> Label:
    ts, cell, attempt, check, digest = key
    return Label(
        run=ts,
        cell=cell,
        attempt=attempt,
        check=check,
        rubric=_rubric(result),
        rubric_checksum=digest,
    )


def _add(labels: dict[Key, Label], results: dict[Key, CheckResult]) -> None:
    """Add the verdicts of the judges, and of their majority, to every label with a human one.

    The others wait, so that a model's opinion cannot influence the person who labels the cell.
    """
    for key, result in results.items():
        label = labels.get(key)
        if label is None or label.human is None or not (result.where and result.finding):
            continue
        said = {vote.judge: (vote.verdict, vote.reason) for vote in result.votes}
        said[result.where] = result.finding, result.actual
        others = tuple(other for other in label.judged if other.judge not in said)
        now = tuple(
            JudgeVerdict(judge=judge, verdict=verdict, reason=reason)
            for judge, (verdict, reason) in said.items()
        )
        labels[key] = label.model_copy(update={"judged": (*others, *now)})


def _asked(
    args: argparse.Namespace, saved: RecordedRun, labels: dict[Key, Label]
) -> Iterator[tuple[Key, CheckResult]]:
    """Ask the judge about the labelled cells, with the evidence that the run kept."""
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

        def judge(cell: CellResult, attempt: Attempt) -> RubricJudge:
            labelled = (cell.folder, attempt.attempt_index) in wanted
            return judges(cell, attempt) if labelled else _refuse_unlabelled

        output = Path(name) / "again"
        verify_run(
            RejudgeOrder(
                run_folder=args.folder.resolve(),
                output=output,
                rootdir=args.rootdir.resolve(),
                judge=judge,
            )
        )
        yield from _opinions(saved.info.ts, read_run(output).cells)


def _refuse_unlabelled(query: JudgeQuery, evidence: Evidence) -> RubricFinding:
    """Refuse to judge a cell that nobody has labelled, to save the cost of asking."""
    raise NotEvaluated("nobody has labelled this cell")
