"""`autoweb compare`, `comment` and `merge-reports`: several runs, or the models of one, together.

`compare` compares two runs, or the models of one run, on the same cases. `comment` writes such a
comparison as the body of one sticky comment on a pull request. `merge-reports` merges the shards of
a run into one report.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.commands.arguments import add_json_argument, print_json
from pytest_autoweb.commands.saved_run import add_run_argument
from pytest_autoweb.errors import AutowebError, SettingsError, listed, near_miss

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.analysis.cell_numbers import RunRows
    from pytest_autoweb.analysis.comparison import Comparison

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_COMMENT_EPILOG = """\
  autoweb comment autoweb-report --baseline latest -o comment.md
  autoweb comment --key nightly --link https://ci.example/runs/7 | gh pr comment --body-file -

The first line is a hidden marker. A job that finds a comment with that line edits it and otherwise
creates one, so a pull request has a single comment however many pushes it gets. docs/ci.md has the
script for such a job.

Exit status: 0 written, whatever the run says; 4 invalid input.
"""

_MERGE_REPORTS_EPILOG = """\
The first command runs on each machine, the second where all packed reports are collected:

  pytest cases --autoweb-models=A,B --autoweb-shard=1/4
  autoweb merge-reports autoweb-blobs --require-complete

Packed reports and run folders can be named one by one as well:

  autoweb merge-reports report-1.zip report-2.zip --output merged

A cell found in several inputs counts once: a finished result wins over an unfinished one, and then
the latest wins. Missing cells, duplicates and all differences between the inputs (settings,
versions, cases, prompts) are printed and kept in the report.

Exit status: 0 merged; 1 with --require-complete, cells have no result, or a run did not come to its
end; 4 invalid input.
"""

_COMPARE_EPILOG = """\
A and B are run folders, report.json files, or saved runs: a file, its number or its name in the
storage folder, or `latest`.

  autoweb compare autoweb-report                      all pairs of models of one run
  autoweb compare autoweb-report --models a,b         two of them
  autoweb compare latest autoweb-report               each model, before and after
  autoweb compare old new --models gpt-5,gpt-6        gpt-5 of old against gpt-6 of new

Only cases that were graded on both sides count, with the same `case` and `checks` checksums; the
others are listed with the reason.

Exit status: 0 whatever the comparison finds (use `autoweb gate` to fail on a difference); 4 a run
cannot be read.
"""


def add_comment_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb comment`."""
    comment = subparsers.add_parser(
        "comment",
        help="write a comment for a pull request about a run",
        description="Writes what a reviewer needs to know, in GitHub's markdown: score, change, "
        "improvements and regressions for each model, and the gates.",
        epilog=_COMMENT_EPILOG,
    )
    add_run_argument(comment)
    comment.add_argument(
        "--baseline",
        metavar="RUN",
        help="Run to compare with: a number or name in the storage folder, `latest`, a saved file "
        "or a run folder. Default: the run that it was compared with before.",
    )
    comment.add_argument(
        "--storage", type=Path, default=Path(".autoweb"), help="Folder of saved runs."
    )
    comment.add_argument(
        "--key",
        default="default",
        help="Name that keeps several comments on one pull request apart.",
    )
    comment.add_argument("--link", default="", help="Address of the whole report.")
    comment.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="Write to this file, not to stdout."
    )
    comment.set_defaults(run=run_comment)


def run_comment(args: argparse.Namespace) -> int:
    """Write the comment.

    Raises:
        SettingsError: the folder, or what it is to be compared with, is not a run.
        AutowebError: the file cannot be written.
    """
    from pytest_autoweb.gates.gate_decision import rows_of, why_unfinished
    from pytest_autoweb.report.json_report import load_any
    from pytest_autoweb.report.markdown import comment_body
    from pytest_autoweb.report.plain_stream import plain_text
    from pytest_autoweb.runs.run_folder import read_run, read_side_files, refuse_other_folders
    from pytest_autoweb.runs.saving import write_text_atomic

    refuse_other_folders(args.folder)
    run = read_run(args.folder)
    rows = rows_of(run)
    beside = read_side_files(args.folder)
    baseline = beside.baseline
    if args.baseline:
        baseline = load_any(args.baseline, args.storage, except_ts=rows.ts)
    body = comment_body(
        *(rows, beside.gates, baseline),
        key=args.key,
        link=args.link,
        unfinished=why_unfinished(run),
    )
    if args.output is None:
        sys.stdout.buffer.write(plain_text(body).encode())
        return 0
    try:
        write_text_atomic(args.output, body)
    except OSError as error:
        raise AutowebError(f"{args.output} cannot be written: {error.strerror}") from None
    return 0


