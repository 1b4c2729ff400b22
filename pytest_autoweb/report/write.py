"""Writes a run's reports next to its cells, embedding pictures within a budget.

A report that is still too large is shortened, its longest texts first.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.report.html_page import render_html
from pytest_autoweb.report.json_report import Analysis, Report, ReportedPanel, build_report
from pytest_autoweb.report.large_report import (
    DetailParts,
    RunReading,
    lines_of,
    read_for_report,
    remove_details,
)
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.panels import with_panels
from pytest_autoweb.report.wording import what_failed
from pytest_autoweb.results.records import CellResult, Outcome
from pytest_autoweb.results.runs.run_folder import RecordedRun, collector_paused
from pytest_autoweb.results.runs.saving import compact_json, json_text, plain, write_text_atomic
from pytest_autoweb.results.runs.side_files import read_side_files

SMALLEST_TEXT = 120
"""Texts up to this length are never cut, because the marker would be about as long."""
_MARKER = 60
"""The maximum length of a marker."""

_NAMES = frozenset(
    {"id", "case_id", "case_path", "folder", "nodeid", "model", "format", "ts", "screenshot"}
    | {"final_screenshot", "picture", "cache_key", "verdict"}
)
"""Fields that are never cut, because other fields or files refer to them."""

Place = tuple[Any, Any]
"""A dict or list and the key of one text in it."""

_SAID_CHARS = 200
_SAID_CELLS = 400
"""Limit on the cells of which the page says what failed in other words than their reason."""
BUDGET = 8_000_000
"""Limit on the bytes of pictures in one page; others are loaded from the cells' folders."""

_URGENCY: tuple[Outcome, ...] = (
    "failed",
    "broken",
    "healed",
    "ungraded",
    "needs_input",
    "off_record",
    "passed",
    "skipped",
)
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def shorten(report: dict[str, Any], max_chars: int) -> dict[str, Any]:
    """Return a copy of the report whose JSON has at most `max_chars` characters.

    First the longest texts are cut to a common length, each with a marker that gives the number of
    missing characters and the start of the whole text's SHA-256. If that is not enough, these are
    left out in turn: the evidence of cells; the cases of comparisons that do not differ; the
    attempts of cells, those of passed cells and large ones first; the cells of whole cases; and
    everything but the head of the report, which is a few hundred characters and the names of the
    models. The field `shortened` records how far this went.

    Args:
        report: the report as JSON values; if it records how far it was shortened, the steps up to
            that one are skipped.
        max_chars: limit on the characters of the JSON that `compact_json` writes.
    """
    text = compact_json(report)
    copy: dict[str, Any] = json.loads(text)
    if len(text) <= max_chars:
        return copy
    names = list(_STEPS)
    taken = names.index(report["shortened"]) + 1 if report.get("shortened") else 0
    for name in names[taken:]:
        reduce = _STEPS[name]
        reduce(copy, max_chars)
        copy["shortened"] = name
        if len(compact_json(copy)) <= max_chars:
            break
    return copy


def shorten_large(report: Report, max_chars: int) -> dict[str, Any]:
    """Do the same for a report without evidence that is still too large for memory.

    It begins without attempts and adds those that fit: small ones first, and those of passed cells
    last.
    """
    bare = report.model_copy(
        update={"cases": tuple(case.model_copy(update={"cells": ()}) for case in report.cases)}
    )
    short: dict[str, Any] = json.loads(bare.model_dump_json()) | {"shortened": ""}
    _drop_same(short, max_chars)
    rows: list[tuple[CellResult, dict[str, Any]]] = []
    for case, filled in zip(report.cases, short["cases"], strict=True):
        for cell in case.cells:
            row = json.loads(cell.model_dump_json(exclude={"attempts", "arms"}))
            filled["cells"].append(row | {"attempts": [], "arms": []})
            rows.append((cell, filled["cells"][-1]))
    short["shortened"] = "attempts"
    _note(short, "prompts, captures and calls were left out")
    room = max_chars - len(compact_json(short))
    return _with_attempts(short, rows, room) if room > 0 else shorten(short, max_chars)


