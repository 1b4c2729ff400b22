"""`autoweb run gate`: apply the gates of a test run to a finished or merged run folder."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import AutowebError, SettingsError
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.pull_request_comment import add_comment_arguments, write_comment
from pytest_autoweb.cli.run_arguments import add_dir_argument, add_run_argument
from pytest_autoweb.report.gates.case_groups import groups_file, read_groups
from pytest_autoweb.report.gates.gate_decision import (
    GateDecision,
    decide,
    gate_lines,
    keep,
    read_gate_inputs,
    why_unfinished,
)
from pytest_autoweb.report.gates.gate_policy import GatePolicy, compared_by_default, read_limits
from pytest_autoweb.report.github_actions import annotations, append_summary, on_github, path_prefix
from pytest_autoweb.report.large_report import read_for_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.plain_stream import write_obeyed
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.runs.run_folder import RecordedRun, refuse_other_folders
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.session.pytest_outcome import no_verdicts
from pytest_autoweb.settings.run_settings import OPTIONS, UNNAMED

_GATE_EPILOG = """\
Also after a run in shards, on the report that `autoweb run merge` made of them:

  autoweb run gate autoweb-report --min-pass-rate 80
  autoweb run gate autoweb-report --compare --compare-fail pass_rate:5%,cost:20% --save
  autoweb run gate --comment -o comment.md

With --comment it also writes what a reviewer needs to know, in GitHub's markdown; without a gate on
the command line, it writes that alone and leaves the gates as the run decided them. The first line
is a hidden marker: a job that finds a comment with it edits that one, so that a pull request has a
single comment however many pushes it gets. docs/ci.md has the script for such a job.

Exit status: 0 when every gate holds, is soft or cannot be decided (no run to compare with yet);
1 when a gate fails, when none of a model's cells could be graded although they have checks, or when
the run has no cells or did not come to its end; 4 when the folder or a flag is invalid. Pinned
cases (must_pass) and the groups of pyproject.toml are always checked.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Applies the gates of `pytest --autoweb-min-pass-rate` and similar flags to a "
        "run folder, and writes its report again."
    )
    parser.epilog = _GATE_EPILOG
    add_run_argument(parser)
    parser.add_argument(
        "--min-pass-rate", metavar="PERCENT", default="", help=_help("min_pass_rate")
    )
    parser.add_argument("--min-score", metavar="PERCENT", default="", help=_help("min_score"))
    parser.add_argument(
        "--compare", metavar="RUN", nargs="?", const="latest", default="", help=_help("compare")
    )
    parser.add_argument("--compare-fail", metavar="EXPR", default="", help=_help("compare_fail"))
    parser.add_argument(
        "--baseline-days", metavar="DAYS", default="90", help=_help("baseline_days")
    )
    parser.add_argument(
        "--max-cost", metavar="USD", default="", help="Gate: the most US dollars that may be spent."
    )
    parser.add_argument(
        "--allow-unpriced", action="store_true", help="Let an unknown cost pass the cost gates."
    )
    parser.add_argument(
        "--groups-from",
        metavar="FILE",
        type=Path,
        help="File with [tool.autoweb.groups.NAME] tables. Default: pyproject.toml, if it exists.",
    )
    add_dir_argument(parser)
    parser.add_argument(
        "--save", metavar="NAME", nargs="?", const=UNNAMED, default="", help=_help("save")
    )
    # The name of earlier versions.
    parser.add_argument("--autosave", action="store_true", help=argparse.SUPPRESS)
    add_comment_arguments(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Apply the gates and return the exit status, which is 1 when the run is not green.

    As in a test run, that is when a gate fails, when a model has no graded cell, or when the run
    did not come to its end.

    Raises:
        SettingsError: a flag is invalid, or the folder is not a run folder.
    """
    refuse_other_folders(args.folder)
    if args.comment and not _asks(args):
        return write_comment(args)
    # What is written to stdout is the comment alone.
    only_comment = args.comment and args.output is None
    with redirect_stdout(sys.stderr) if only_comment else nullcontext():
        failed = _apply(args)
    if args.comment:
        write_comment(args)
    return failed


def _asks(args: argparse.Namespace) -> bool:
    """Tell whether gates are to be applied, and not only told of."""
    given = (args.min_pass_rate, args.min_score, args.compare, args.compare_fail, args.max_cost)
    return any((*given, args.groups_from)) or bool(args.save) or args.autosave


def _apply(args: argparse.Namespace) -> int:
    policy = _policy(args)
    reading = read_for_report(args.folder)
    saved = reading.run
    inputs = read_gate_inputs(policy, args.storage, except_ts=saved.info.ts)
    try:
        decision = decide(saved, inputs)
        chars = _parsed("report_max_chars", "")
        report = write_report(args.folder, max_chars=chars, reading=reading)
        unnamed = args.autosave or args.save == UNNAMED
        name = "" if args.save == UNNAMED else args.save
        path, why = keep(decision.rows, args.storage, name=name, autosave=unnamed)
    except OSError as error:
        raise AutowebError(f"{error.filename}: {error.strerror}") from None
    ungraded = no_verdicts(saved.cells)
    unfinished = why_unfinished(saved)
    notices = [notice for notice in (*inputs.notices, why, *ungraded, unfinished) if notice]
    failed, page = bool(decision.failed or ungraded or unfinished), args.folder / "index.html"
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


def _said(decision: GateDecision, path: Path | None) -> Iterator[str]:
    for line, _ in gate_lines(decision.gates):
        yield line
    if not decision.gates:
        yield "no gate was asked for"
    if path:
        yield f"saved as {path}"


def _policy(args: argparse.Namespace) -> GatePolicy:
    groups = (
        groups_file(args.groups_from) if args.groups_from else read_groups(Path("pyproject.toml"))
    )
    least = _parsed("min_pass_rate", args.min_pass_rate)
    return GatePolicy(
        min_pass_rate=least.percent if least else None,
        confidence=least.confidence if least else None,
        min_score=_parsed("min_score", args.min_score),
        groups=groups,
        limits=read_limits(args.compare_fail, "--compare-fail"),
        compare=args.compare or compared_by_default(args.compare_fail),
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
    return next(option for option in OPTIONS if option.name == name)


def _tell_github(
    saved: RecordedRun, decision: GateDecision, policy: GatePolicy, report: Any
) -> None:
    if not on_github(os.environ):
        return
    prefix = path_prefix(Path.cwd(), os.environ)
    for line in annotations(saved.cells, decision.gates, policy, prefix=prefix):
        write_obeyed(f"{line}\n")
    try:
        append_summary(os.environ, render_markdown(report))
    except OSError as error:
        print(f"autoweb: no job summary: {error.strerror or error}")
