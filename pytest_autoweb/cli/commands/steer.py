"""`autoweb run ctl`: pause a run that is going on, or stop a model or a case of it."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from pytest_autoweb.base.errors import SettingsError, near_miss
from pytest_autoweb.base.values.flag_texts import until
from pytest_autoweb.cli.run_arguments import REPORT, named_run
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import PlannedCell
from pytest_autoweb.results.runs.live_session import living_session
from pytest_autoweb.results.runs.run_folder import read_manifest
from pytest_autoweb.results.runs.steering import Order, OrderKind, give_order

_ABOUT = """\
Steers a run that is going on, from another terminal. Cells that have begun end as ever; the order
holds for those that have not. RUN is the run's folder; without it, autoweb-report is meant.

  autoweb run ctl autoweb-report pause
  autoweb run ctl go-on
  autoweb run ctl stop-model openai/gpt-5-mini
  autoweb run ctl stop-case login

ORDER is one of:

{orders}

What was ordered stands in the report with its time, and what it makes incomparable. A resumed run
(--autoweb-resume) starts without orders, and runs the cells that were stopped.

Exit status: 0 the order is given; 4 the run has ended, or it has no such model or case.
"""
_LISTED = 10
_MOST_IN_FLIGHT = 1000


def _nothing(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    if words:
        raise SettingsError(f"nothing stands behind it, but there is {words[0]!r}")
    return ""


def _model(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    return _one_of(words, "MODEL", (cell.model for cell in cells))


def _case(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    return _one_of(words, "CASE", (cell.case_id for cell in cells))


def _cap(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    """Return the new cap as `--autoweb-until` writes one: `$5` or `30m`."""
    kinds = {"cost": "$", "time": ""}
    if len(words) != 2 or words[0] not in kinds:
        raise SettingsError("write `cap cost 5`, in US dollars, or `cap time 30m`")
    try:
        return str(until(kinds[words[0]] + words[1].removeprefix("$")))
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _number(words: Sequence[str], cells: Sequence[PlannedCell]) -> str:
    if len(words) != 1 or not words[0].isdecimal() or not 1 <= int(words[0]) <= _MOST_IN_FLIGHT:
        raise SettingsError(
            f"write how many cells each process may have in flight, from 1 to {_MOST_IN_FLIGHT}"
        )
    return str(int(words[0]))


def _one_of(words: Sequence[str], what: str, names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(one_line(name) for name in known[:_LISTED])
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    if len(words) != 1:
        raise SettingsError(f"name one {what} of the run: {shown}{more}")
    if words[0] not in known:
        guess = near_miss(words[0], known)
        raise SettingsError(f"the run has no {what} {words[0]!r}{guess}; it has: {shown}{more}")
    return words[0]


ORDERS: dict[str, tuple[str, str, Callable[[Sequence[str], Sequence[PlannedCell]], str]]] = {
    "pause": ("", "begin no more cells", _nothing),
    "go-on": ("", "end the pause", _nothing),
    "stop-model": ("MODEL", "begin no more cells of a model", _model),
    "stop-case": ("CASE", "begin no more cells of a case", _case),
    "cap": ("cost USD | time T", "begin no more cells beyond so much money or time", _cap),
    "in-flight": ("N", "have up to N cells in flight in each process", _number),
}
"""The orders by name, each with what stands behind it, what it does, and what reads its words."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    listed = (f"  {f'{name} {takes}':<22}{does}" for name, (takes, does, _) in ORDERS.items())
    parser.description = _ABOUT.format(orders="\n".join(listed))
    parser.add_argument(
        "words", nargs="+", metavar="[RUN] ORDER", help="the run, and what it is to do"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Give one order to a run.

    Raises:
        SettingsError: there is no such order, the run has ended, or the order does not fit it.
    """
    folder, name, words = _parts(args.words)
    session = living_session(folder)
    if session.cluster:
        raise SettingsError(
            f"the cells of {folder} run on the nodes of a cluster, which orders do not reach; "
            "end the run with Ctrl-C, and go on with --autoweb-resume"
        )
    order = _order(name, words, read_manifest(folder).cells)
    give_order(folder, order)
    print(f"{order.told}: given to the run in {folder}, whose next cells obey it")
    return 0


def _parts(words: Sequence[str]) -> tuple[Path, str, Sequence[str]]:
    """Return the folder of the run, the name of the order, and what stands behind it."""
    if words[0] in ORDERS:
        return REPORT, words[0], words[1:]
    name = words[1] if len(words) > 1 else ""
    if name in ORDERS:
        return named_run(words[0]), name, words[2:]
    wrong = name or words[0]
    guess = near_miss(wrong, list(ORDERS))
    raise SettingsError(f"there is no order {wrong!r}{guess}; there are: {', '.join(ORDERS)}")


def _order(name: str, words: Sequence[str], cells: Sequence[PlannedCell]) -> Order:
    *_, read = ORDERS[name]
    try:
        value = read(words, cells)
        if name != "cap":
            return Order(cast("OrderKind", name), value)
        cap = until(value)
        if cap.usd is not None:
            return Order("cap-cost", f"{cap.usd:.9f}")
        return Order("cap-time", f"{cap.seconds:.3f}")
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None