def _with_attempts(
    short: dict[str, Any], rows: list[tuple[CellResult, dict[str, Any]]], room: int
) -> dict[str, Any]:
    """Add the attempts of as many cells as fit."""
    sized = [(cell, row, cell.model_dump_json(include={"attempts", "arms"})) for cell, row in rows]
    sized.sort(key=lambda each: (each[0].outcome == "passed", len(each[2])))
    for _, row, text in sized:
        room -= len(text)
        if room < 0:
            _note(short, "attempts were left out")
            return short
        row |= json.loads(text)
    return short | {"shortened": "same_cases"}


def truncated(text: str, keep: int) -> str:
    """Return the first `keep` characters and a marker for the rest."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{text[:keep]}…[truncated {len(text) - keep} chars, sha256 {digest}]"


def _cut_texts(report: dict[str, Any], max_chars: int) -> None:
    """Cut the longest texts to the largest common length at which the report fits."""
    _note(report, "texts were shortened")
    places = list(_all_texts(report))
    texts = [holder[key] for holder, key in places]
    rest = len(compact_json(report)) - sum(map(_json_length, texts))
    fits, too_long = 0, max(map(len, texts), default=0)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        size = rest + sum(_cut_length(text, middle) for text in texts)
        fits, too_long = (middle, too_long) if size <= max_chars else (fits, middle)
    for (holder, key), text in zip(places, texts, strict=True):
        if len(text) > fits + _MARKER:
            holder[key] = truncated(text, fits)


def _cut_length(text: str, keep: int) -> int:
    """Return the length of a text in the JSON after it is cut."""
    if len(text) <= keep + _MARKER:
        return _json_length(text)
    return _json_length(text[:keep]) + _MARKER


def _json_length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))


def _all_texts(node: Any) -> Iterator[Place]:
    """Yield every text that may be cut."""
    items: Any = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            if len(value) > SMALLEST_TEXT and key not in _NAMES:
                yield node, key
        elif isinstance(value, dict | list):
            yield from _all_texts(value)


def _drop_evidence(report: dict[str, Any], max_chars: int) -> None:
    """Leave out the evidence of attempts, cell by cell, until the report fits."""
    _note(report, "prompts, captures and calls were left out")

    def drop(cell: Any) -> None:
        for attempt in cell["attempts"]:
            attempt |= {"exchanges": [], "snapshots": [], "tool_calls": [], "scene": None}

    _drop(report, max_chars, _cells(report), drop)


def _drop_same(report: dict[str, Any], max_chars: int) -> None:
    """Leave out the cases that do not differ from all comparisons."""
    _note(report, "comparisons list only the cases that differ")
    for comparison in _comparisons(report):
        comparison["cases"] = [case for case in comparison["cases"] if case["flip"] != "same"]


def _drop_attempts(report: dict[str, Any], max_chars: int) -> None:
    """Leave out the attempts, cell by cell, until the report fits."""
    _note(report, "attempts were left out")

    def drop(cell: Any) -> None:
        cell["attempts"] = []

    _drop(report, max_chars, _cells(report), drop)


def _drop_cases(report: dict[str, Any], max_chars: int) -> None:
    """Leave out earlier runs and the cases of comparisons, then cells until the report fits."""
    _note(report, "cells were left out")
    report["baseline"], report["history"], report["rejudging"] = None, None, None
    for comparison in _comparisons(report):
        comparison["cases"], comparison["left_out"] = [], []

    def drop(case: Any) -> None:
        case["cells"] = []

    _drop(report, max_chars, report["cases"], drop)


def _comparisons(report: dict[str, Any]) -> list[Any]:
    execution = report["execution"] or {}
    return [*report["comparisons"], *execution.get("comparisons", ())]


def _cells(report: dict[str, Any]) -> list[Any]:
    return [cell for case in report["cases"] for cell in case["cells"]]


def _drop(
    report: dict[str, Any], max_chars: int, items: list[Any], drop: Callable[[Any], None]
) -> None:
    """Shrink one item after the other until the report fits, passed and large ones first."""
    excess = len(compact_json(report)) - max_chars
    sizes = [len(compact_json(item)) for item in items]
    order = sorted(
        range(len(items)), key=lambda i: (items[i].get("outcome") != "passed", -sizes[i])
    )
    for i in order:
        if excess <= 0:
            return
        drop(items[i])
        excess -= sizes[i] - len(compact_json(items[i]))


def _keep_only_head(report: dict[str, Any], max_chars: int) -> None:
    """As the last resort, leave out everything that a valid report does not need."""
    _note(report, "everything but the head was left out, because the limit is too small")
    report["cases"], report["summary"] = [], None
    report["settings"], report["environment"] = {}, {}
    report["analysis_prompt"], report["local_analysis"] = "", None
    report["local_analysis_error"] = ""
    report["comparisons"], report["gates"], report["judges"] = [], [], []
    report["decision_facts"], report["execution"] = [], None
    report["corrections"], report["panels"] = [], []
    report["baseline"], report["history"], report["rejudging"] = None, None, None


def _note(report: dict[str, Any], sentence: str) -> None:
    """Add the reduction to the single note about reductions, and keep the run's last notes."""
    notes = list(report.get("notes", []))
    if report.get("shortened"):
        report["notes"] = [*notes[:-1][-3:], f"{notes[-1]}; {sentence}"]
    else:
        report["notes"] = [*notes[-3:], f"to keep the report under its size limit, {sentence}"]


