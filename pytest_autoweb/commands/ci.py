"""`autoweb gate`, `comment`, `merge-reports` and `compare`: what CI jobs do with finished runs.

`gate` applies the gates of a test run to a finished or merged run folder. `comment` writes the body
of one sticky comment on a pull request. `merge-reports` merges the shards of a run into one report.
`compare` compares two runs, or the models of one run, on the same cases.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.commands.arguments import add_json_argument, print_json
from pytest_autoweb.commands.saved_run import add_run_argument
from pytest_autoweb.errors import AutowebError, SettingsError, listed, near_miss

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.analysis.cell_numbers import RunRows
    from pytest_autoweb.analysis.comparison import Comparison
    from pytest_autoweb.gates.gate_decision import GateDecision, GatePolicy
    from pytest_autoweb.runs.run_folder import RecordedRun

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_GATE_EPILOG = """\
Also after a run in shards, on the report that `autoweb merge-reports` made of them:

  autoweb gate autoweb-report --min-pass-rate 80
  autoweb gate autoweb-report --compare --compare-fail pass_rate:5%,cost:20% --autosave

Exit status: 0 when every gate holds, is soft or cannot be decided (no run to compare with yet);
1 when a gate fails, or when none of a model's cells could be graded although they have checks; 4
when the folder or a flag is invalid. Pinned cases (must_pass) and the groups of pyproject.toml are
always checked.
"""

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

Exit status: 0 merged; 1 with --require-complete, cells have no result; 4 invalid input.
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


def add_gate_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb gate`."""
    gate = subparsers.add_parser(
        "gate",
        help="apply gates to a finished or merged run",
        description="Applies the gates of `pytest --autoweb-min-pass-rate` and similar flags to a "
        "run folder, and writes its report again.",
        epilog=_GATE_EPILOG,
    )
    add_run_argument(gate)
    gate.add_argument("--min-pass-rate", metavar="PERCENT", default="", help=_help("min_pass_rate"))
    gate.add_argument(
        "--compare", metavar="RUN", nargs="?", const="latest", default="", help=_help("compare")
    )
    gate.add_argument("--compare-fail", metavar="EXPR", default="", help=_help("compare_fail"))
    gate.add_argument("--baseline-days", metavar="DAYS", default="90", help=_help("baseline_days"))
    gate.add_argument(
        "--max-cost", metavar="USD", default="", help="Gate: the most US dollars that may be spent."
    )
    gate.add_argument(
        "--allow-unpriced", action="store_true", help="Let an unknown cost pass the cost gates."
    )
    gate.add_argument(
        "--groups-from",
        metavar="FILE",
        type=Path,
        help="File with [tool.autoweb.groups.NAME] tables. Default: pyproject.toml, if it exists.",
    )
    gate.add_argument("--storage", type=Path, default=Path(".autoweb"), help=_help("storage"))
    gate.add_argument("--save", metavar="NAME", default="", help=_help("save"))
    gate.add_argument("--autosave", action="store_true", help=_help("autosave"))
    add_json_argument(gate)
    gate.set_defaults(run=run_gate, with_variants=True)


def run_gate(args: argparse.Namespace) -> int:
    """Apply the gates and return the exit status, which is 1 when the run is not green.

    As in a test run, that is when a gate fails, or when a model has no graded cell.

    Raises:
        SettingsError: a flag is invalid, or the folder is not a run folder.
    """
    from pytest_autoweb.gates.gate_decision import decide, keep, read_gate_inputs
    from pytest_autoweb.report.html_report import read_for_report
    from pytest_autoweb.report.write import write_report
    from pytest_autoweb.runs.run_folder import refuse_other_folders
    from pytest_autoweb.session.pytest_outcome import no_verdicts

    refuse_other_folders(args.folder)
    policy = _policy(args)
    reading = read_for_report(args.folder)
    saved = reading.run
    inputs = read_gate_inputs(policy, args.storage, except_ts=saved.info.ts)
    try:
        decision = decide(saved, inputs)
        chars = _parsed("report_max_chars", "")
        report = write_report(args.folder, max_chars=chars, reading=reading)
        path, why = keep(decision.rows, args.storage, name=args.save, autosave=args.autosave)
    except OSError as error:
        raise AutowebError(f"{error.filename}: {error.strerror}") from None
    ungraded = no_verdicts(saved.cells)
    notices = [notice for notice in (*inputs.notices, why, *ungraded) if notice]
    failed, page = bool(decision.failed or ungraded), args.folder / "index.html"
    if args.json:
        told = {"failed": failed, "gates": decision.gates, "notices": notices}
        print_json("gates", {"report": page, **told, "saved_as": path})
    else:
        for line in (*(f"autoweb: {notice}" for notice in notices), *_said(decision, path)):
            print(line)
        print(page)
    # With --json these lines are on stderr, which GitHub reads as well.
    _tell_github(saved, decision, policy, report)
    return int(failed)


