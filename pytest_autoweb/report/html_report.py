"""`index.html` and its panels, the detail pages of a large one, and the film of one search.

This module defines panels, their registry, and the panels that every report has.

A page opened from disk may not read other files, regardless of its policy. It may show another page
in a frame, though, and exchange messages with it. So the details of a large run's cells lie in
small pages, the parts: each holds the JSON of some cells as inert data, and one script that hands
them over in exchange for the report's key. Other pages do not know the key, so they get nothing out
of a part.
"""

import base64
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from pydantic import ValidationError

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.variants import Variants
from pytest_autoweb.report.json_report import MAX_ROWS, PanelContent, Report, ReportedPanel
from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.records import Attempt, CellResult, Location
from pytest_autoweb.results.runs.run_folder import (
    RecordedRun,
    collector_paused,
    read_run,
    size_of_cells,
)
from pytest_autoweb.results.runs.saving import compact_json, plain

AFTER_THE_BUILT_IN_ONES = 10_000
"""The default order of a panel."""

_FRAME = (
    *("base.css", "page.css", "charts.css", "panels.css", "detail.css", "locations.css"),
    *("dom.js", "charts.js", "code.js", "page.js", "panels.js"),
)
"""The files that all panels need."""
_LAST = ("locations.js", "handover.js", "detail.js", "parts.js", "main.js")
"""The file that shows one cell, and the one that starts the page once every panel is known."""

_JSON_ESCAPES = {
    "<": r"\u003c",
    ">": r"\u003e",
    "&": r"\u0026",
    "\u2028": r"\u2028",
    "\u2029": r"\u2029",
}


LINKED = "'self' file:"
"""The policy sources that match files next to the page, from disk or from a server."""

DETAILS_FOLDER = "details"
IN_ONE_FILE = 8_000_000
"""Total size of `cell.json` files up to which `index.html` holds everything itself."""
PART_CHARS = 1_000_000
"""Length at which a part is full; a browser reads this much in some milliseconds."""


LONGEST_REASON = 300
"""Limit on the characters of a reason in a cell's line; the details have the full text."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One section of `index.html`.

    A built-in panel names the files of `templates/report` that draw it from the report. A user's
    panel instead has a function that computes its content from the finished report.
    """

    name: str
    title: str
    summary: str
    build: Callable[[Report], PanelContent | None] | None = None
    """Computes the content; returns None if this report has nothing to show."""
    files: tuple[str, ...] = ()
    """Scripts and styles; the script calls `addPanel` with the panel's name."""
    order: int = AFTER_THE_BUILT_IN_ONES
    """Panels with a lower number stand above it."""

    def __post_init__(self) -> None:
        """Refuse a panel that cannot be drawn, or that could be drawn in two ways."""
        if (self.build is None) == (not self.files):
            raise ValueError(f"the report panel {self.name!r} needs `build` or `files`, not both")


PANELS: Variants[Panel] = Variants("report panel")


def panels_in_order() -> list[Panel]:
    """Return all registered panels, the topmost first."""
    return sorted(PANELS.values(), key=lambda panel: panel.order)


def with_panels(report: Report, earlier: Sequence[ReportedPanel] = ()) -> Report:
    """Return the report with the content of the user's own panels.

    Their functions see a copy of the report, so that none of them can change it.

    Args:
        report: the finished report, without such panels.
        earlier: panels of the same run from an earlier report; those not registered now stay
            unchanged.
    """
    own = [panel for panel in panels_in_order() if panel.build is not None]
    copy = report.model_copy(deep=True) if own else report
    built = [_built(panel, copy) for panel in own]
    kept = [panel for panel in earlier if panel.name not in PANELS]
    shown = [panel for panel in (*built, *kept) if panel is not None]
    shown.sort(key=lambda panel: panel.order)
    return report.model_copy(update={"panels": tuple(shown)})


def _built(panel: Panel, report: Report) -> ReportedPanel | None:
    """Return the panel's content; an error costs only this panel, not the report."""
    assert panel.build is not None
    facts = {"name": panel.name, "title": panel.title, "order": panel.order}
    try:
        content = panel.build(report)
        if content is None:
            return None
        if not isinstance(content, PanelContent):
            raise TypeError(f"it returned {content!r}, which is not a PanelContent")
        return ReportedPanel(
            **facts,
            note=content.note,
            facts=content.facts,
            columns=content.columns,
            rows=content.rows[:MAX_ROWS],
            rows_left_out=max(0, len(content.rows) - MAX_ROWS),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}" if where else first["msg"]
    except Exception as error:
        # This is the user's function, which may fail in any way.
        problem = f"{type(error).__name__}: {error}"
    return ReportedPanel(**facts, error=f"panel {panel.name} failed: {problem}")


