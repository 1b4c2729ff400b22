"""`autoweb verify --controls`: run the controls alone, of a saved run's cases or of case files."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_autoweb.analysis.verdict_validity import ControlRow, ControlState, control_rows
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.errors import AutowebError, SettingsError
from pytest_autoweb.report.wording import columns, one_line
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results import CaptureModeName
from pytest_autoweb.runs.run_folder import CONTROLS_FOLDER, RecordedRun, read_run

_NEUTRAL = {
    "autosave": "false",
    "cases": "",
    "cases_file": "",
    "compare": "",
    "compare_fail": "",
    "local_analyze": "false",
    "max_cost": "",
    "min_pass_rate": "",
    "mutants": "",
    "preview": "false",
    "save": "",
    "shard": "",
    "store": "",
}
"""What the project's own configuration may ask of its runs, and this one must not do."""
_SAME = ("step_timeout", "check_timeout", "on_step_failure")
"""Settings of the saved run that decide whether a control holds."""


Start = Callable[[Sequence[str], Path], int]
"""Runs a command in a folder and returns its exit code."""


def _in_view(command: Sequence[str], folder: Path) -> int:
    return subprocess.run(command, cwd=folder, check=False).returncode


def _on_stderr(command: Sequence[str], folder: Path) -> int:
    """Leave standard output to what somebody else prints there."""
    return subprocess.run(command, cwd=folder, check=False, stdout=sys.stderr).returncode


class Controlled(NamedTuple):
    """What came of the controls."""

    rows: tuple[ControlRow, ...]
    notes: tuple[str, ...]
    failed: bool
    """A control is broken, or did not come to a verdict for a reason outside the case."""


def control_run(run_folder: Path, *, rootdir: Path, words_to_stderr: bool = False) -> Controlled:
    """Run the controls of a saved run's cases into its folder `controls`, and report anew.

    Controls run there earlier are moved aside. Case files are found by the paths that the run
    knows them by. What pytest prints goes to stderr if stdout is for something else.

    Raises:
        SettingsError: a case file is not where it was, or the run has no cases.
        AutowebError: pytest could not run the controls.
    """
    run = read_run(run_folder)
    targets, notes = _targets(run, rootdir)
    folder = run_folder.resolve() / CONTROLS_FOLDER
    modes = run.info.capture_modes[:1]
    start = _on_stderr if words_to_stderr else _in_view
    run_controls(targets, folder, rootdir, modes, _settings_of(run), start)
    write_report(run_folder, max_chars=int(_value(run, "report_max_chars") or 8_000_000))
    # Of the run with its new controls, so that a changed case shows as such.
    return Controlled(control_rows(read_run(run_folder).cells), notes, _failed(folder))


def control_files(
    paths: Sequence[Path], output: Path, *, rootdir: Path, words_to_stderr: bool = False
) -> Controlled:
    """Run the controls of all cases of some files, or folders of them, into a run of their own.

    Raises:
        SettingsError: a path does not exist.
        AutowebError: pytest could not run the controls.
    """
    for path in paths:
        if not path.exists():
            raise SettingsError(f"there is no {path}: neither a run folder nor a case file")
    targets = [str(path.resolve()) for path in paths]
    start = _on_stderr if words_to_stderr else _in_view
    run_controls(targets, output.resolve(), rootdir, start=start)
    return Controlled(control_rows(read_run(output).cells), (), _failed(output))


def control_lines(rows: Sequence[ControlRow]) -> list[str]:
    """Return the table, one line for each case, with broken ones first."""
    head = ["case", "oracle", "doing nothing", ""]
    lines = [
        [
            one_line(row.case_id, 48),
            _state(row.oracle, row.oracle_held, row.oracle_runs),
            _state(row.noop, row.noop_held, row.noop_runs),
            one_line(row.reason),
        ]
        for row in rows
    ]
    return columns([head, *lines])


def _state(state: ControlState | None, held: int, runs: int) -> str:
    return "–" if state is None else f"{state} ({held} of {runs})"


def _targets(run: RecordedRun, rootdir: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return a node id for each case of the run, as pytest accepts it from the rootdir."""
    cases: dict[str, list[str]] = {}
    for cell in run.cells:
        ids = cases.setdefault(cell.case_path, [])
        if cell.case_id not in ids:
            ids.append(cell.case_id)
    cases.pop("inline", None)
    if not cases:
        raise SettingsError(f"{run.folder} has no cases of case files, so there is no control")
    missing = [path for path in cases if not _is_below(rootdir, path)]
    if missing:
        raise SettingsError(
            f"these case files are not below {rootdir}: {', '.join(missing)}; say with --rootdir "
            "where the run's cases are"
        )
    notes, targets = [], []
    for path, ids in cases.items():
        there = {case.id for case in load_case_file(rootdir / path)}
        targets += [f"{path}::{case_id}" for case_id in ids if case_id in there]
        notes += [
            f"{path} has no case {case_id} any more" for case_id in ids if case_id not in there
        ]
    if not targets:
        raise SettingsError("; ".join(notes))
    return targets, tuple(notes)


def _is_below(rootdir: Path, path: str) -> bool:
    """Tell whether a path stays below the root, as anybody may have written the saved run."""
    file = (rootdir / path).resolve()
    return file.is_file() and file.is_relative_to(rootdir.resolve())


def _failed(folder: Path) -> bool:
    cells = read_run(folder).cells
    broken = any("broken" in (row.oracle, row.noop) for row in control_rows(cells))
    return broken or any(cell.outcome == "broken" for cell in cells)


def _settings_of(run: RecordedRun) -> dict[str, str]:
    values = ((name, _value(run, name)) for name in _SAME)
    return {name: str(value) for name, value in values if value is not None}


def _value(run: RecordedRun, name: str) -> Any:
    setting = run.info.settings.get(name)
    return setting.get("value") if isinstance(setting, dict) else None


def run_controls(
    targets: Iterable[str],
    folder: Path,
    rootdir: Path,
    modes: Sequence[CaptureModeName] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
    start: Start = _in_view,
) -> None:
    """Run the controls in a session of their own.

    Raises:
        AutowebError: pytest could not run them.
    """
    capture = {"capture": modes[0]} if modes else {}
    own = {**settings, "models": "builtin/oracle,builtin/noop", "controls": "true", **capture}
    run_session(targets, folder, rootdir, own, start)


def run_session(
    targets: Iterable[str],
    folder: Path,
    rootdir: Path,
    settings: Mapping[str, str],
    start: Start,
) -> None:
    """Run cases in a session of their own, of which the project's own settings ask nothing else.

    Raises:
        AutowebError: pytest could not run them.
    """
    options = {**_NEUTRAL, **settings, "report": str(folder)}
    flags = [f"--autoweb-{name.replace('_', '-')}={value}" for name, value in options.items()]
    with tempfile.TemporaryDirectory(prefix="autoweb-") as scratch:
        # A file of arguments, since a run may have more cases than a command line takes.
        listing = Path(scratch, "cases.txt")
        listing.write_text("\n".join(targets), encoding="utf-8")
        # A project whose `addopts` say `-x` wants to hear of all controls nevertheless.
        own = ("--maxfail=0", f"--rootdir={rootdir}")
        command = [sys.executable, "-m", "pytest", *own, *flags, f"@{listing}"]
        status = start(command, rootdir)
    if status not in (0, 1):
        raise AutowebError(f"the cases could not be run: pytest ended with exit code {status}")
