"""What `autoweb export` does with tests that use `autoweb_step`."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.cli.proof_arguments import BROWSERS, origins_of
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.foreign_run import case_file
from pytest_autoweb.tools.export.plain_code import NotExportable
from pytest_autoweb.tools.export.proof import Prover, blocked_sentence
from pytest_autoweb.tools.export.step_tests import StepTest, rewritten, step_test, variables_of


def export_steps(steps: Sequence[CellResult], run: Path, args: argparse.Namespace) -> int:
    """Write a copy of each test file, with plain lines in place of the calls that are proven.

    Args:
        steps: the calls of a run.
        run: its folder.
        args: those of the command.

    Returns:
        1 if a test was refused, else 0.

    Raises:
        AutowebError: a file cannot be read, exists already, or pytest cannot run the draft.
    """
    refused: list[tuple[str, str]] = []
    for path in dict.fromkeys(cell.case_path for cell in steps):
        file = case_file(path, Path(), run)
        target = (args.output or file.parent) / f"{file.stem}_plain.py"
        if target.exists() and not args.force:
            raise SettingsError(f"{target} exists; move it, or give --force to replace it")
        text = file.read_text(encoding="utf-8")
        of_file = [cell for cell in steps if cell.case_path == path]
        tests, wrong = _translated(text, of_file)
        refused += wrong
        proven = []
        for test, cells in tests:
            if why := _why_not(test, cells, text, target, args):
                refused.append((test.name, why))
            else:
                proven.append(test)
        if proven:
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_text(target, rewritten(text, proven))
            for test in proven:
                print(f"wrote   {target}::{test.name}")
    for name, why in refused:
        print(f"refused {name}: {why}")
    return 1 if refused else 0


def _translated(
    text: str, cells: Sequence[CellResult]
) -> tuple[list[tuple[StepTest, Sequence[CellResult]]], list[tuple[str, str]]]:
    """Return the tests of a file that have plain lines, and why the others have none."""
    made: list[tuple[StepTest, Sequence[CellResult]]] = []
    refused: list[tuple[str, str]] = []
    for name, runs in _runs_of(cells):
        whole = [run for run in runs if all(cell.passed and cell.attempts for cell in run)]
        if not whole:
            refused.append((name, "no run of it passed"))
            continue
        try:
            made.append((step_test(text, whole[0]), whole[0]))
        except NotExportable as why:
            refused.append((name, str(why)))
    return made, refused


def _runs_of(cells: Sequence[CellResult]) -> Iterator[tuple[str, list[list[CellResult]]]]:
    """Yield each test with the calls of each of its runs, by model and parameters."""
    by_test: dict[str, dict[str, list[CellResult]]] = {}
    for cell in sorted(cells, key=lambda cell: cell.started):
        name = cell.nodeid.partition("::")[2].partition("[")[0]
        by_test.setdefault(name, {}).setdefault(cell.nodeid, []).append(cell)
    for name, runs in by_test.items():
        yield name, list(runs.values())


def _why_not(
    test: StepTest, cells: Sequence[CellResult], text: str, target: Path, args: argparse.Namespace
) -> str:
    """Return why a test is not accepted; empty if it passes three times, and fails without acts."""
    allowed = origins_of(args.allow_origin)
    entries = origins_of([cell.attempts[-1].entry_url_used for cell in cells])
    prover = Prover(
        target.parent,
        {name: value for name in variables_of(cells) if (value := os.environ.get(name))},
        BROWSERS[0],
        tuple(args.flags),
        in_project=True,
        origins=allowed.union(entries),
        seconds=args.timeout,
    )
    print(f"proving {target}::{test.name}: three times, and once without actions", flush=True)
    whole, idle = rewritten(text, [test]), rewritten(text, [test], idle=test.name)
    wrong = prover.why_not(target.name, whole, idle, test.name)
    if prover.blocked:
        print(blocked_sentence(prover.blocked))
    return next(iter(wrong.values()), "")
