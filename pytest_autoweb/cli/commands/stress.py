"""`autoweb benchmark stress`: success, robustness, resistance and restraint of models."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from pytest_autoweb.base.errors import AutowebError, SettingsError, near_miss
from pytest_autoweb.base.variant_names import PERTURBATIONS, AttackName
from pytest_autoweb.cli.arguments import add_pytest_flags
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.logged_session import refused, run_logged
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.report.stress_text import stress_lines, stress_markdown
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.results.analysis.stress_rows import StressRow, stress_rows
from pytest_autoweb.results.runs.loaded_run import load_run
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.session.project_variants import named_models

_NONE = "none"
_ATTACKS = get_args(AttackName)
_ABOUT = """\
Measures models on whole boards: how much of the cases they solve, what changes of the page cost
them, how many orders of the page they obey, and how often they write more than the case's solution.

  autoweb benchmark stress cases --models openai/gpt-5-mini,ollama_chat/qwen3:8b
  autoweb benchmark stress cases --models a --perturb banner,slow --attack none
  autoweb benchmark stress wob/cases --models a -- -n 2 --autoweb-repeat=3

CASES are case files, folders of them, or FILE::CASE. Two sessions are run, because an attack meets
every cell of its session: pages/ (unchanged, and under each change) and attacks/, both below
autoweb-stress/ (or --output DIR), where stress.md gets the table. It first says how many cells that
will be. Without --models, those of the project's settings are taken. What models write can only be
compared where `autoweb prove CASES` has kept what the solutions write.

Flags of pytest stand behind `--`, such as -n, -k or --autoweb-max-cost, which limits each session.

Exit status: 0 the table was made, whatever it says; 4 invalid input, or pytest could not run the
cases.
"""


class _Arm(NamedTuple):
    """One of the two sessions."""

    name: str
    """Its folder."""
    flags: tuple[str, ...]
    """The flags that the other one does not have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument("cases", nargs="+", metavar="CASES", help="files, folders or FILE::CASE")
    parser.add_argument(
        "--models", metavar="A,B", help="the models; default: those of the project's settings"
    )
    parser.add_argument("--agents", metavar="A,B", help="who drives the browser with them")
    parser.add_argument(
        "--perturb",
        metavar="A,B",
        default=",".join(PERTURBATIONS),
        help="the changes of the page, or `none`; default: all (docs/perturbations.md)",
    )
    parser.add_argument(
        "--attack",
        metavar="A,B",
        default=",".join(_ATTACKS),
        help="the ways of attack, or `none`; default: all (docs/attacks.md)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-stress"),
        metavar="DIR",
        help="folder of the two runs and the table; default: autoweb-stress",
    )
    add_json_argument(parser)
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the sessions, and print and keep the table.

    Raises:
        SettingsError: a name is unknown, or no model is named.
        AutowebError: pytest could not run the cases.
    """
    changes = _picked("--perturb", args.perturb, PERTURBATIONS)
    attacks = _picked("--attack", args.attack, _ATTACKS)
    _refuse_without_models(args)
    folder = args.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    arms = [_Arm("pages", (f"--autoweb-perturb={','.join(changes)}", "--autoweb-attack="))]
    if attacks:
        arms.append(
            _Arm("attacks", ("--autoweb-perturb=", f"--autoweb-attack={','.join(attacks)}"))
        )
    counts = [_count(_command(args, arm, folder), folder / f"{arm.name}.log") for arm in arms]
    told = " and ".join(f"{n:,} in {arm.name}" for n, arm in zip(counts, arms, strict=True))
    _say(f"plays {count_of(sum(counts), 'cell')} ({told})")
    start = watched(folder, sessions=len(arms))
    for arm in arms:
        command = _command(args, arm, folder)
        _say("$ python " + shlex.join(command[1:]))
        start(command, Path())
    runs = {arm.name: _rows(folder / arm.name) for arm in arms}
    rows = stress_rows(runs["pages"], runs.get("attacks"), changes)
    page = args.output / "stress.md"
    write_text_atomic(page, stress_markdown(rows))
    _print(args, rows, [args.output / name for name in runs], page)
    return 0


def _print(
    args: argparse.Namespace, rows: Sequence[StressRow], runs: Sequence[Path], page: Path
) -> None:
    if args.json:
        print_json("stress", {"rows": rows, "runs": [str(run) for run in runs], "table": page})
        return
    print("", *stress_lines(rows), sep="\n")
    print(f"runs: {', '.join(map(str, runs))}\ntable: {page}")


def _picked(flag: str, text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names in an option's value; `none` stands for no name.

    Raises:
        SettingsError: a name is unknown, or there is none.
    """
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if names == (_NONE,):
        return ()
    for name in names:
        if name not in known:
            raise SettingsError(f"{flag}: there is no {name!r}{near_miss(name, (*known, _NONE))}")
    if not names:
        raise SettingsError(f"{flag} names nothing; allowed: {', '.join((*known, _NONE))}")
    return names


def _refuse_without_models(args: argparse.Namespace) -> None:
    """Refuse to start without a model to measure.

    Raises:
        SettingsError: only controls are named, or nothing.
    """
    models = tuple(args.models.split(",")) if args.models else named_models(args.flags)
    if all(name.startswith("builtin/") for name in models):
        raise SettingsError(
            "there is no model to measure: --models openai/gpt-5-mini; controls are run anyway"
        )


def _command(args: argparse.Namespace, arm: _Arm, folder: Path) -> list[str]:
    flags = [f"--autoweb-models={args.models}"] if args.models else []
    flags += [f"--autoweb-agents={args.agents}"] if args.agents else []
    # Gates decide nothing here, and a session that stops at a failure would measure less.
    flags += ["--maxfail=0", "--autoweb-min-pass-rate=", "--autoweb-compare-fail="]
    # A run under attack must not become what later runs are compared with.
    flags += ["--autoweb-autosave=false", "--autoweb-save="]
    own = [*arm.flags, f"--autoweb-report={folder / arm.name}"]
    return [sys.executable, "-m", "pytest", *args.cases, *flags, *args.flags, *own]


def _count(command: Sequence[str], log: Path) -> int:
    """Return how many cells a session would play.

    Raises:
        AutowebError: pytest refuses its arguments or its cases, or there are none.
    """
    look = [*command, "--collect-only", "--verbosity=-1"]
    if run_logged(look, Path(), log, lambda: None) not in (0, 5):
        raise refused(log)
    said = log.read_text("utf-8", "replace").splitlines()
    if not (cells := sum("::" in line and line.endswith("]") for line in said)):
        raise AutowebError("the cases name no cell to play; look at CASES and the flags behind --")
    return cells


def _rows(folder: Path) -> RunRows:
    found = load_run(folder)
    return run_rows(found.info, found.cells)


def _say(text: str) -> None:
    print(f"autoweb: {text}", file=sys.stderr, flush=True)
