"""Runs as static pages: a leaderboard, and every run with its own report."""

import shutil
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.html_page import self_contained
from pytest_autoweb.report.large_report import without_evidence
from pytest_autoweb.report.write import ANALYSIS_FILE, HTML_FILE, PANELS_FILE, write_report
from pytest_autoweb.results.analysis.judge_agreement import JUDGE_FILE
from pytest_autoweb.results.runs.inert_copies import RECORDINGS_FOLDER, copy_inert, inert_name
from pytest_autoweb.results.runs.run_folder import (
    CONTROLS_FOLDER,
    is_run_folder,
    read_run,
    refuse_other_folders,
)
from pytest_autoweb.results.runs.saving import (
    CELL_FILE,
    CELLS_FOLDER,
    MANIFEST_FILE,
    REPLACED_FOLDER,
    RUN_FILE,
    compact_json,
    plain,
    safe_name,
)
from pytest_autoweb.results.runs.side_files import (
    BASELINE_FILE,
    GATES_FILE,
    HISTORY_FILE,
    MERGE_FILE,
    VERIFICATION_FILE,
)
from pytest_autoweb.tools.publishing.leaderboard import Leaderboard, NamedRun, leaderboard_of

LEADERBOARD_FILE = "leaderboard.json"

_RUNS_FOLDER = "runs"
_REPORT_CHARS = 8_000_000
_OF_RUNS = {
    (name,)
    for name in (
        *(RUN_FILE, MANIFEST_FILE, MERGE_FILE, VERIFICATION_FILE, BASELINE_FILE, HISTORY_FILE),
        *(GATES_FILE, JUDGE_FILE, PANELS_FILE, ANALYSIS_FILE),
    )
}
"""The files about a run as a whole, from which its report is written."""
_LEFT_HERE = {RECORDINGS_FOLDER, REPLACED_FOLDER, "__pycache__"}
"""Folders of a run that are not published: recordings hold typed and sent text in clear."""

_STYLES = (
    *("base.css", "page.css", "charts.css", "panels.css", "detail.css"),
    *("models.css", "comparison.css", "controls.css", "matrix.css", "published.css"),
)
_SCRIPTS = (
    *("dom.js", "charts.js", "page.js", "panels.js", "models.js", "comparison.js"),
    *("controls.js", "matrix.js", "costs.js", "published.js"),
)
_PANELS = ("models", "sources", "comparison", "cells", "excluded", "controls", "costs", "runs")


def run_folders(named: Sequence[Path]) -> list[Path]:
    """Return the named run folders, and those inside named folders that are not runs.

    Raises:
        SettingsError: a folder is not a run and holds none.
    """
    found: dict[Path, None] = {}
    for folder in named:
        inside = [] if is_run_folder(folder) else _inside(folder)
        if not inside:
            refuse_other_folders(folder)
        found |= dict.fromkeys(inside or [folder])
    return list(found)


def _inside(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [each for each in sorted(folder.iterdir()) if each.is_dir() and is_run_folder(each)]


def read_named(folders: Sequence[Path]) -> list[NamedRun]:
    """Read runs, and name each by its folder; runs of equal names by their time.

    Raises:
        SettingsError: a run is named twice, or has no cells.
    """
    runs = [read_run(folder, without_evidence) for folder in folders]
    names = [folder.resolve().name for folder in folders]
    often = Counter(names)
    found: dict[str, NamedRun] = {}
    for folder, run, name in zip(folders, runs, names, strict=True):
        if not run.cells:
            raise SettingsError(f"{folder} has no cells, so there is nothing to publish of it")
        # The default folder name does not identify a run.
        plain_name = name if often[name] == 1 and name != "autoweb-report" else run.info.ts
        key = safe_name(plain_name)
        if key in found:
            raise SettingsError(f"{folder} is the run {key} again; name each run once")
        found[key] = NamedRun(key, run, _results_sum(folder))
    return list(found.values())


def _results_sum(folder: Path) -> str:
    """Return a checksum over the saved results of all cells, which readers can recompute."""
    digest = sha256()
    for file in sorted(folder.glob(f"**/{CELL_FILE}"), key=lambda f: f.as_posix()):
        place = file.relative_to(folder).as_posix()
        if _is_published(file.relative_to(folder), recordings=False) and inert_name(file, ()):
            digest.update(f"{sha256(file.read_bytes()).hexdigest()} {place}\n".encode())
    return digest.hexdigest()


def publish(
    folders: Sequence[Path], target: Path, title: str, *, recordings: bool = False
) -> Leaderboard:
    """Write the pages of runs into a new folder.

    Args:
        folders: the run folders; they are only read.
        target: the output folder; an earlier publication there is replaced.
        title: the subject of the comparison.
        recordings: whether to publish traces and videos as well.

    Raises:
        SettingsError: a run cannot be published, or the target holds something else.
    """
    runs = read_named(folders)
    board = leaderboard_of(runs, title, metadata.version("pytest-autoweb"))
    _refuse_target(target, folders)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".publish-") as draft:
            site = Path(draft) / "site"
            for folder, named in zip(folders, runs, strict=True):
                _copy_run(folder, site / named.folder, recordings=recordings)
            text = compact_json(plain(board)) + "\n"
            (site / LEADERBOARD_FILE).write_text(text, encoding="utf-8")
            (site / HTML_FILE).write_text(render_leaderboard(board), encoding="utf-8")
            if target.exists():
                shutil.rmtree(target)
            site.rename(target)
    except OSError as error:
        raise SettingsError(f"{target} cannot be written: {error.strerror or error}") from None
    return board


def _refuse_target(target: Path, folders: Sequence[Path]) -> None:
    """Refuse a folder that holds anything but an earlier publication, or that is in use."""
    here = target.resolve()
    for folder in folders:
        if folder.resolve().is_relative_to(here) or here.is_relative_to(folder.resolve()):
            raise SettingsError(f"{target} and the run {folder} lie in one another; use -o")
    if not target.exists():
        return
    own = {LEADERBOARD_FILE, HTML_FILE, _RUNS_FOLDER}
    if not target.is_dir() or {entry.name for entry in target.iterdir()} - own:
        raise SettingsError(
            f"{target} holds something else than an earlier publication; name another folder "
            "with -o"
        )


def _copy_run(folder: Path, to: Path, *, recordings: bool) -> None:
    """Copy a run's files, and render its report again: the one it came with is not trusted."""
    copy_inert(folder, to, lambda place: not _is_published(place, recordings=recordings))
    for run in (to, to / CONTROLS_FOLDER):
        if is_run_folder(run):
            write_report(run, max_chars=_REPORT_CHARS)


def _is_published(place: Path, *, recordings: bool) -> bool:
    """Tell whether a file, by its place in a run folder, is published."""
    parts = place.parts[1:] if place.parts[0] == CONTROLS_FOLDER else place.parts
    skipped = _LEFT_HERE - ({RECORDINGS_FOLDER} if recordings else set())
    hidden = any(part.startswith(".") or part in skipped for part in parts)
    return not hidden and (parts[:1] == (CELLS_FOLDER,) or parts in _OF_RUNS)


def render_leaderboard(board: Leaderboard) -> str:
    """Return the page of a leaderboard, which loads nothing from elsewhere."""
    document: dict[str, Any] = plain(board)
    # The page draws the cells, so the summary's own list would only repeat them.
    document["summary"]["matrix"] = []
    return self_contained(
        "leaderboard.html.j2",
        board.title,
        _STYLES,
        _SCRIPTS,
        {"board": document, "panels": _PANELS},
    )
