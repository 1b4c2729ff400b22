#!/usr/bin/env python3
"""Measure the page of a run that goes on with many cells, and what keeping it up to date takes.

    python benchmarks/view_scale.py
    python benchmarks/view_scale.py --cells 1000 10000 50000

Each run is made up: ten models, half of the cells have ended, of which a third failed, sixteen are
going, each with a picture. The page is opened in Chromium while the run folder stays as it is, and
then once every second sixteen cells end and sixteen begin, as in a fast run. The table has

- first look: the seconds until the server has read the folder for the first time;
- page: the seconds from the address to the grid of cells;
- sent: the megabytes of that first event;
- look: the milliseconds of processor time in which the server reads what is new and tells it;
- change: the milliseconds that the page's main thread takes for what is new (script, style, layout
  and paint, as `Performance.getMetrics` counts its tasks).
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.sync_api import Browser, CDPSession, sync_playwright

from pytest_autoweb.base.files import replace_text
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.results.records import CellResult, FilmFrame
from pytest_autoweb.results.runs.progress_file import Progress
from pytest_autoweb.results.runs.run_signs import PROGRESS_FOLDER
from pytest_autoweb.results.runs.saving import (
    compact_json,
    mark_started,
    plain,
    save_cell,
    save_manifest,
)
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar
from pytest_autoweb.tools.view.followed_run import FollowedRun
from pytest_autoweb.tools.view.view_server import ViewServer, serve_in_thread

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from made_up_run import CellKey, cell, planned

from benchmarks.report import noise

MODELS = 10
GOING = 16
SECONDS = 12
REASON = "check 1 (text): the page shows “Cart (0)”, not “Cart (1)”"


class MadeUpRun:
    """A run that goes on when it is told to.

    Args:
        folder: where it is made.
        count: how many cells it has.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self._picture = folder, noise(random.Random(5))
        cells = [
            cell(
                CellKey(f"case-{number // MODELS:04}", f"vendor/model-{number % MODELS}"),
                "passed" if number % 3 else "failed",
            )
            for number in range(count)
        ]
        save_manifest(folder, map(planned, cells))
        (folder / PROGRESS_FOLDER).mkdir()
        self._progress = Progress(folder / PROGRESS_FOLDER / "session.jsonl")
        self._left = iter(cells)
        self._going: list[CellResult] = []
        self.go_on(GOING)
        self.go_on(count // 2)

    def go_on(self, many: int = GOING) -> None:
        """End the cells that are going, and begin others; all but the last of them end at once."""
        for one in self._going:
            self._end(one)
        begun = [one for one, _ in zip(self._left, range(many), strict=False)]
        for one in begun[:-GOING]:
            self._end(one)
        self._going = begun[-GOING:]
        for one in self._going:
            self._begin(one)

    def _begin(self, one: CellResult) -> None:
        mark_started(self.folder, one.folder)
        picture = self.folder / one.folder / "attempt-1" / "step-1.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(self._picture)
        frame = FilmFrame(picture="attempt-1/step-1.png", moment="step", step_index=1, at_ms=900)
        so_far = SoFar(attempt="attempt-1", code="", log="", steps=(), film=(frame,))
        replace_text(self.folder / one.folder / SO_FAR_FILE, compact_json(plain(so_far)))
        self._progress.emit(one.case_id, "stage", "execute", one.folder)

    def _end(self, one: CellResult) -> None:
        save_cell(self.folder, one.model_copy(update={"reason": REASON}))
        self._progress.emit(one.case_id, "end", one.outcome, one.folder)


class Row(NamedTuple):
    """The numbers of one size."""

    cells: int
    first_look_s: float
    page_s: float
    sent_mb: float
    look_ms: float
    change_ms: float


def measured(browser: Browser, folder: Path, count: int) -> Row:
    """Make a run, show it, and let it go on."""
    made_up = MadeUpRun(folder, count)
    began = time.perf_counter()
    followed = FollowedRun(folder)
    followed.look()
    first_look = time.perf_counter() - began
    sent = len(json.dumps(followed.snapshot().content)) / 1e6
    with ViewServer(followed) as server:
        serve_in_thread(server)
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(server.address)
        # The grid draws the rows near the view, once it knows all cells.
        page.locator(".square").first.wait_for()
        page_s = time.perf_counter() - began
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        looks, changes = zip(*_seconds(made_up, session), strict=True)
        server.closed.set()
        server.shutdown()
        page.close()
    return Row(count, first_look, page_s, sent, median(looks) * 1000, median(changes) * 1000)


def _seconds(made_up: MadeUpRun, session: CDPSession) -> Iterator[tuple[float, float]]:
    """Let the run go on; yield the processor time of the server and of the page for each second."""
    for _ in range(SECONDS):
        made_up.go_on()
        before, tasks = time.process_time(), _tasks(session)
        time.sleep(1.0)
        yield time.process_time() - before, _tasks(session) - tasks


def _tasks(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[1_000, 10_000])
    asked = parser.parse_args()
    print("| cells | first look, s | page, s | sent, MB | look, ms | change, ms |")
    print("|--:|--:|--:|--:|--:|--:|")
    with sync_playwright() as playwright:
        kind = playwright.chromium
        browser = kind.launch(**launch_args({}, playwright_executable=kind.executable_path))
        for count in asked.cells:
            # The server may touch the folder once more.
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
                row = measured(browser, Path(name), count)
            print(
                f"| {row.cells:,} | {row.first_look_s:.2f} | {row.page_s:.2f} | {row.sent_mb:.2f} "
                f"| {row.look_ms:.0f} | {row.change_ms:.0f} |",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
