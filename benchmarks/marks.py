#!/usr/bin/env python3
"""Read the numbers of marked pictures back with tesseract, and time the marking.

    python benchmarks/marks.py
    python benchmarks/marks.py --groups town django --json out.json --keep pictures/

Needs `tesseract` (Debian: `tesseract-ocr`) and the extras `demo` and `testing`. Documentation is
taken from Debian's packages `python3.11-doc`, `python-flask-doc`, `python-django-doc` and
`libjs-bootstrap5-doc` where they are installed; others are left out.

A number counts as read when tesseract finds a word that is exactly this number, or this number in
brackets, where its label stands. Precision is the share of right ones among all words found on
labels. No reading is told where the labels are. Three are reported, each with `--psm 11` (sparse
text) of one whole picture:

- as it is;
- the brightest colour channel, enlarged twice: a plain grey picture for an engine made for scans;
- dark things only, enlarged twice and thrice: where the brightest channel is above 64 of 255,
  the picture is white, else black. Of words that both find in one place the one stays of which
  tesseract is surer.
"""

import argparse
import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from operator import truediv
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.marks_pages import DOCS, all_pages
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.marks.drawing import decoded_picture, draw
from pytest_autoweb.browser.marks.marking import MarkedPage, find_marks, mark_page

LIMIT = 60
DARK = 64
WAYS = ((("bright", 2),), (("dark", 2), ("dark", 3)))
_BRACKETS = "[](){}|"


class Word(NamedTuple):
    """A word as tesseract recognised it."""

    text: str
    box: tuple[float, float, float, float]
    """The left, top, right and bottom edges, in pixels of the marked picture."""
    surety: float


class Reading(NamedTuple):
    """The reading of the labels of one picture."""

    labels: int
    read: int
    words: int
    right: int


@dataclass(frozen=True)
class Result:
    """One marked page."""

    group: str
    page: str
    marks: int
    unplaced: int
    plain: Reading
    bright: Reading
    dark: Reading


