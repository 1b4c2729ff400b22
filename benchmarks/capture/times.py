#!/usr/bin/env python3
"""Measure how long one look at a page takes, and what takes it.

    python benchmarks/capture/times.py --looks 9

Each page is looked at several times. `whole` is the median in milliseconds of the wall clock, and
`first` that of the first look at a document, for which the scripts are parsed. `cpu` is the mean of
what a look takes of the processors, in Python, Playwright's driver and Chromium together, which
others on the machine change less; `snapshot` and `full snapshot` are what Playwright's own snapshot
of the whole page takes of them, without its text and with it. The last pages are of one kind in
several lengths, and both of them in frames.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
from playwright.sync_api import Page

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.capture.pages import HEAD, Site, free_port, open_page, serve_bundled, serve_files
from benchmarks.capture.run import opened
from pytest_autoweb.browser.page.numbered_list import numbered_listing
from pytest_autoweb.browser.page.outline import Folds

BUDGET = 10_000
ROWS = (100, 1_000)
FRAMED = "".join(f"<iframe title={rows} src={rows}.html height=400></iframe>" for rows in ROWS)
COLUMNS = ("first", "whole", "cpu", "snapshot", "full snapshot")


def long_page(rows: int) -> str:
    """Return a table, as applications show records: two controls and five cells a row."""
    made = "".join(
        f"<tr><td><input type=checkbox aria-label='Choose {row}'><td>INV-{row}<td>Ann {row}"
        f"<td>{row * 7 % 1000}.50<td><span class=tag>open</span><td><a href='/i/{row}'>Details</a>"
        for row in range(rows)
    )
    return f"{HEAD}<title>{rows} rows</title><h1>Invoices</h1><table>{made}</table>"


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def processors_ms() -> float:
    """Return what this process and all below it have taken of the processors."""
    own = psutil.Process()
    taken = 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):
            spent = process.cpu_times()
            taken += spent.user + spent.system
    return 1000 * taken


def taken_by(call: Callable[[], object], looks: int) -> float:
    """Return the mean of what a call takes of the processors."""
    before = processors_ms()
    for _ in range(looks):
        call()
    return (processors_ms() - before) / looks


def times_of(page: Page, looks: int) -> dict[str, float]:
    """Return the times of one page."""

    def whole() -> None:
        numbered_listing(page, budget_tokens=BUDGET, folds=Folds())

    def snapshot() -> None:
        page.aria_snapshot(mode="ai", depth=1)

    def full_snapshot() -> None:
        page.aria_snapshot(mode="ai")

    return {
        "first": milliseconds(whole),
        "whole": statistics.median(milliseconds(whole) for _ in range(looks)),
        "cpu": taken_by(whole, looks),
        "snapshot": taken_by(snapshot, looks),
        "full snapshot": taken_by(full_snapshot, looks),
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--chromium", help="path of the browser")
    parser.add_argument("--pages", nargs="*", default=[""], help="parts of the names of pages")
    parser.add_argument("--looks", type=int, default=9)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(folder, stack)
        serve_bundled(site)
        tree = site.data("long")
        url = serve_files(site, tree)
        for rows in ROWS:
            (tree / f"{rows}.html").write_text(long_page(rows), encoding="utf-8")
            site.pages[f"{rows} rows"] = f"{url}{rows}.html"
        (tree / "framed.html").write_text(f"{HEAD}<h1>Invoices</h1>{FRAMED}", encoding="utf-8")
        site.pages["two frames"] = f"{url}framed.html"
        page = opened(stack, folder / "profile", free_port(), options.chromium)
        for log_in in site.log_in:
            log_in(page)
        print("| page | " + " | ".join(COLUMNS) + " |\n|---|" + "--:|" * len(COLUMNS))
        for name, address in site.pages.items():
            if any(part in name for part in options.pages):
                open_page(page, address)
                found = times_of(page, options.looks)
                print(
                    f"| {name} | " + " | ".join(f"{found[one]:.0f}" for one in COLUMNS) + " |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
