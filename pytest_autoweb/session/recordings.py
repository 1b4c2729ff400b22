"""What pytest-playwright records of cells: traces, videos and pictures, kept with their cell.

pytest-playwright writes them into its own folder when a test is torn down, after the cell was
saved, and empties that folder when the next session begins. So they are copied into their cell's
folder, or, where they show secrets, traces into a private one outside of the run.
"""

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from pytest_autoweb.results.records import CellResult, Recording
from pytest_autoweb.results.runs.inert_copies import RECORDINGS_FOLDER
from pytest_autoweb.results.runs.private_traces import keep_private_trace
from pytest_autoweb.results.runs.saving import CELL_FILE, save_cell
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.run_session import SESSION

RECORDED_IN: pytest.StashKey[Path] = pytest.StashKey()
"""The folder into which pytest-playwright writes an item's recordings."""
KINDS = ("trace*.zip", "video*.webm", "test-*.png")
MOST_BYTES = 64_000_000
"""The largest file that is copied; for larger ones the run folder only records the path."""
_FLAGS = ("tracing", "video", "screenshot")
"""pytest-playwright's flags for recording a test."""


def is_recorded(config: pytest.Config) -> bool:
    """Tell whether pytest-playwright keeps traces, videos or pictures of tests."""
    return any(config.getoption(name, "off") != "off" for name in _FLAGS)


def recordings_of_secrets(item: CellItem) -> str:
    """Return the flags that make pytest-playwright record a case with secrets.

    Secrets cannot be removed from its traces, videos and pictures.
    """
    flags = [f"--{name}" for name in _FLAGS if item.config.getoption(name, "off") != "off"]
    return ", ".join(flags) if item.cell.case.has_secrets else ""


class Recordings:
    """The plugin that copies recordings in sessions with `--tracing`, `--video`, `--screenshot`."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Copy the files of a cell once pytest-playwright, whose wrapper is inside, is done."""
        report = yield
        folder = item.stash.get(RECORDED_IN, None)
        if report.when == "teardown" and isinstance(item, CellItem) and folder is not None:
            _keep(item, folder)
        return report


def _keep(item: CellItem, source: Path) -> None:
    session = item.config.stash[SESSION]
    folder = session.run_folder / item.cell.folder
    try:
        saved = CellResult.model_validate_json((folder / CELL_FILE).read_bytes())
        kept = tuple(_recordings(item, source, folder))
    except (OSError, ValueError) as error:
        # The verdict must not depend on a full disk or somebody else's file.
        item.add_report_section("teardown", "autoweb", f"no recordings were copied: {error}")
        return
    if kept:
        save_cell(session.run_folder, saved.model_copy(update={"recordings": kept}))
        session.deliver(item.cell.folder, keep=False)


def _recordings(item: CellItem, source: Path, folder: Path) -> Iterator[Recording]:
    """Copy the files that may be copied, and record why the others were left in place."""
    root = item.config.rootpath
    for file in (file for kind in KINDS for file in sorted(source.glob(kind), key=_in_order)):
        where = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
        if item.cell.case.has_secrets:
            kept = file.suffix == ".zip" and _is_kept_private(item, file)
            place = (
                "kept outside of the run (`autoweb trace` opens it)" if kept else f"left at {where}"
            )
            yield Recording(file=file.name, note=f"{place}: it shows the case's secrets")
        elif (size := file.stat().st_size) > MOST_BYTES:
            yield Recording(file=file.name, note=f"left at {where}: it has {size // 10**6:,} MB")
        else:
            (folder / RECORDINGS_FOLDER).mkdir(exist_ok=True)
            shutil.copyfile(file, folder / RECORDINGS_FOLDER / file.name)
            yield Recording(file=file.name, path=f"{RECORDINGS_FOLDER}/{file.name}")


def _is_kept_private(item: CellItem, trace: Path) -> bool:
    """Keep a trace with secrets on this machine; return False if that is not possible."""
    session = item.config.stash[SESSION]
    if session.away is not None:
        return False
    try:
        keep_private_trace(trace, session.run_folder, session.shared.ts, item.cell.folder)
    except (OSError, RuntimeError):
        # Python raises the latter where the user has no home.
        return False
    return True


def _in_order(file: Path) -> tuple[int, str]:
    """Return a sort key that puts trace-2 before trace-10."""
    return len(file.name), file.name