def words_in(picture: bytes, zoom: int) -> list[Word]:
    """Return the words that tesseract finds in a picture that was enlarged."""
    command = ["tesseract", "stdin", "stdout", "--psm", "11", "tsv"]
    done = subprocess.run(command, input=picture, capture_output=True, check=True, env=_ONE_THREAD)
    rows = csv.DictReader(
        io.StringIO(done.stdout.decode("utf-8")), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    found = []
    for row in rows:
        if row["text"] and row["text"].strip():
            x, y, w, h = (float(row[key]) / zoom for key in ("left", "top", "width", "height"))
            found.append(Word(row["text"].strip(), (x, y, x + w, y + h), float(row["conf"])))
    return found


_ONE_THREAD = {"OMP_THREAD_LIMIT": "1", "PATH": "/usr/bin:/bin:/usr/local/bin"}


def reading(marked: MarkedPage, pictures: Sequence[tuple[bytes, int]]) -> Reading:
    """Compare what tesseract reads in the pictures, all of one page, with what stands there."""
    words = surest([word for picture, zoom in pictures for word in words_in(picture, zoom)])
    read = seen = right = labels = 0
    for mark, label in zip(marked.marks, marked.labels, strict=True):
        if label is None:
            continue
        labels += 1
        here = [word.text.strip(_BRACKETS) for word in words if _share(word.box, label) > 0.5]
        seen += len(here)
        right += here.count(str(mark.number))
        read += str(mark.number) in here
    return Reading(labels, read, seen, right)


def surest(words: Sequence[Word]) -> list[Word]:
    """Return, of words in the same place, the one of which tesseract is surest."""
    kept: list[Word] = []
    for word in sorted(words, key=lambda word: -word.surety):
        if not any(max(_share(word.box, k.box), _share(k.box, word.box)) > 0.5 for k in kept):
            kept.append(word)
    return kept


def _share(place: Sequence[float], box: Sequence[float]) -> float:
    """Return how much of a word lies in a box."""
    wide = min(place[2], box[2]) - max(place[0], box[0])
    high = min(place[3], box[3]) - max(place[1], box[1])
    whole = (place[2] - place[0]) * (place[3] - place[1])
    return wide * high / whole if wide > 0 and high > 0 and whole > 0 else 0.0


def prepared(picture: bytes, ways: Sequence[tuple[str, int]]) -> list[tuple[bytes, int]]:
    """Prepare the picture for reading in each way, and return how much it was enlarged."""
    return [(_prepared(picture, how, zoom), zoom) for how, zoom in ways]


def _prepared(picture: bytes, how: str, zoom: int) -> bytes:
    shown = Image.open(io.BytesIO(picture)).convert("RGB")
    large = shown.resize((shown.width * zoom, shown.height * zoom), Image.Resampling.BICUBIC)
    grey = reduce(ImageChops.lighter, large.split())
    if how == "dark":
        grey = grey.point([255 * (level > DARK) for level in range(256)])
    made = io.BytesIO()
    grey.save(made, "PNG", compress_level=1)
    return made.getvalue()


def measured(page: Page, groups: Sequence[str], keep: Path | None) -> list[Result]:
    """Mark every page and read it back, two pictures at once."""
    waiting = []
    with ThreadPoolExecutor(2) as pool:
        for group, name in all_pages(page, groups):
            marked = mark_page(page, limit=LIMIT)
            if not marked.marks:
                continue
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                safe = "".join(char if char.isalnum() else "-" for char in f"{group}-{name}")
                (keep / f"{safe}.png").write_bytes(marked.picture)
            pictures = [[(marked.picture, 1)], *(prepared(marked.picture, w) for w in WAYS)]
            reads = [pool.submit(reading, marked, made) for made in pictures]
            waiting.append((group, name, marked, reads))
        return [
            Result(
                group,
                name,
                len(marked.marks),
                marked.labels.count(None),
                *(read.result() for read in reads),
            )
            for group, name, marked, reads in waiting
        ]


def timing(browser: Browser, rounds: int, *, spaced: bool) -> dict[str, float]:
    """Measure a page with 200 elements, spaced out or not, in median milliseconds."""
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    cells = "".join(f"<a href='/item/{n}'>Item {n}</a><button>Buy {n}</button>" for n in range(100))
    gaps = "28px 44px" if spaced else "0"
    page.set_content(
        f"<div style='display: grid; gap: {gaps}; grid-template-columns: repeat(10, auto);"
        f" justify-content: start; padding: 20px'>{cells}</div>"
    )
    times: dict[str, list[float]] = {
        key: [] for key in ("find", "screenshot", "find_and_draw", "mark_page")
    }
    count = 0
    for _ in range(rounds):
        with timed(times["find"]):
            handle, _, marks = find_marks(page)
            listed = "\n".join(f"[{mark.number}] {mark.role} {mark.text}" for mark in marks)
        handle.dispose()
        with timed(times["screenshot"]):
            shot = page.screenshot(caret="initial", animations="disabled")
        with timed(times["find_and_draw"]), decoded_picture(page, shot) as picture:
            handle, seen, _ = find_marks(page)
            shapes = [
                {**shape, "number": n, "failed": False} for n, shape in enumerate(seen["marks"], 1)
            ]
            draw(page, picture, marks=shapes, hidden=(), page_text=seen["page"], port=seen["port"])
        handle.dispose()
        with timed(times["mark_page"]):
            mark_page(page).listing()
        count = len(listed.splitlines())
    page.context.close()
    ratios = map(truediv, times["find_and_draw"], times["screenshot"])
    return {
        "elements": count,
        **{key: 1000 * statistics.median(kept) for key, kept in times.items()},
        "find_and_draw_to_screenshot": statistics.median(ratios),
    }


@contextmanager
def timed(kept: list[float]) -> Iterator[None]:
    """Keep how long the body took, in seconds."""
    start = time.perf_counter()
    yield
    kept.append(time.perf_counter() - start)


def total(readings: Sequence[Reading]) -> tuple[float, float]:
    """Recall and precision over pictures."""
    labels, read = sum(r.labels for r in readings), sum(r.read for r in readings)
    words, right = sum(r.words for r in readings), sum(r.right for r in readings)
    return read / max(labels, 1), right / max(words, 1)


def table(results: Sequence[Result]) -> str:
    """Recall / precision of each reading, by group of pages."""
    lines = [
        "| pages | pictures | marks | as it is | brightest channel | dark things only |",
        "|---|---|---|---|---|---|",
    ]
    for group in (*dict.fromkeys(result.group for result in results), "all"):
        rows = [result for result in results if group in (result.group, "all")]
        cells = [
            "{:.3f} / {:.3f}".format(*total([getattr(row, how) for row in rows]))
            for how in ("plain", "bright", "dark")
        ]
        marks = sum(row.marks for row in rows)
        lines.append(f"| {group} | {len(rows)} | {marks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    names = ["miniwob", "town", "admin", *(f"docs-{name}" for name in DOCS)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", nargs="*", default=names, choices=names)
    parser.add_argument("--rounds", type=int, default=15, help="of the timing")
    parser.add_argument("--scale", type=float, default=1, help="device pixels for a CSS pixel")
    parser.add_argument("--keep", type=Path, help="a folder for the pictures")
    parser.add_argument("--json", type=Path, help="a file for all numbers")
    parser.add_argument("--each", action="store_true", help="print every page")
    options = parser.parse_args()
    if options.groups and not shutil.which("tesseract"):
        parser.error("tesseract is missing: install it, or give `--groups` alone to time only")
    with sync_playwright() as playwright:
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(**found)
        context = browser.new_context(
            viewport={"width": 1280, "height": 720}, device_scale_factor=options.scale
        )
        results = measured(context.new_page(), options.groups, options.keep)
        times = {
            name: timing(browser, options.rounds, spaced=name == "spaced")
            for name in ("spaced", "dense")
            if options.rounds
        }
        browser.close()
    if options.each:
        for result in results:
            print(result)
    print(table(results))
    print(f"not placed: {sum(result.unplaced for result in results)}")
    for name, parts in times.items():
        print(name, json.dumps({key: round(value, 2) for key, value in parts.items()}))
    print("load of the machine (1, 5, 15 minutes):", *(round(load, 1) for load in os.getloadavg()))
    if options.json:
        pages = [asdict(result) for result in results]
        options.json.write_text(json.dumps({"pages": pages, "times": times}, indent=1))


if __name__ == "__main__":
    main()
