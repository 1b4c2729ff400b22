"""What the report of a large run costs to build, to open and to use; the cells are made up.

    python benchmarks/report.py --cells 1000 10000 50000 --json report.json

Saves a run of that many cells (10 models; as large as the demo's: 24 kB of JSON and five pictures
of 20 kB each, a fifth of them failed or repaired), builds its report in a process of its own, and
opens it from disk in Chromium. `--from DIR` takes the cells of a real run as samples instead, and
`--source DIR` builds with another checkout of the package, for numbers of before a change.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.results.records import Attempt, CellResult, Exchange, Snapshot
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.results.runs.saving import CELL_FILE, json_text, save_manifest, save_run_info

# ruff: noqa: E402 (the folder of the imports below is known only here)
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from made_up_run import CellKey, planned, realistic_cells, run_info

MODELS = 10
PICTURE_BYTES = 20_000
OPENED = 12
"""The number of cells that are opened, spread over the whole run."""
WORDS = ("the", "page", "shows", "button", "field", "order", "total", "invoice", "account", "row")

LINE = (
    "{cells:7} {build_s:8.1f} {peak_mb:8.0f} {index_mb:9.1f} {parts_mb:9.1f}"
    " {first_paint_s:14.2f} {ready_s:8.2f} {filter_s:9.3f} {open_s:7.3f}"
)

BUILD = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
began = time.perf_counter()
from pytest_autoweb.report.write import write_report
write_report(Path(sys.argv[2]), max_chars=8_000_000)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"build_s": time.perf_counter() - began, "peak_mb": peak}))
"""

FRAME = "requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0))"
FILTER = f"""words => new Promise(done => {{
  const input = document.querySelector('input[type=search]');
  const status = document.querySelector('.heading [role=status]');
  const began = performance.now();
  const drawn = new MutationObserver(() => {{ drawn.disconnect(); {FRAME} }});
  drawn.observe(status, {{childList: true}});
  input.value = words;
  input.dispatchEvent(new Event('input'));
}})"""
OPEN = f"""anchor => new Promise(done => {{
  const began = performance.now();
  const look = () => document.querySelector('#detail[open] .checks, #detail[open] .part')
    ? {FRAME} : setTimeout(look, 1);
  location.hash = anchor;
  look();
}})"""
PAINT = """() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  return paint ? paint.startTime / 1000 : null;
}"""


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--from", dest="samples", type=Path, help="a run folder")
    parser.add_argument("--source", type=Path, default=ROOT, help="a checkout of the package")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the runs in this folder")
    order = parser.parse_args()
    samples = samples_of(order.samples)
    rows = []
    print("  cells  build s  peak MB  index MB  parts MB  first paint s  ready s  filter s  open s")
    with sync_playwright() as playwright:
        kind = playwright.chromium
        browser = kind.launch(**launch_args({}, playwright_executable=kind.executable_path))
        for cells in order.cells:
            with folder_for(order.keep, cells) as place:
                folder = Path(place)
                anchors = save_made_up_run(folder, samples, cells)
                row = {"cells": cells, **build(folder, order.source), **sizes(folder)}
                row |= look(browser, folder, anchors)
            rows.append(row)
            print(LINE.format(**row), flush=True)
        browser.close()
    if order.json:
        order.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def folder_for(keep: Path | None, cells: int) -> AbstractContextManager[Any]:
    """Return a context with the path of an empty folder."""
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="autoweb-report-")
    shutil.rmtree(keep / str(cells), ignore_errors=True)
    (keep / str(cells)).mkdir(parents=True)
    return nullcontext(keep / str(cells))


def samples_of(run: Path | None) -> list[CellResult]:
    """Return the cells that all others are copies of: those of a run, or made-up ones."""
    found = list(read_run(run).cells) if run else realistic_cells()
    found = [cell for cell in found if not cell.model.startswith("builtin/")]
    if run:
        return found
    chance = random.Random(5)
    return [
        cell.model_copy(update={"attempts": tuple(with_texts(a, chance) for a in cell.attempts)})
        for cell in found
    ]


