"""The writing of a run's reports into its run folder."""

import hashlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.errors import AutowebError
from pytest_autoweb.report.html_report import render_html
from pytest_autoweb.report.json_report import Analysis, Report, build_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.panel import with_panels
from pytest_autoweb.report.panel_content import ReportedPanel
from pytest_autoweb.report.pictures import embed
from pytest_autoweb.report.run_folder import read_run
from pytest_autoweb.report.shortening import compact_json, shorten
from pytest_autoweb.report.side_files import read_side_files
from pytest_autoweb.saving import json_text, plain, write_text_atomic

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
