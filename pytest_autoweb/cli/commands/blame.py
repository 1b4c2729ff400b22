"""`autoweb run blame`: tell who made a run worse than an earlier one."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError, listed, near_miss
from pytest_autoweb.cli.arguments import add_pytest_flags
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.run_arguments import REPORT, add_dir_argument
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.report.blame_text import ArmShown, blame_text
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.results.analysis.blaming import ArmName, Factor, blame, harness_differences
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.comparison import contestants
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, GRADED
from pytest_autoweb.results.analysis.served import changes_between, served_of, served_text
from pytest_autoweb.results.records import CellResult, Usage
from pytest_autoweb.results.runs.loaded_run import load_run
from pytest_autoweb.results.runs.run_names import folder_of_run
from pytest_autoweb.tools.verify.blame_arms import (
    TITLES,
    ArmsOrder,
    Missing,
    PlannedArm,
    planned_arms,
    run_arm,
)

_BLAME_ABOUT = """\
Tells who made a run worse than an earlier one: the app, the model, or the harness (this package,
its settings, versions and browser). It runs the same cases again with the one or the other held
still, as far as it was recorded, and finds the step at which cases are lost:

  old replies, recorded site      all but the harness is as in OLD (--autoweb-record-mode=record
                                  and --autoweb-traffic=record of OLD)
  model live, recorded site       fails where the old replies passed: the model changed
  old replies, live site          fails where the recorded site passed: the app changed
  the oracle on both              needs no replies

OLD and NEW are runs as for `autoweb run compare`; NEW has to be a run folder. Flags of pytest for
these runs stand behind `--`. Only `model live, recorded site` calls a model: it costs about as much
as NEW.

  autoweb run blame last-week autoweb-report
  autoweb run blame last-week autoweb-report -- --autoweb-max-cost=2

The runs are kept in autoweb-blame/ (or --output DIR), and are not made again for the same OLD and
NEW. Start it in the folder in which pytest was started.

Exit status: 0 whatever is found; 4 a run cannot be read.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _BLAME_ABOUT
    parser.add_argument("old", metavar="OLD", help="the earlier run")
    parser.add_argument("new", metavar="NEW", help="the later run, which is worse")
    parser.add_argument("--model", metavar="NAME", help="the model, if both runs have several")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-blame"),
        metavar="DIR",
        help="where the runs in between are kept; default: autoweb-blame",
    )
    add_json_argument(parser)
    add_dir_argument(parser)
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the arms that are missing, and print the verdict.

    Raises:
        SettingsError: a run cannot be read, or there is no model that both ran.
    """
    old = load_any(args.old, args.storage)
    later = load_run(folder_of_run(args.new, args.storage, REPORT))
    new = load_any(str(later.folder), args.storage)
    model = _model(args, old, new)
    same, differs = _records(old, new, model, later.cells)
    order = ArmsOrder(
        old=old,
        new=new,
        info=later.info,
        model=model,
        rootdir=Path.cwd(),
        run_folder=later.folder,
        output=args.output,
        more=tuple(args.flags),
        same=frozenset(same),
    )
    found = blame(order.model, {"old": old, "new": new}, ORACLE, same)
    # A run that lost nothing is not worth the price of others.
    planned = () if found.answer == "nothing to blame" else planned_arms(order)
    _tell_of_left(order.taken.left if planned else ())
    start = watched(order.output, sessions=len(planned))
    arms: dict[ArmName, RunRows] = {"old": old, "new": new}
    for arm in planned:
        if (rows := run_arm(order, arm, start)) is not None:
            arms[arm.name] = rows
    found = blame(order.model, arms, ORACLE, same)
    shown = tuple(_shown(order, arms, planned))
    labels = (old.name or old.ts, new.name or new.ts)
    if args.json:
        sides = {"old": labels[0], "new": labels[1]}
        print_json("blame", {**sides, "blame": found, "records": differs, "arms": shown})
    else:
        print(blame_text(found, labels, differs, shown))
    return 0


def _model(args: argparse.Namespace, old: RunRows, new: RunRows) -> str:
    known = [model for model in contestants(new) if model in contestants(old)]
    if args.model and args.model not in known:
        raise SettingsError(f"not both runs have {args.model!r}{near_miss(args.model, known)}")
    if not args.model and len(known) != 1:
        raise SettingsError(
            f"name one model with --model; both runs have {listed(known) if known else 'none'}"
        )
    return str(args.model or known[0])


def _tell_of_left(flags: Sequence[str]) -> None:
    if flags:
        print(
            "autoweb: these flags of the later run are not taken over; give those that you want "
            f"behind `--`: {' '.join(flags)}",
            file=sys.stderr,
        )


def _records(
    old: RunRows, new: RunRows, model: str, cells: Sequence[CellResult]
) -> tuple[set[Factor], dict[str, tuple[str, ...]]]:
    """Return what is the same by the records of the runs, and what these say of each factor."""
    same: set[Factor] = set()
    before, after = ([r for r in run.rows if r.model == model] for run in (old, new))
    harness = harness_differences(old, new, model)
    if not harness:
        same.add("harness")
    sites = [{row.checksums.get("traffic") for row in rows} for rows in (before, after)]
    if sites[0] == sites[1] and None not in sites[0]:
        same.add("app")
    used = Usage.total(cell.total_usage for cell in cells if cell.model == model)
    if used.calls and used.replayed_calls == used.calls:
        same.add("model")
    served = served_of(after)
    told = tuple(changes_between(served_of(before), served))
    unchanged = f"answered by {served_text(served)}, as before" if served else ""
    if not served or not served_of(before):
        unchanged = "the provider does not tell which model answered in both runs"
    commits = [run.environment.get("git", "") for run in (old, new)]
    moved = f"the project is at {commits[1]}, and was at {commits[0]}"
    return same, {
        "harness": harness or ("the same",),
        "app": ("both runs replayed the same recorded site",)
        if "app" in same
        else (moved if commits[0] != commits[1] else "nothing is recorded of its version",),
        "model": ("the later run replayed recorded replies",)
        if "model" in same
        else told or (unchanged,),
    }


def _shown(
    order: ArmsOrder, arms: Mapping[ArmName, RunRows], planned: Sequence[PlannedArm]
) -> Iterator[ArmShown]:
    plans = {arm.name: arm for arm in planned}
    for name, title in TITLES.items():
        rows = arms[name].rows if name in arms else ()
        own = [row.outcome for row in rows if row.model == order.model]
        oracle = [row.outcome for row in rows if row.model == ORACLE]
        plan = plans.get(name)
        yield ArmShown(
            name=name,
            title=title,
            passed=sum(outcome in GOOD["first_attempt"] for outcome in own),
            cells=sum(outcome in GRADED for outcome in own),
            off_record=own.count("off_record"),
            oracle=f"{oracle.count('passed')} of {len(oracle)}" if oracle else "",
            folder=str(order.output / name) if plan and name in arms else "",
            missing=tuple(map(_missing, plan.missing)) if plan else (),
        )


def _missing(missing: Missing) -> str:
    names = ", ".join(one_line(case, 40) for case in missing.cases[:5])
    more = f" and {len(missing.cases) - 5} more" if len(missing.cases) > 5 else ""
    return f"{missing.what} ({names}{more})"
