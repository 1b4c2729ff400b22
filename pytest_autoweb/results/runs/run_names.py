"""Which run is meant: a folder, the number or name under which it was saved, or the latest."""

import re
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.records import RunInfo
from pytest_autoweb.results.runs.run_folder import is_run_folder
from pytest_autoweb.results.runs.saved_runs import LATEST, list_runs
from pytest_autoweb.results.runs.saving import RUN_FILE, safe_name

_NUMBER = re.compile(r"\d{1,9}")


class WholeRun(NamedTuple):
    """The run that is meant where none is named, and a run has to be whole."""

    folder: Path
    notice: str
    """What to say if it is not the latest one; else empty."""


def folder_of_run(named: str, storage: Path, report: Path) -> Path:
    """Return the folder of the run that is named; whether it holds a run is not looked at.

    Args:
        named: a folder; the number or name of a saved run; `latest`, or nothing, for the latest.
        storage: the folder of saved runs.
        report: the folder of the latest run; earlier ones lie beside it.

    Raises:
        SettingsError: the run was saved, but its folder is not there any more.
    """
    if named in ("", LATEST):
        return report
    path = Path(named)
    if path.exists():
        return path
    called = [
        run
        for run in list_runs(storage)
        if (_NUMBER.fullmatch(named) and int(named) == run.number) or run.name == safe_name(named)
    ]
    if not called:
        return path
    times = {run.time for run in called}
    for folder in _beside(report):
        info = _info(folder)
        if info is not None and info.ts in times:
            return folder
    raise SettingsError(
        f"the run {named!r} was saved with its numbers only ({called[-1].path}); its folder is no "
        f"longer beside {report}"
    )


def last_whole_run(report: Path) -> WholeRun:
    """Return the latest run of all cells that were there, and not of a part of them.

    Args:
        report: the folder of the latest run; earlier ones lie beside it.

    Raises:
        SettingsError: there are only parts.
    """
    why = part_of_run(report)
    if not why:
        return WholeRun(report, "")
    for folder in _beside(report)[1:]:
        if not part_of_run(folder):
            return WholeRun(
                folder,
                f"{report} holds a part of the cells only ({why}), so this is about {folder}, the "
                "last whole run; name a run to take that one",
            )
    raise SettingsError(
        f"{report} holds a part of the cells only ({why}), and there is no whole run beside it; "
        f"name {report} to take it all the same"
    )


def part_of_run(folder: Path) -> str:
    """Return why a run has a part of the cells only; empty if it is whole, or no run."""
    info = _info(folder)
    if info is None:
        return ""
    shard = f"shard {info.shard[0]}/{info.shard[1]}" if info.shard else ""
    return info.selection or shard or ("interrupted" if info.interrupted else "")


def _beside(report: Path) -> list[Path]:
    """Return the folder of the latest run, and those of earlier ones, the latest first."""
    older = sorted(report.parent.glob(f"{report.name}.*"), reverse=True)
    return [folder for folder in (report, *older) if is_run_folder(folder)]


def _info(folder: Path) -> RunInfo | None:
    try:
        return RunInfo.model_validate_json((folder / RUN_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