_STEPS: dict[str, Callable[[dict[str, Any], int], None]] = {
    "texts": _cut_texts,
    "evidence": _drop_evidence,
    "same_cases": _drop_same,
    "attempts": _drop_attempts,
    "cells": _drop_cases,
    "everything": _keep_only_head,
}
"""The steps in the order in which they are tried, by their name in `shortened`."""


def embed(folder: Path, cells: Iterable[CellResult], budget: int = BUDGET) -> dict[str, str]:
    """Return pictures by their path relative to the run folder.

    A picture is missing here if its file is gone or is not a picture (the report then shows its
    path), or if the budget is used up (the page then loads it from its folder). The last picture of
    every cell comes first, failed cells before passed ones, and then the other pictures, so that no
    single cell uses up the budget.
    """
    ordered = sorted(cells, key=lambda cell: _URGENCY.index(cell.outcome))
    first = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[:1]]
    rest = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[1:]]
    pictures: dict[str, str] = {}
    for cell, path in (*first, *rest):
        key = f"{cell.folder}/{path}"
        file = None if key in pictures else _picture(folder, cell.folder, path)
        if file and (size := file.stat().st_size) <= budget:
            budget -= size
            pictures[key] = _data_uri(file)
    return pictures


def left_over(
    folder: Path, cells: Iterable[CellResult], embedded: Collection[str]
) -> frozenset[str]:
    """Return the paths of the cells' pictures that are not embedded."""
    every = {(cell.folder, path) for cell in cells for path in _screenshots(cell)}
    missing = (each for each in every if "/".join(each) not in embedded)
    return frozenset("/".join(each) for each in missing if _picture(folder, *each))


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
        for frame in reversed(attempt.film):
            yield frame.picture
        # Decisions that failed come before those that succeeded, later ones first.
        for performed in (False, True):
            for decision in reversed(attempt.decisions):
                if decision.picture and (decision.status == "performed") == performed:
                    yield decision.picture
                    if decision.second_picture:
                        yield decision.second_picture
        for look in reversed(attempt.looks):
            if look.picture:
                yield look.picture
        for location in reversed(attempt.locations):
            for probe in location.probes:
                if probe.picture:
                    yield probe.picture


def _picture(root: Path, cell: str, path: str) -> Path | None:
    """Return the file of a picture, or None if it is not a PNG or JPEG in the cell's folder."""
    try:
        home = (root / cell).resolve()
        file = (home / path).resolve()
        inside = file.is_relative_to(home) and home.is_relative_to(root.resolve())
        return file if inside and _kind(file) else None
    except (OSError, ValueError):
        return None


