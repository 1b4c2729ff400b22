"""Writes a run's reports beside its cells, with pictures inside within a budget."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.errors import AutowebError
from pytest_autoweb.report.html_report import render_html
from pytest_autoweb.report.json_report import Analysis, Report, ReportedPanel, build_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.panels import with_panels
from pytest_autoweb.report.shortening import shorten
from pytest_autoweb.results import CellResult, Outcome
from pytest_autoweb.runs.run_folder import read_run
from pytest_autoweb.runs.saving import compact_json, json_text, plain, write_text_atomic
from pytest_autoweb.runs.side_files import read_side_files

BUDGET = 16_000_000
"""The most bytes of pictures in one report."""

_URGENCY: tuple[Outcome, ...] = (
    "failed",
    "broken",
    "healed",
    "ungraded",
    "needs_input",
    "passed",
    "skipped",
)
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def embed(folder: Path, cells: Iterable[CellResult], budget: int = BUDGET) -> dict[str, str]:
    """Return pictures by their path relative to the run folder.

    For a picture that is missing here (the budget is used up, the file is gone or not a picture),
    the report shows its path. The last picture of every cell comes first, failed cells before
    passed ones, and then the other pictures, so that no single cell uses up the budget.
    """
    ordered = sorted(cells, key=lambda cell: _URGENCY.index(cell.outcome))
    first = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[:1]]
    rest = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[1:]]
    pictures: dict[str, str] = {}
    for cell, path in (*first, *rest):
        key = f"{cell.folder}/{path}"
        picture = None if key in pictures else _read(folder, cell.folder, path, budget)
        if picture:
            budget -= len(picture)
            pictures[key] = _data_uri(picture)
    return pictures


def _screenshots(cell: CellResult) -> Iterator[str]:
    """Yield the paths of a cell's pictures, the most useful ones first."""
    for attempt in reversed(cell.attempts):
        if attempt.scene and attempt.scene.screenshot:
            yield attempt.scene.screenshot
        if attempt.final_screenshot:
            yield attempt.final_screenshot
        for step in reversed(attempt.step_results):
            if step.screenshot:
                yield step.screenshot
        # Decisions that failed come before those that succeeded, later ones first.
        for performed in (False, True):
            for decision in reversed(attempt.decisions):
                if decision.picture and (decision.status == "performed") == performed:
                    yield decision.picture
                    if decision.second_picture:
                        yield decision.second_picture
        for location in reversed(attempt.locations):
            for probe in location.probes:
                if probe.picture:
                    yield probe.picture


def _read(root: Path, cell: str, path: str, budget: int) -> bytes | None:
    """Return a picture's bytes, or None if it is not a PNG or JPEG file in the cell's folder."""
    try:
        home = (root / cell).resolve()
        file = (home / path).resolve()
        if not (file.is_relative_to(home) and home.is_relative_to(root.resolve())):
            return None
        if not file.is_file() or file.stat().st_size > budget:
            return None
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    return content if any(content.startswith(magic) for magic in _KINDS) else None


def _data_uri(picture: bytes) -> str:
    kind = next(kind for magic, kind in _KINDS.items() if picture.startswith(magic))
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode('ascii')}"


REPORT_FILE = "report.json"
HTML_FILE = "index.html"
MARKDOWN_FILE = "summary.md"
CHECKSUM_FILE = "report.full.sha256"
ANALYSIS_FILE = "analysis.json"
"""The local model's analysis, kept so that the report can be written again without asking again."""

PANELS_FILE = "panels.json"
"""The panels that the project added, for whoever writes the report anew without its conftest."""

_PANELS = TypeAdapter(tuple[ReportedPanel, ...])


def write_report(folder: Path, *, max_chars: int, analysis: Analysis | None = None) -> Report:
    """Read a run folder and write `report.json`, `index.html` and `summary.md` into it.

    Args:
        folder: the run folder; the files of its cells are only read.
        max_chars: the size limit of `report.json`, to which both reports are shortened. The
            checksum of the unshortened document is kept in `report.full.sha256`.
        analysis: a local model's analysis of the run; None keeps an earlier one.

    Returns:
        The report before shortening.

    Raises:
        AutowebError: a report cannot be written.
    """
    run = read_run(folder)
    built = build_report(run, analysis or _earlier_analysis(folder), read_side_files(folder))
    earlier = _earlier_panels(folder)
    report = with_panels(built, earlier)
    full = plain(report)
    text = compact_json(full)
    digest = hashlib.sha256(text.encode()).hexdigest()
    short = shorten(full, max_chars)
    texts = {
        REPORT_FILE: compact_json(short),
        CHECKSUM_FILE: f"{digest}  {REPORT_FILE} before shortening, {len(text)} characters\n",
        HTML_FILE: render_html(short, embed(folder, run.cells)),
        MARKDOWN_FILE: render_markdown(report),
    }
    if report.panels or earlier:
        texts[PANELS_FILE] = json_text(report.panels)
    if analysis is not None:
        texts[ANALYSIS_FILE] = json_text(analysis)
    for name, content in texts.items():
        try:
            write_text_atomic(folder / name, content)
        except OSError as error:
            raise AutowebError(
                f"{folder / name} cannot be written ({error.strerror or error}); the results of "
                f"all cells are kept in {folder / 'cells'}"
            ) from error
    return report


def _earlier_analysis(folder: Path) -> Analysis | None:
    try:
        return Analysis.model_validate_json((folder / ANALYSIS_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def _earlier_panels(folder: Path) -> tuple[ReportedPanel, ...]:
    try:
        return _PANELS.validate_json((folder / PANELS_FILE).read_bytes())
    except (OSError, ValidationError):
        return ()
