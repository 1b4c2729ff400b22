"""The reading of anything that users may name as a run: saved runs, folders and `report.json`."""

import json
from pathlib import Path

from pydantic import ValidationError

from pytest_autoweb.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.errors import SettingsError
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.results import RunInfo
from pytest_autoweb.runs.storage import load_run

_REPORT_FORMAT = Report.model_fields["format"].default


def load_any(
    spec: str, storage: Path, *, except_ts: str = "", notices: list[str] | None = None
) -> RunRows:
    """Return the run that `spec` names, as `storage.load_run` does, or in a `report.json`.

    Args:
        spec: what the user wrote.
        storage: the storage folder.
        except_ts: the `ts` of a run to ignore, because it must not be compared with itself.
        notices: receives a sentence for every file that could not be read.

    Raises:
        RunNotFound: there is no such run.
        SettingsError: the path exists, but it is not a run.
    """
    path = Path(spec)
    if path.is_file() and _is_report(path):
        return _rows_of_report(path)
    return load_run(spec, storage, except_ts=except_ts, notices=notices)


def _is_report(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("format") == _REPORT_FORMAT


def _rows_of_report(path: Path) -> RunRows:
    try:
        report = Report.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(
            f"{path} is not a report of this version: {where}: {first['msg']}"
        ) from None
    if report.shortened in ("cells", "everything"):
        raise SettingsError(f"{path} was shortened and lacks cells; name its run folder instead")
    info = RunInfo(
        ts=report.ts,
        started=report.started,
        models=report.models,
        capture_modes=report.capture_modes,
        environment=report.environment,
        workers=report.workers,
        shard=report.shard,
        interrupted=report.interrupted,
    )
    return run_rows(info, (cell for case in report.cases for cell in case.cells))
