#!/usr/bin/env python3
"""Read the numbers of marked pictures back with tesseract, and time the marking.

    python benchmarks/marks.py
    python benchmarks/marks.py --groups town django --json out.json --keep pictures/

Needs `tesseract` (Debian: `tesseract-ocr`) and the extra `demo`. Documentation pages are taken from
the folders given with `--docs`, or from Debian's packages `python3.11-doc`, `python-flask-doc`,
`python-django-doc` and `libjs-bootstrap5-doc` where they are installed; others are left out.

A number counts as read when tesseract finds a word that is exactly this number, or this number in
brackets, where its label stands. Precision is the share of right ones among all words found on
labels. Three readings are reported, each of one whole picture:

- as it is;
- the brightest colour channel, enlarged twice: a plain grey picture for an engine made for scans;
- the labels alone, enlarged twice: every place that does not have the labels' yellow is white.
  It is found by its colour; the reader does not know where the labels are.
"""

import argparse
import base64
import csv
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from pytest_autoweb.browser.chromium import launch_args
from pytest_autoweb.browser.marks import MarkedPage, find_marks, mark_page
from pytest_autoweb.browser.marks_board import draw

ROOT = Path(__file__).parent.parent
LIMIT = 60
TASKS = (
    "click-button",
    "click-checkboxes-large",
    "click-link",
    "click-option",
    "click-tab-2-hard",
    "click-test-2",
    "click-button-sequence",
    "choose-date",
    "choose-list",
    "copy-paste-2",
    "email-inbox",
    "enter-date",
    "enter-password",
    "enter-text-2",
    "focus-text-2",
    "login-user-popup",
    "search-engine",
    "use-autocomplete",
    "use-slider-2",
    "drag-items-grid",
)
TOWN = ("events", "mail", "news", "notices", "report", "shop", "tickets")
ADMIN = (
    "",
    "auth/user/",
    "auth/user/?q=stone",
    "auth/user/2/change/",
    "auth/user/add/",
    "auth/group/",
    "auth/group/add/",
    "password_change/",
)
DOCS = {
    "python": ("/usr/share/doc/python3.11/html", "index library/re contents genindex-A"),
    "flask": ("/usr/share/doc/python-flask-doc/html", "index quickstart api"),
    "django": ("/usr/share/doc/python-django-doc/html", "index intro/tutorial01 ref/settings"),
    "bootstrap": (
        "/usr/share/doc/libjs-bootstrap5/examples",
        "album/index checkout/index dropdowns/index headers/index list-groups/index"
        " navbars/index pricing/index sidebars/index",
    ),
}
ZOOM = 2
_BRACKETS = "[](){}|"


class Reading(NamedTuple):
    """What was read on the labels of one picture."""

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
    yellow: Reading


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def guess_type(self, path: Any) -> str:
        """All texts are UTF-8."""
        kind = super().guess_type(path)
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder's pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def admin() -> Iterator[str]:
    """The address of a Django admin site with its staff list."""
    with served(ROOT) as taken:
        port = int(taken.rstrip("/").rpartition(":")[2])
    with tempfile.TemporaryDirectory() as data:
        script = str(ROOT / "cases/apps/django_admin.py")
        command = [sys.executable, script, "--port", str(port), "--data", data]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.kill()
            process.wait()


def miniwob_pages(page: Page) -> Iterator[str]:
    import miniwob

    with served(Path(str(miniwob.__file__)).parent / "html") as url:
        for task in TASKS:
            page.goto(f"{url}miniwob/{task}.html")
            page.evaluate((ROOT / "benchmarks/episode.js").read_text().replace("__SEED__", "1"))
            yield task


def town_pages(page: Page) -> Iterator[str]:
    with served(ROOT / "cases/apps/town") as url:
        for name in TOWN:
            page.goto(f"{url}{name}.html", wait_until="networkidle")
            yield name


def admin_pages(page: Page) -> Iterator[str]:
    with admin() as url:
        page.goto("about:blank")
        session = {"name": "sessionid", "value": "demo0session0of0the0administrator", "url": url}
        page.context.add_cookies([session])  # type: ignore[list-item]
        _until_up(page, url)
        for path in ADMIN:
            page.goto(f"{url}admin/{path}")
            yield path or "start"


def _until_up(page: Page, url: str) -> None:
    for _ in range(100):
        try:
            page.goto(f"{url}admin/")
        except Exception:
            time.sleep(0.2)
        else:
            return


def docs_pages(page: Page, folder: Path, names: Sequence[str]) -> Iterator[str]:
    with served(folder) as url:
        for name in names:
            if not (folder / f"{name}.html").exists():
                continue
            page.goto(f"{url}{name}.html")
            yield name
            if page.evaluate("document.documentElement.scrollHeight > 2 * innerHeight"):
                page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
                yield f"{name} (half way)"