PANELS.add(
    Panel(
        name="gates",
        title="Gates",
        summary="what decided the exit status",
        order=100,
        files=("gates.js", "gates.css"),
    )
)
PANELS.add(
    Panel(
        name="models",
        title="Models",
        summary="each model's rates with their intervals, its cost and its time",
        order=200,
        files=("models.js", "models.css"),
    )
)
PANELS.add(
    Panel(
        name="comparison",
        title="Compare two",
        summary="two models, or a model and its baseline, and the cases that differ",
        order=300,
        files=("comparison.js", "comparison.css"),
    )
)
PANELS.add(
    Panel(
        name="controls",
        title="Controls",
        summary="whether each case can be passed, and not by doing nothing",
        order=400,
        files=("controls.js", "controls.css"),
    )
)
PANELS.add(
    Panel(
        name="cells",
        title="Cells",
        summary="every cell, with search, filters and its details",
        order=500,
        files=("matrix.js", "matrix.css"),
    )
)


PANELS.add(
    Panel(
        name="costs",
        title="Cost against success",
        summary="each model's cost or time of a cell against its pass rate",
        order=600,
        files=("costs.js",),
    )
)
PANELS.add(
    Panel(
        name="stages",
        title="Time per stage",
        summary="where the seconds of a cell go",
        order=700,
        files=("stages.js",),
    )
)
PANELS.add(
    Panel(
        name="decisions",
        title="Acting by sight",
        summary="what verification made of the elements that models chose",
        order=800,
        files=("decisions.js", "decisions.css"),
    )
)
PANELS.add(
    Panel(
        name="corrections",
        title="Failures and corrections",
        summary="how first attempts failed, and what trying again gained",
        order=900,
        files=("corrections.js", "corrections.css"),
    )
)
PANELS.add(
    Panel(
        name="stability",
        title="Flaky and slow",
        summary="cases that change from repeat to repeat or from run to run, and slow cells",
        order=1000,
        files=("stability.js", "stability.css"),
    )
)
PANELS.add(
    Panel(
        name="trend",
        title="Over time",
        summary="each model's rate in every saved run",
        order=1100,
        files=("trend.js",),
    )
)
PANELS.add(
    Panel(
        name="judges",
        title="Judging models",
        summary="how far judging models agree with people",
        order=1200,
        files=("judges.js",),
    )
)
PANELS.add(
    Panel(
        name="analysis",
        title="Local analysis",
        summary="what a local model said about the run",
        order=1300,
        files=("analysis.js", "analysis.css"),
    )
)


def render_html(
    report: dict[str, Any],
    pictures: dict[str, str],
    *,
    linked: Collection[str] | None = (),
    key: str = "",
) -> str:
    """Render the page for the content of `report.json`.

    Args:
        report: the report, already shortened to its size limit; or, with a key, that of a large
            run, whose cells name the part and the place of their details.
        pictures: `data:` URIs by path below the run folder.
        linked: the paths of pictures to load from files next to the page; None means all.
        key: opens the parts of a large report; empty if the page holds all details.
    """
    built_in = [panel for panel in panels_in_order() if panel.files]
    files = (*_FRAME, *(name for panel in built_in for name in panel.files), *_LAST)
    places = [(panel.order, panel.name) for panel in built_in]
    places += [(panel["order"], panel["name"]) for panel in report["panels"]]
    # Sorted by the order alone: among panels with the same order, the first added stays first.
    names = [name for _, name in sorted(places, key=lambda place: place[0])]
    return self_contained(
        "index.html.j2",
        f"autoweb report {report['ts']}",
        tuple(name for name in files if name.endswith(".css")),
        tuple(name for name in files if name.endswith(".js")),
        {
            "report": report,
            "pictures": pictures,
            "linked": None if linked is None else sorted(linked),
            "panels": names,
            "key": key,
        },
        beside=(
            *(("img-src",) if linked is None or linked else ()),
            *(("frame-src",) if key else ()),
        ),
    )


