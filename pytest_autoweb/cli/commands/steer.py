"""`autoweb run ctl`: pause a run that is going on, stop a part of it, or run a cell again."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb.cli.run_arguments import REPORT, named_run
from pytest_autoweb.session.worded_orders import ORDERS, no_such_order, order_run

_ABOUT = """\
Steers a run that is going on, from another terminal. Cells that have begun end as ever; the order
holds for those that have not. RUN is the run's folder; without it, autoweb-report is meant.

  autoweb run ctl autoweb-report pause
  autoweb run ctl go-on
  autoweb run ctl stop-model openai/gpt-5-mini
  autoweb run ctl stop-case login
  autoweb run ctl again 'login[openai/gpt-5-mini]'

ORDER is one of:

{orders}

What was ordered stands in the report with its time, and what it makes incomparable. A resumed run
(--autoweb-resume) starts without orders, and runs the cells that were stopped. What is run again
is shown beside the cell's first result, which counts.

Exit status: 0 the order is given; 4 the run has ended, or the order does not fit it.
"""


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
    order = order_run(folder, name, words, by="autoweb run ctl")
    then = "whose next cells obey it"
    if order.kind == "again":
        then = "which runs the cell once more between others; its first result counts"
    print(f"{order.told}: given to the run in {folder}, {then}")
    return 0


def _parts(words: Sequence[str]) -> tuple[Path, str, Sequence[str]]:
    """Return the folder of the run, the name of the order, and what stands behind it."""
    if words[0] in ORDERS:
        return REPORT, words[0], words[1:]
    name = words[1] if len(words) > 1 else ""
    if name in ORDERS:
        return named_run(words[0]), name, words[2:]
    # Unless the first word is a run, it is the order that is misspelt.
    raise no_such_order(name if name and Path(words[0]).exists() else words[0])
