"""The folder of saved runs that later runs are compared with, one numbered file of rows a run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock
from pydantic import ValidationError

from pytest_autoweb.base.errors import RunNotFound, SettingsError, near_miss
from pytest_autoweb.results.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.results.runs.saving import (
    MANIFEST_FILE,
    compact_json,
    plain,
    safe_name,
    write_text_atomic,
)

LATEST = "latest"
LOCK_FILE = ".lock"

_FILE_NAME = re.compile(
    r"(?P<number>\d{4,9})_(?P<commit>[^_]+)_(?P<time>\d{8}_\d{6}_\d{3})(?:_(?P<name>.+))?\.json"
)


class SavedRun(NamedTuple):
    """One file of the storage folder, described by its name."""

    number: int
    commit: str
    time: str
    name: str
    """The name as used in file names; empty if the run was saved without one."""
    path: Path


def list_runs(storage: Path) -> tuple[SavedRun, ...]:
    """Return the saved runs, oldest first, ignoring files with other names."""
    found = []
    for path in storage.iterdir() if storage.is_dir() else ():
        if match := _FILE_NAME.fullmatch(path.name):
            name = match["name"] or ""
            found.append(SavedRun(int(match["number"]), match["commit"], match["time"], name, path))
    return tuple(sorted(found))


def save_run(rows: RunRows, storage: Path) -> Path:
    """Save a run under the next free number, as `<number>_<commit>_<time>[_<name>].json`.

    Sessions that end at the same moment get different numbers.

    Raises:
        OSError: the folder cannot be written.
    """
    storage.mkdir(parents=True, exist_ok=True)
    # Underscores separate the parts of the file's name.
    commit = re.sub("_+", "-", safe_name(rows.commit or "unversioned"))
    suffix = f"_{safe_name(rows.name)}" if rows.name else ""
    with FileLock(storage / LOCK_FILE):
        number = max((run.number for run in list_runs(storage)), default=0) + 1
        path = storage / f"{number:04d}_{commit}_{rows.ts}{suffix}.json"
        write_text_atomic(path, compact_json(plain(rows)) + "\n")
    return path


def load_saved_rows(
    spec: str, storage: Path, *, except_ts: str = "", notices: list[str] | None = None
) -> RunRows:
    """Return the run that `spec` names.

    Args:
        spec: `latest`; the number or name of a saved run (the newest of that name); a saved file;
            a run folder; or another storage folder (its latest run).
        storage: the storage folder.
        except_ts: the `ts` of a run to ignore, because it must not be compared with itself.
        notices: receives a sentence for every file that could not be read.

    Raises:
        RunNotFound: there is no such run, as is normal for the very first run.
        SettingsError: the path exists, but it is not a run.
    """
    if spec == LATEST:
        return _newest(storage, except_ts, notices)
    if fitting := [run for run in list_runs(storage) if _is_called(run, spec)]:
        for run in reversed(fitting):
            rows = _read(run.path, notices)
            if rows is not None and rows.ts != except_ts:
                return rows
    return _at_path(Path(spec), spec, storage, except_ts, notices)


def saved_rows(
    storage: Path, *, except_ts: str = "", newest: int = 50, notices: list[str] | None = None
) -> tuple[RunRows, ...]:
    """Return the newest saved runs, oldest first, for trends and for "never failed before"."""
    runs = list_runs(storage)[-newest:]
    every = (_read(run.path, notices) for run in runs)
    return tuple(rows for rows in every if rows is not None and rows.ts != except_ts)


def _is_called(run: SavedRun, spec: str) -> bool:
    if spec.isdecimal() and int(spec) == run.number:
        return True
    return spec != "" and run.name == safe_name(spec)


def _newest(storage: Path, except_ts: str, notices: list[str] | None) -> RunRows:
    for rows in _newest_first(storage, notices):
        if rows.ts != except_ts and rows.fit_as_baseline:
            return rows
    raise RunNotFound(f"{storage} holds no whole run to compare with yet")


def _newest_first(storage: Path, notices: list[str] | None) -> Iterator[RunRows]:
    for run in reversed(list_runs(storage)):
        if (rows := _read(run.path, notices)) is not None:
            yield rows


def _read(path: Path, notices: list[str] | None) -> RunRows | None:
    try:
        return RunRows.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        if notices is not None:
            notices.append(
                f"the saved run {path.name} is left out because it cannot be read: {_why(error)}"
            )
        return None


def _why(error: OSError | ValidationError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _at_path(
    path: Path, spec: str, storage: Path, except_ts: str, notices: list[str] | None
) -> RunRows:
    if path.is_file():
        try:
            return RunRows.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise SettingsError(f"{path} is not a saved run: {_why(error)}") from None
    if (path / "cells").is_dir() or (path / MANIFEST_FILE).is_file():
        run = read_run(path)
        return run_rows(run.info, run.cells)
    if path.is_dir() and list_runs(path):
        return _newest(path, except_ts, notices)
    if path.is_dir():
        raise SettingsError(f"{path} is neither a run folder nor a folder of saved runs")
    saved = list_runs(storage)
    if not saved:
        # Nothing is near a name where there is nothing.
        raise RunNotFound(
            f"{storage} holds no run {spec!r}, and no other: --autoweb-save saves one; "
            "a run's folder can be named instead"
        )
    names = [run.name for run in saved if run.name]
    raise RunNotFound(f"{storage} holds no run {spec!r}{near_miss(spec, (LATEST, *names))}")