def self_contained(
    template: str,
    title: str,
    styles: tuple[str, ...],
    scripts: tuple[str, ...],
    data: Any,
    beside: Collection[str] = (),
) -> str:
    """Return a page that loads nothing from outside.

    Args:
        template: a file of `templates/report`, like the following.
        title: the page's title.
        styles: files that become its style.
        scripts: modules in the order of their imports; they are joined into one.
        data: the JSON value that the script draws.
        beside: the directives of the policy that allow files next to the page: `img-src`,
            `frame-src`. Without them, the page needs no other file.
    """
    style, script = _style(styles), _script(scripts)
    pictures = f"data: {LINKED}" if "img-src" in beside else "data:"
    frames = f"frame-src {LINKED}; " if "frame-src" in beside else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"img-src {pictures}; {frames}base-uri 'none'; form-action 'none'"
    )
    # The template marks style, script and data as safe: they are this package's own files, and
    # JSON without any `<`, `>` or `&`.
    return _template(template).render(
        title=title, policy=policy, style=style, script=script, data=inert(compact_json(data))
    )


def part_frame(key: str) -> tuple[str, str]:
    """Return the text of a part before and after its cells, each of which is an `inert_script`.

    Args:
        key: the key that must be sent to the part to get a cell.
    """
    script, between = _script(("part.js",)), "\0"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    page = _template("part.html.j2").render(
        policy=policy, script=script, key=inert(compact_json(key)), cells=between
    )
    before, _, after = page.partition(between)
    return before, after


def inert_script(text: str) -> str:
    """Return a script element with JSON that the browser keeps and does not run."""
    return f'<script type="application/json" class="cell">{inert(text)}</script>\n'


def inert(text: str) -> str:
    """Return JSON that cannot end its script element."""
    for character, escape in _JSON_ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _folder() -> Path:
    return asset_dir("templates") / "report"


@cache
def _style(names: tuple[str, ...]) -> str:
    return "".join((_folder() / name).read_text(encoding="utf-8") for name in names)


@cache
def _script(names: tuple[str, ...]) -> str:
    """Join the script files into one module, dropping the imports between them."""
    source = "\n".join((_folder() / name).read_text(encoding="utf-8") for name in names)
    source = re.sub(r"^import .*;\n", "", source, flags=re.MULTILINE)
    return re.sub(r"^export ", "", source, flags=re.MULTILINE)


_STYLES = ("base.css", "page.css", "panels.css", "detail.css", "decisions.css", "locations.css")
_SCRIPTS = ("dom.js", "locations.js", "film.js")


def render_film(location: Location, pictures: Mapping[str, bytes]) -> str:
    """Return a self-contained page with the pictures, answers and result of a search.

    Args:
        location: the search.
        pictures: the PNG pictures, by the names in the probes.
    """
    data = {
        "location": plain(location),
        "pictures": {
            name: "data:image/png;base64," + base64.b64encode(picture).decode()
            for name, picture in pictures.items()
        },
    }
    return self_contained("film.html.j2", "autoweb locate", _STYLES, _SCRIPTS, data)


