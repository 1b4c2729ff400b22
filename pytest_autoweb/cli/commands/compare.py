"""`autoweb run compare`: compare two runs, or the models of one run, on the same cases."""

import argparse
from contextlib import suppress

from pytest_autoweb.base.errors import SettingsError, listed, near_miss
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.run_arguments import add_dir_argument, whole_run
from pytest_autoweb.report.comparison_text import comparison_text
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.comparison import (
    Comparison,
    compare_models,
    compare_modes,
    compare_runs,
    contestants,
)
from pytest_autoweb.results.analysis.execution_only import as_executed
from pytest_autoweb.results.analysis.switching import switch_of, switch_sentence

_COMPARE_EPILOG = """\
A and B are run folders, report.json files, or saved runs: a file, its number or its name, or
`latest` for the last one that was saved.

  autoweb run compare                                  all pairs of models of the last whole run
  autoweb run compare autoweb-report --models a,b      two models of this run
  autoweb run compare latest autoweb-report            each model, before and after
  autoweb run compare old new --models gpt-5,gpt-6     gpt-5 of old against gpt-6 of new
  autoweb run compare --models a,b --not-worse 5%      may b take the place of a?

Only cases that were graded on both sides count, with the same `case` and `checks` checksums; the
others are listed with the reason.

Exit status: 0 whatever the comparison finds (`autoweb run gate` fails on a difference); 4 a run
cannot be read.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints rates with intervals, the paired test, cost, time and every case that "
        "flipped, and says whether the difference is more than noise."
    )
    parser.epilog = _COMPARE_EPILOG
    parser.add_argument(
        "a",
        metavar="A",
        nargs="?",
        default="",
        help="a run: side A, or the only one; default: the last whole run",
    )
    parser.add_argument("b", metavar="B", nargs="?", help="a later run: side B")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="NAME", help="only this model of both runs")
    which.add_argument(
        "--models",
        metavar="A,B",
        default="",
        help="the models to compare within one run; with two runs: one model of A, one of B",
    )
    parser.add_argument(
        "--metric",
        choices=("first_attempt", "after_repair", "executed"),
        default="first_attempt",
        help="what counts as a pass: only passed cells (the default), or healed ones as well; "
        "executed compares the cases without checks by whether every step ran, which is no proof",
    )
    parser.add_argument(
        "--allow-changed",
        action="store_true",
        help="also compare cases that changed between the runs, marked as such",
    )
    parser.add_argument(
        "--not-worse",
        metavar="PERCENT",
        default="",
        help="ask whether B may take the place of A: is it worse by more than this many points "
        "of the pass rate, as in 5%%? Fix the margin before you look",
    )
    add_json_argument(parser)
    add_dir_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare the sides and print the result.

    Raises:
        SettingsError: a side is not a run, or a model is not in it.
    """
    args.a = args.a or str(whole_run())
    margin = _margin(args.not_worse)
    comparisons = _of_one_run(args) if args.b is None else _of_two_runs(args)
    switches = () if margin is None else tuple(switch_of(each, margin) for each in comparisons)
    if args.json:
        asked = {} if margin is None else {"switches": switches}
        print_json("comparisons", {"comparisons": comparisons, **asked})
        return 0
    print(comparison_text(comparisons))
    for switch in switches:
        print(f"\nMay I switch? {one_line(switch_sentence(switch), 600)}")
    return 0


def _margin(text: str) -> float | None:
    """Return the accepted loss as a share; None if it is not asked for.

    Raises:
        SettingsError: it is no percentage above 0 and below 100.
    """
    if not text:
        return None
    with suppress(ValueError):
        percent = float(text.removesuffix("%"))
        if text.endswith("%") and 0 < percent < 100:
            return percent / 100
    raise SettingsError(f"--not-worse: {text!r} is no percentage between 0% and 100%, such as 5%")


def _of_one_run(args: argparse.Namespace) -> tuple[Comparison, ...]:
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


def _of_two_runs(args: argparse.Namespace) -> tuple[Comparison, ...]:
    before, after = (
        _as_named(_measured(load_any(run, args.storage), args), run) for run in (args.a, args.b)
    )
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


def _as_named(rows: RunRows, named: str) -> RunRows:
    """Return the run under the number by which it was asked for, if that is how it was."""
    return rows.model_copy(update={"name": named}) if named.isdecimal() else rows


def _measured(rows: RunRows, args: argparse.Namespace) -> RunRows:
    """Return the run with what the metric compares.

    Raises:
        SettingsError: only cases without checks are to be compared, and there are none.
    """
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


def _check_model(model: str, rows: RunRows, where: str) -> None:
    known = contestants(rows)
    if model not in known:
        raise SettingsError(f"{where} has no model {model!r}{near_miss(model, known)}")