def add_merge_reports_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb merge-reports`."""
    merge = subparsers.add_parser(
        "merge-reports",
        help="merge the packed reports of shards",
        description="Merges packed reports of --autoweb-shard, or whole run folders, into one run "
        "folder with the report that a single run would have.",
        epilog=_MERGE_REPORTS_EPILOG,
    )
    merge.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a packed report (report-*.zip), a run folder, or a folder that holds any of these",
    )
    merge.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-report"),
        metavar="DIR",
        help="where the merged run goes; an earlier run there is moved aside "
        "(default: autoweb-report)",
    )
    merge.add_argument(
        "--require-complete",
        action="store_true",
        help="exit with 1 when cells have no result, or a run did not come to its end",
    )
    add_json_argument(merge)
    merge.set_defaults(run=run_merge_reports, with_variants=True)


def run_merge_reports(args: argparse.Namespace) -> int:
    """Merge the inputs and print what is missing or differs.

    Raises:
        AutowebError: an input is missing, broken or refused; nothing was changed.
    """
    from pytest_autoweb.gates.gate_decision import why_unfinished
    from pytest_autoweb.report.merge import merge_reports
    from pytest_autoweb.report.terminal import terminal_lines
    from pytest_autoweb.runs.run_folder import read_run

    merged = merge_reports(args.paths, args.output, max_chars=8_000_000)
    page = args.output / "index.html"
    if args.json:
        facts = {"missing": merged.missing, "notes": merged.report.notes}
        print_json("merge", {"report": page, "summary": merged.report.summary, **facts})
    else:
        for line, _ in terminal_lines(merged.report):
            print(line)
        print(f"report: {page}")
    unfinished = why_unfinished(read_run(args.output))
    if unfinished:
        print(f"autoweb: {unfinished}", file=sys.stderr)
    return int(args.require_complete and bool(merged.missing or unfinished))


def add_compare_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb compare`."""
    compare = subparsers.add_parser(
        "compare",
        help="compare two runs, or the models of one run, on the same cases",
        description="Prints rates with intervals, the paired test, cost, time and every case that "
        "flipped, and says whether the difference is more than noise.",
        epilog=_COMPARE_EPILOG,
    )
    compare.add_argument("a", metavar="A", help="a run: side A, or the only one")
    compare.add_argument("b", metavar="B", nargs="?", help="a later run: side B")
    which = compare.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="NAME", help="only this model of both runs")
    which.add_argument(
        "--models",
        metavar="A,B",
        default="",
        help="the models to compare within one run; with two runs: one model of A, one of B",
    )
    compare.add_argument(
        "--metric",
        choices=("first_attempt", "after_repair", "executed"),
        default="first_attempt",
        help="what counts as a pass: only passed cells (the default), or healed ones as well; "
        "executed compares the cases without checks by whether every step ran, which is no proof",
    )
    compare.add_argument(
        "--allow-changed",
        action="store_true",
        help="also compare cases that changed between the runs, marked as such",
    )
    add_json_argument(compare)
    compare.add_argument(
        "--storage", type=Path, default=Path(".autoweb"), help="folder of saved runs (.autoweb)"
    )
    compare.set_defaults(run=run_compare)


def run_compare(args: argparse.Namespace) -> int:
    """Compare the sides and print the result.

    Raises:
        SettingsError: a side is not a run, or a model is not in it.
    """
    from pytest_autoweb.report.terminal import comparison_text

    comparisons = _of_one_run(args) if args.b is None else _of_two_runs(args)
    if args.json:
        print_json("comparisons", {"comparisons": comparisons})
    else:
        print(comparison_text(comparisons))
    return 0


def _of_one_run(args: argparse.Namespace) -> "tuple[Comparison, ...]":
    from pytest_autoweb.analysis.comparison import compare_models, compare_modes, contestants
    from pytest_autoweb.report.json_report import load_any

    if args.model:
        raise SettingsError("--model compares two runs; within one run use --models A,B")
    if args.allow_changed:
        raise SettingsError("--allow-changed compares two runs; within one run no case can change")
    rows = _measured(load_any(args.a, args.storage), args)
    models = _names(args.models) or contestants(rows)
    for model in models:
        _check_model(model, rows, args.a)
    modes = {row.capture_mode for row in rows.rows if row.model in models and not row.any_capture}
    if len(set(models)) != len(models) or (len(models) < 2 and len(modes) < 2):
        raise SettingsError(
            f"a comparison within {args.a} needs two of its models, got {listed(models)}"
        )
    return (
        *compare_models(rows, metric=args.metric, models=models),
        *compare_modes(rows, metric=args.metric, models=models),
    )


def _of_two_runs(args: argparse.Namespace) -> "tuple[Comparison, ...]":
    from pytest_autoweb.analysis.comparison import compare_runs, contestants
    from pytest_autoweb.report.json_report import load_any

    before, after = (_measured(load_any(run, args.storage), args) for run in (args.a, args.b))
    pairs = _pairs(args)
    for first, second in pairs or ():
        _check_model(first, before, args.a)
        _check_model(second, after, args.b)
    comparisons = compare_runs(
        before, after, metric=args.metric, models=pairs, allow_changed=args.allow_changed
    )
    if not comparisons:
        raise SettingsError(
            f"{args.a} and {args.b} have no model in common "
            f"({', '.join(contestants(before))}; {', '.join(contestants(after))}); "
            "name one of each with --models"
        )
    return comparisons


def _measured(rows: "RunRows", args: argparse.Namespace) -> "RunRows":
    """Return the run with what the metric compares.

    Raises:
        SettingsError: only cases without checks are to be compared, and there are none.
    """
    from pytest_autoweb.analysis.execution_only import as_executed

    if args.metric != "executed":
        return rows
    ran = as_executed(rows)
    if not ran.rows:
        raise SettingsError(
            f"--metric executed: every case of {rows.name or rows.ts} has checks; compare these"
        )
    return ran


def _pairs(args: argparse.Namespace) -> list[tuple[str, str]] | None:
    if args.model:
        return [(args.model, args.model)]
    names = _names(args.models)
    if not names:
        return None
    if len(names) != 2:
        raise SettingsError(f"--models with two runs needs two names, got {len(names)}")
    return [(names[0], names[1])]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check_model(model: str, rows: "RunRows", where: str) -> None:
    from pytest_autoweb.analysis.comparison import contestants

    known = contestants(rows)
    if model not in known:
        raise SettingsError(f"{where} has no model {model!r}{near_miss(model, known)}")