def _kind(file: Path) -> str:
    with file.open("rb") as opened:
        head = opened.read(8)
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), "")


def _data_uri(file: Path) -> str:
    return f"data:image/{_kind(file)};base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"


REPORT_FILE = "report.json"
HTML_FILE = "index.html"
MARKDOWN_FILE = "summary.md"
CHECKSUM_FILE = "report.full.sha256"
ANALYSIS_FILE = "analysis.json"
"""The local model's analysis, kept so that the report can be rewritten without asking again."""

PANELS_FILE = "panels.json"
"""The project's panels, kept so that the report can be rewritten without its conftest."""

_PANELS = TypeAdapter(tuple[ReportedPanel, ...])


def write_report(
    folder: Path,
    *,
    max_chars: int,
    analysis: Analysis | None = None,
    reading: RunReading | None = None,
) -> Report:
    """Read a run folder and write `report.json`, `index.html` and `summary.md` into it.

    Args:
        folder: the run folder; the files of its cells are only read.
        max_chars: the size limit of `report.json`, to which both reports are shortened. The
            checksum of the unshortened document is kept in `report.full.sha256`.
        analysis: a local model's analysis of the run; None keeps an earlier one.
        reading: the run, if it was read already.

    Returns:
        The report before shortening; for a large run, without its cells' evidence.

    Raises:
        AutowebError: a report cannot be written.
    """
    with collector_paused():
        read = reading or read_for_report(folder)
        known = analysis or _earlier_analysis(folder)
        earlier = _earlier_panels(folder)
        report = with_panels(build_report(read.run, known, read_side_files(folder)), earlier)
        texts = (
            _texts(report, read.run, max_chars)
            if read.details is None
            else _texts_of_large(report, read.details, max_chars)
        )
        texts[MARKDOWN_FILE] = render_markdown(report)
        if report.panels or earlier:
            texts[PANELS_FILE] = json_text(report.panels)
        if analysis is not None:
            texts[ANALYSIS_FILE] = json_text(analysis)
        for name, content in texts.items():
            _write(folder, name, content)
    return report


def _texts(report: Report, run: RecordedRun, max_chars: int) -> dict[str, str]:
    """Return the files of a run whose page holds everything, and pictures within a budget."""
    remove_details(run.folder)
    full = plain(report)
    text = compact_json(full)
    short = shorten(full, max_chars)
    pictures = embed(run.folder, run.cells)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        REPORT_FILE: compact_json(short),
        CHECKSUM_FILE: f"{digest}  {REPORT_FILE} before shortening, {len(text)} characters\n",
        HTML_FILE: render_html(
            short,
            pictures,
            linked=left_over(run.folder, run.cells, pictures),
            says=_said(run.cells),
        ),
    }


def _texts_of_large(report: Report, details: DetailParts, max_chars: int) -> dict[str, str]:
    """Return the files of a run whose page loads details and pictures from other files."""
    head = report.model_copy(update={"cases": ()}).model_dump_json()
    digest = details.digest.copy()
    digest.update(head.encode())
    chars = details.chars + len(head)
    page = lines_of(report, details.places)
    return {
        REPORT_FILE: compact_json(shorten_large(report, max_chars)),
        CHECKSUM_FILE: f"{digest.hexdigest()}  all cells and the rest of {REPORT_FILE}, "
        f"{chars} characters\n",
        HTML_FILE: render_html(
            page,
            {},
            linked=None,
            key=details.key,
            says=_said(cell for case in report.cases for cell in case.cells),
        ),
    }


def _said(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return what failed, by the folders of the first cells that did not pass."""
    said = ((cell.folder, what_failed(cell, _SAID_CHARS)) for cell in cells)
    return dict(islice(((folder, says) for folder, says in said if says), _SAID_CELLS))


def _write(folder: Path, name: str, content: str) -> None:
    try:
        write_text_atomic(folder / name, content)
    except OSError as error:
        raise AutowebError(
            f"{folder / name} cannot be written ({error.strerror or error}); the results of "
            f"all cells are kept in {folder / 'cells'}"
        ) from error


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