def _said(decision: "GateDecision", path: Path | None) -> Iterator[str]:
    from pytest_autoweb.gates.gate_decision import gate_lines

    for line, _ in gate_lines(decision.gates):
        yield line
    if not decision.gates:
        yield "no gate was asked for"
    if path:
        yield f"saved as {path}"


def _policy(args: argparse.Namespace) -> "GatePolicy":
    from pytest_autoweb.gates.gate_decision import GatePolicy, groups_file, read_groups, read_limits

    groups = (
        groups_file(args.groups_from) if args.groups_from else read_groups(Path("pyproject.toml"))
    )
    return GatePolicy(
        min_pass_rate=_parsed("min_pass_rate", args.min_pass_rate),
        groups=groups,
        limits=read_limits(args.compare_fail, "--compare-fail"),
        compare=args.compare or ("latest" if args.compare_fail else ""),
        baseline_days=_parsed("baseline_days", args.baseline_days),
        max_cost=_parsed("max_cost", args.max_cost),
        allow_unpriced=args.allow_unpriced,
    )


def _parsed(name: str, text: str) -> Any:
    """Return the value that pytest's flag of the same name would give."""
    option = _option(name)
    parse: Callable[[str], Any] = option.parse
    try:
        return parse(text or option.default)
    except ValueError as error:
        raise SettingsError(f"--{name.replace('_', '-')}: {error}") from None


def _help(name: str) -> str:
    return str(_option(name).help).replace("%", "%%")


def _option(name: str) -> Any:
    from pytest_autoweb.options import OPTIONS

    return next(option for option in OPTIONS if option.name == name)


def _tell_github(
    saved: "RecordedRun", decision: "GateDecision", policy: "GatePolicy", report: Any
) -> None:
    from pytest_autoweb.report.ci_formats import annotations, append_summary, on_github, path_prefix
    from pytest_autoweb.report.markdown import render_markdown

    if not on_github(os.environ):
        return
    prefix = path_prefix(Path.cwd(), os.environ)
    for line in annotations(saved.cells, decision.gates, policy, prefix=prefix):
        print(line)
    try:
        append_summary(os.environ, render_markdown(report))
    except OSError as error:
        print(f"autoweb: no job summary: {error.strerror or error}")


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
    from pytest_autoweb.gates.gate_decision import rows_of
    from pytest_autoweb.report.json_report import load_any
    from pytest_autoweb.report.markdown import comment_body
    from pytest_autoweb.runs.run_folder import read_run, read_side_files, refuse_other_folders
    from pytest_autoweb.runs.saving import write_text_atomic

    refuse_other_folders(args.folder)
    rows = rows_of(read_run(args.folder))
    beside = read_side_files(args.folder)
    baseline = beside.baseline
    if args.baseline:
        baseline = load_any(args.baseline, args.storage, except_ts=rows.ts)
    body = comment_body(rows, beside.gates, baseline, key=args.key, link=args.link)
    if args.output is None:
        sys.stdout.buffer.write(body.encode())
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
        help="exit with 1 when cells have no result",
    )
    add_json_argument(merge)
    merge.set_defaults(run=run_merge_reports, with_variants=True)


def run_merge_reports(args: argparse.Namespace) -> int:
    """Merge the inputs and print what is missing or differs.

    Raises:
        AutowebError: an input is missing, broken or refused; nothing was changed.
    """
    from pytest_autoweb.report.merge import merge_reports
    from pytest_autoweb.report.terminal import terminal_lines

    merged = merge_reports(args.paths, args.output, max_chars=8_000_000)
    page = args.output / "index.html"
    if args.json:
        facts = {"missing": merged.missing, "notes": merged.report.notes}
        print_json("merge", {"report": page, "summary": merged.report.summary, **facts})
    else:
        for line, _ in terminal_lines(merged.report):
            print(line)
        print(f"report: {page}")
    return 1 if merged.missing and args.require_complete else 0


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
        choices=("first_attempt", "after_repair"),
        default="first_attempt",
        help="what counts as a pass: only passed cells (the default), or healed ones as well",
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
    rows = load_any(args.a, args.storage)
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

    before, after = load_any(args.a, args.storage), load_any(args.b, args.storage)
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