def all_pages(page: Page, groups: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name, pages in (("miniwob", miniwob_pages), ("town", town_pages), ("admin", admin_pages)):
        if name in groups:
            yield from ((name, shown) for shown in pages(page))
    for name, (folder, names) in DOCS.items():
        if f"docs-{name}" in groups and Path(folder).is_dir():
            shown = docs_pages(page, Path(folder), names.split())
            yield from ((f"docs-{name}", page_name) for page_name in shown)


def words_in(picture: bytes) -> list[tuple[str, tuple[float, float, float, float]]]:
    """The words that tesseract finds, with their boxes."""
    command = ["tesseract", "stdin", "stdout", "--psm", "11", "tsv"]
    done = subprocess.run(command, input=picture, capture_output=True, check=True, env=_ONE_THREAD)
    rows = csv.DictReader(
        io.StringIO(done.stdout.decode("utf-8")), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    found = []
    for row in rows:
        if row["text"] and row["text"].strip():
            x, y, w, h = (float(row[key]) for key in ("left", "top", "width", "height"))
            found.append((row["text"].strip(), (x, y, x + w, y + h)))
    return found


_ONE_THREAD = {"OMP_THREAD_LIMIT": "1", "PATH": "/usr/bin:/bin:/usr/local/bin"}


def reading(marked: MarkedPage, picture: bytes, zoom: float) -> Reading:
    """Compare what tesseract reads with what stands there."""
    words = words_in(picture)
    read = seen = right = labels = 0
    for mark, label in zip(marked.marks, marked.labels, strict=True):
        if label is None:
            continue
        labels += 1
        box = tuple(side * zoom for side in label)
        here = [text.strip(_BRACKETS) for text, place in words if _share(place, box) > 0.5]
        seen += len(here)
        right += here.count(str(mark.number))
        read += str(mark.number) in here
    return Reading(labels, read, seen, right)


def _share(place: Sequence[float], box: Sequence[float]) -> float:
    """How much of a word lies on a label."""
    wide = min(place[2], box[2]) - max(place[0], box[0])
    high = min(place[3], box[3]) - max(place[1], box[1])
    whole = (place[2] - place[0]) * (place[3] - place[1])
    return wide * high / whole if wide > 0 and high > 0 and whole > 0 else 0.0


def prepared(board: Page, picture: bytes, how: str) -> bytes:
    """The picture, enlarged, made ready to be read: `bright` or `yellow`."""
    code = (Path(__file__).parent / "marks_reading.js").read_text(encoding="utf-8")
    text = board.evaluate(code, [base64.b64encode(picture).decode(), ZOOM, how])
    return base64.b64decode(text)


def measured(page: Page, board: Page, groups: Sequence[str], keep: Path | None) -> list[Result]:
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
            pictures = [(marked.picture, 1)] + [
                (prepared(board, marked.picture, how), ZOOM) for how in ("bright", "yellow")
            ]
            reads = [pool.submit(reading, marked, png, zoom) for png, zoom in pictures]
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
    """Milliseconds, medians, of a page with 200 elements: with room between them, or without."""
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    cells = "".join(f"<a href='/item/{n}'>Item {n}</a><button>Buy {n}</button>" for n in range(100))
    gaps = "28px 44px" if spaced else "0"
    page.set_content(
        f"<div style='display: grid; gap: {gaps}; grid-template-columns: repeat(10, auto);"
        f" justify-content: start; padding: 20px'>{cells}</div>"
    )
    times: dict[str, list[float]] = {"find": [], "screenshot": [], "draw": [], "mark_page": []}
    count = 0
    for _ in range(rounds):
        with timed(times["find"]):
            handle, seen, marks = find_marks(page)
            listed = "\n".join(f"[{mark.number}] {mark.role} {mark.text}" for mark in marks)
        count = len(listed.splitlines())
        handle.dispose()
        with timed(times["screenshot"]):
            shot = page.screenshot(caret="initial", animations="disabled")
        shapes = [
            {**shape, "number": n, "failed": False} for n, shape in enumerate(seen["marks"], 1)
        ]
        with timed(times["draw"]):
            draw(page, shot, marks=shapes, hidden=(), page_text=seen["page"], port=seen["port"])
        with timed(times["mark_page"]):
            mark_page(page).listing()
    page.context.close()
    return {"elements": count, **{k: 1000 * statistics.median(v) for k, v in times.items()}}


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
        "| pages | pictures | marks | as it is | brightest channel | labels alone |",
        "|---|---|---|---|---|---|",
    ]
    for group in (*dict.fromkeys(result.group for result in results), "all"):
        rows = [result for result in results if group in (result.group, "all")]
        cells = [
            "{:.3f} / {:.3f}".format(*total([getattr(row, how) for row in rows]))
            for how in ("plain", "bright", "yellow")
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
    with sync_playwright() as playwright:
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(**found)
        context = browser.new_context(
            viewport={"width": 1280, "height": 720}, device_scale_factor=options.scale
        )
        board = browser.new_context().new_page()
        results = measured(context.new_page(), board, options.groups, options.keep)
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
        print(name, json.dumps({key: round(value, 1) for key, value in parts.items()}))
    if options.json:
        pages = [asdict(result) for result in results]
        options.json.write_text(json.dumps({"pages": pages, "times": times}, indent=1))


if __name__ == "__main__":
    main()