class DetailParts:
    """Writes the parts while the cells are read, and keeps the data that the numbers need.

    The parts are written into a new folder, which finally replaces an earlier report's.
    """

    def __init__(self, run_folder: Path) -> None:
        self.key = secrets.token_hex(16)
        """The key that a page must send to a part to get the details."""
        self.places: dict[str, tuple[int, int]] = {}
        """By the cell's folder: the number of its part, and its place in it, from 0."""
        self.chars = 0
        """The total length of all details."""
        self.digest = hashlib.sha256()
        """A digest of all details, in the order of the cells."""
        self._run_folder = run_folder
        self._new = run_folder / f".{DETAILS_FOLDER}.{os.getpid()}.tmp"
        self._head, self._tail = part_frame(self.key)
        self._part: list[str] = []
        self._part_chars = 0
        self._parts = 0
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir(parents=True)

    def take(self, cell: CellResult) -> CellResult:
        """Write the cell's details, and return the cell without its evidence."""
        text = cell.model_dump_json()
        self.digest.update(text.encode())
        self.chars += len(text)
        self.places[cell.folder] = (self._parts, len(self._part))
        self._part.append(text)
        self._part_chars += len(text)
        if self._part_chars >= PART_CHARS:
            self._write_part()
        return without_evidence(cell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Replace the parts of an earlier report, unless there was an error."""
        try:
            if error is None:
                self._write_part()
                remove_details(self._run_folder)
                self._new.rename(self._run_folder / DETAILS_FOLDER)
        finally:
            shutil.rmtree(self._new, ignore_errors=True)

    def _write_part(self) -> None:
        if not self._part:
            return
        with (self._new / f"{self._parts}.html").open("w", encoding="utf-8") as file:
            file.write(self._head)
            file.writelines(inert_script(text) for text in self._part)
            file.write(self._tail)
        self._parts += 1
        self._part, self._part_chars = [], 0


def remove_details(run_folder: Path) -> None:
    """Remove the details of an earlier report of the same run."""
    folder = run_folder / DETAILS_FOLDER
    if (folder / "0.html").is_file() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


def without_evidence(cell: CellResult) -> CellResult:
    """Return the cell without prompts, captures, scenes and calls, which are most of its size."""
    return cell.model_copy(
        update={
            "attempts": tuple(map(_light, cell.attempts)),
            "arms": tuple(
                arm.model_copy(update={"attempts": tuple(map(_light, arm.attempts))})
                for arm in cell.arms
            ),
        }
    )


def _light(attempt: Attempt) -> Attempt:
    # The report's numbers include the count of calls that were not repeated.
    calls = tuple(call for call in attempt.tool_calls if call.duplicate or call.cached)
    return attempt.model_copy(
        update={"exchanges": (), "snapshots": (), "tool_calls": calls, "scene": None}
    )


SHOWN = 300
"""Limit, for each kind, on a comparison's cases in the page of a large run."""


def lines_of(report: Report, places: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the data in the page of a large run: a line per cell, and the place of its details.

    Args:
        report: the report.
        places: part and place of each cell's details.
    """
    comparisons = tuple(map(_briefly, report.comparisons))
    baseline = report.baseline and report.baseline.model_copy(update={"rows": ()})
    summary = report.summary and report.summary.model_copy(update={"matrix": ()})
    execution = report.execution
    if execution is not None:
        brief_pairs = tuple(map(_briefly, execution.comparisons))
        execution = execution.model_copy(update={"comparisons": brief_pairs})
    update: dict[str, Any] = {
        **{"cases": (), "comparisons": comparisons, "execution": execution},
        **{"baseline": baseline, "summary": summary},
    }
    page: dict[str, Any] = json.loads(report.model_copy(update=update).model_dump_json())
    for brief, whole in zip(page["comparisons"], report.comparisons, strict=True):
        brief["cases_left_out"] = len(whole.left_out)
    page["cases"] = [
        {
            **case.model_dump(exclude={"cells"}),
            "cells": [_line(cell, *places[cell.folder]) for cell in case.cells],
        }
        for case in report.cases
    ]
    return page


def _briefly(comparison: Comparison) -> Comparison:
    differing = (case for case in comparison.cases if case.flip != "same")
    return comparison.model_copy(
        update={
            "cases": tuple(islice(differing, SHOWN)),
            "left_out": comparison.left_out[:SHOWN],
        }
    )


def _line(cell: CellResult, part: int, place: int) -> dict[str, Any]:
    line = {
        "model": cell.model,
        "outcome": cell.outcome,
        "capture_mode": cell.capture_mode,
        "repeat": cell.repeat,
        "reason": cell.reason[:LONGEST_REASON],
        "duration_ms": round(cell.duration_ms),
        "slow": cell.slow,
        "without_checks": cell.without_checks,
        "folder": cell.folder,
    }
    # Empty fields are omitted: a page of fifty thousand lines is large enough without them.
    return {name: value for name, value in line.items() if value} | {"part": part, "place": place}


@dataclass(frozen=True, slots=True)
class RunReading:
    """A run as read for its report: once, however large it is."""

    run: RecordedRun
    details: DetailParts | None = None
    """The parts with the evidence of a large run; None if the cells still hold it."""


def read_for_report(folder: Path) -> RunReading:
    """Read a run folder; for a large run, write its cells' details on the way.

    Raises:
        AutowebError: the details cannot be written.
    """
    with collector_paused():
        if size_of_cells(folder) <= IN_ONE_FILE:
            return RunReading(read_run(folder))
        try:
            with DetailParts(folder) as details:
                return RunReading(read_run(folder, details.take), details)
        except OSError as error:
            raise AutowebError(
                f"{folder / DETAILS_FOLDER} cannot be written ({error.strerror or error}); the "
                f"results of all cells are kept in {folder / 'cells'}"
            ) from error
