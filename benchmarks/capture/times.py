#!/usr/bin/env python3
"""Measure how long one look at a page takes, and what takes it.

    python benchmarks/capture/times.py --looks 9

Each page is looked at several times; the numbers are medians in milliseconds of the wall clock:
the whole look, Playwright's own snapshot alone, the script that walks through the page, and the
text made of it. The first look at a document is longer, since the scripts are parsed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.capture.pages import HEAD, Site, free_port, open_page, serve_bundled, serve_files
from benchmarks.capture.run import opened
from pytest_autoweb.browser.page import page_tree
from pytest_autoweb.browser.page.brief_listing import brief_outline
from pytest_autoweb.browser.page.numbered_list import numbered_listing
from pytest_autoweb.browser.page.outline import Folds, fit_outline

BUDGET = 10_000
ROWS = (100, 1_000)
COLUMNS = ("whole", "first", "snapshot", "script", "text")


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


def times_of(page: Page, looks: int) -> dict[str, float]:
    """Return the medians of one page."""

    def whole() -> None:
        numbered_listing(page, budget_tokens=BUDGET, folds=Folds())

    def text() -> None:
        fit_outline(brief_outline(page_tree.read_page(page)), BUDGET, Folds())

    first = milliseconds(whole)
    found: dict[str, list[float]] = {name: [] for name in COLUMNS if name != "first"}
    for _ in range(looks):
        found["whole"].append(milliseconds(whole))
        found["snapshot"].append(
            milliseconds(lambda: page.locator("body").aria_snapshot(mode="ai"))
        )
        began = time.perf_counter()
        read = milliseconds(lambda: page_tree.read_page(page))
        found["script"].append(read)
        found["text"].append(milliseconds(text) - read)
        assert time.perf_counter() > began
    return {"first": first, **{name: statistics.median(one) for name, one in found.items()}}


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