def with_texts(attempt: Attempt, chance: random.Random) -> Attempt:
    """Return the attempt with prompts, replies and pages as long as recorded ones."""

    def text(chars: int) -> str:
        words = " ".join(chance.choice(WORDS) for _ in range(chars // 5))
        return words.replace(" row ", "\n- row ")

    exchanges = (
        Exchange(stage=each.stage, prompt=text(5000), reply=text(600), usage=each.usage)
        for each in attempt.exchanges
    )
    snapshots = (
        Snapshot(**{**each.model_dump(), "text": text(2500)}) for each in attempt.snapshots
    )
    return attempt.model_copy(update={"exchanges": tuple(exchanges), "snapshots": tuple(snapshots)})


def save_made_up_run(folder: Path, samples: list[CellResult], count: int) -> list[str]:
    """Save a run of 10 models; return the anchors of some of its cells."""
    chance = random.Random(3)
    pictures = save_pictures(folder.parent)
    cells = []
    for number in range(count):
        key = CellKey(f"case-{number // MODELS:04}", f"vendor/model-{number % MODELS}")
        update = {"case_id": key.case_id, "model": key.model, "folder": key.folder, "repeat": 1}
        cell = chance.choice(samples).model_copy(update=update)
        place = folder / cell.folder
        place.mkdir(parents=True)
        (place / CELL_FILE).write_text(json_text(cell), encoding="utf-8")
        for path in pictures_of(cell):
            (place / path).parent.mkdir(exist_ok=True)
            os.link(chance.choice(pictures), place / path)
        cells.append(cell.model_copy(update={"attempts": ()}))
    save_manifest(folder, map(planned, cells))
    save_run_info(folder, run_info(cells))
    step = max(1, count // OPENED)
    return [cell.folder.removeprefix("cells/") for cell in cells[step // 2 :: step]][:OPENED]


def pictures_of(cell: CellResult) -> set[str]:
    """Return the paths of the cell's screenshots, below its folder."""
    found: set[str | None] = set()
    for attempt in cell.attempts:
        found |= {step.screenshot for step in attempt.step_results}
        found |= {attempt.final_screenshot, attempt.scene.screenshot if attempt.scene else None}
    return {path for path in found if path}


def save_pictures(folder: Path) -> list[Path]:
    """Save some pictures of the usual size, to be linked and not copied."""
    chance, saved = random.Random(11), []
    for number in range(8):
        path = folder / f"autoweb-picture-{number}.png"
        path.write_bytes(noise(chance))
        saved.append(path)
    return saved


def noise(chance: random.Random, width: int = 320, height: int = 200) -> bytes:
    """Return a PNG picture of grey noise that takes up about `PICTURE_BYTES`."""
    # Noise hardly shrinks, so its share of the rows decides the size.
    noisy = PICTURE_BYTES // width
    rows = b"".join(b"\x00" + (chance.randbytes(width) if y < noisy else b"\xe0" * width)
                    for y in range(height))  # fmt: skip

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def build(folder: Path, source: Path) -> dict[str, float]:
    """Build the report in a process of its own; return its seconds and its peak memory."""
    command = [sys.executable, "-c", BUILD, str(source.resolve()), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=source)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def sizes(folder: Path) -> dict[str, float]:
    """Return the megabytes of the page and of what it loads from beside it, pictures apart."""
    parts = sum(path.stat().st_size for path in (folder / "details").glob("*"))
    return {
        "index_mb": (folder / "index.html").stat().st_size / 1e6,
        "parts_mb": parts / 1e6,
        "cells_mb": sum(p.stat().st_size for p in folder.glob(f"cells/*/*/*/{CELL_FILE}")) / 1e6,
    }


def look(browser: Browser, folder: Path, anchors: list[str]) -> dict[str, float]:
    """Open the page, filter it and open some cells; return the seconds, medians of several."""
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri(), timeout=300_000)
    page.locator(".matrix button.cell").first.wait_for(timeout=300_000)
    ready = page.evaluate("performance.now() / 1000")
    page.wait_for_function(PAINT)
    first_paint = page.evaluate(PAINT)
    words = ("s:failed", "m:model-3", "case-01", "s:broken !case-02", "")
    filtered = [page.evaluate(FILTER, text) for text in words]
    opened = [open_cell(page, anchor) for anchor in anchors]
    page.close()
    return {
        "first_paint_s": first_paint,
        "ready_s": ready,
        "filter_s": statistics.median(filtered) / 1000,
        "filter_worst_s": max(filtered) / 1000,
        "open_s": statistics.median(opened) / 1000,
        "open_worst_s": max(opened) / 1000,
    }


def open_cell(page: Page, anchor: str) -> float:
    """Return the milliseconds until a cell's details are painted; close it again."""
    took: float = page.evaluate(OPEN, anchor)
    page.keyboard.press("Escape")
    page.locator("#detail[open]").wait_for(state="hidden")
    return took


if __name__ == "__main__":
    main()
