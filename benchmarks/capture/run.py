#!/usr/bin/env python3
"""Compare how much of a page is shown to a model, and in how many tokens.

    python benchmarks/capture/run.py --pages admin roundup --forms turns refs
    python benchmarks/capture/run.py --texts FOLDER --json FILE

All tools look at the same pages in one Chromium, through its debugging port. What should be there
is found without any of them, by `truth.js`: what a person sees and a pointer reaches.
`--texts` keeps every listing, what should be there, and what each listing has lost.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.capture.addresses import try_names, try_numbers
from benchmarks.capture.applications import serve_applications
from benchmarks.capture.entries import Entry
from benchmarks.capture.forms import BUDGET, FORMS
from benchmarks.capture.pages import (
    Site,
    free_port,
    installed,
    open_page,
    serve_bundled,
    serve_smallest,
)
from benchmarks.capture.peers import PEERS
from benchmarks.capture.score import COLUMNS, score
from benchmarks.capture.truth import Truth, find_truth
from pytest_autoweb.browser.egress.chromium import system_chromium
from pytest_autoweb.browser.page.numbered_list import numbered_listing
from pytest_autoweb.browser.page.own_world import register_own_world

WINDOW: ViewportSize = {"width": 1280, "height": 900}


@dataclass(frozen=True, slots=True)
class Listing:
    """What one tool shows of one page."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """A tool's result on one page."""

    page: str
    tool: str
    tokens: int
    seconds: float
    present: dict[str, int]
    wanted: dict[str, int]
    lost: list[str]


Read = Callable[[str], Iterable[Entry]]


def list_pages(page: Page, pages: Mapping[str, str], look: Callable[[], str]) -> dict[str, Listing]:
    """List the pages with one tool; what it fails at counts as empty."""
    found: dict[str, Listing] = {}
    for name, address in pages.items():
        open_page(page, address)
        began = time.perf_counter()
        try:
            text = look()
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}", file=sys.stderr)
            text = ""
        found[name] = Listing(text, time.perf_counter() - began)
    return found


def keep_alone(page: Page) -> None:
    """Close the tabs that a tool has opened for itself."""
    for other in page.context.pages:
        if other != page:
            other.close()
    page.bring_to_front()


def listings_of(
    page: Page, port: int, pages: Mapping[str, str], options: argparse.Namespace
) -> dict[str, dict[str, Listing]]:
    """List the pages with all tools, one after the other."""
    made: dict[str, dict[str, Listing]] = {}
    # The others first: they look at the tab in front, and `act` keeps one for its drawings.
    for name in options.peers:
        print(f"{name} {PEERS[name].version(options.peers_from)}", file=sys.stderr)
        keep_alone(page)
        with closing(PEERS[name].attach(options.peers_from.absolute(), port)) as tool:
            keep_alone(page)
            made[name] = list_pages(page, pages, tool.look)
    ours = {
        name: list_pages(page, pages, partial(FORMS[name].show, page)) for name in options.forms
    }
    return ours | made


def tokens_of(text: str) -> int:
    """Count tokens of the encoding cl100k_base, which litellm brings along."""
    folder = installed("litellm") / "litellm_core_utils/tokenizers"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    # Late: it reads where its encodings are when it is imported.
    import tiktoken

    return len(tiktoken.get_encoding("cl100k_base").encode(text, disallowed_special=()))


def row_of(page: str, tool: str, listing: Listing, truth: Truth, read: Read) -> Row:
    """Score one listing."""
    made = score(truth, listing.text, read(listing.text))
    return Row(
        page,
        tool,
        tokens_of(listing.text),
        round(listing.seconds, 4),
        dict(made.present),
        dict(made.wanted),
        made.lost,
    )


def measure(options: argparse.Namespace) -> list[Row]:
    """Look at all pages with all tools."""
    rows: list[Row] = []
    addressed: list[dict[str, Counter[str]]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = Site(folder, stack)
        (serve_smallest if options.smallest else serve_bundled)(site)
        if options.applications:
            serve_applications(site, options.applications.absolute())
        port = free_port()
        page = opened(stack, folder / "profile", port, options.chromium)
        for log_in in site.log_in:
            log_in(page)
        pages = {
            name: url for name, url in site.pages.items() if any(p in name for p in options.pages)
        }
        listings = listings_of(page, port, pages, options)
        readers = {name: form.read for name, form in FORMS.items()}
        readers |= {name: peer.read for name, peer in PEERS.items()}
        for name, url in pages.items():
            open_page(page, url)
            truth = find_truth(page)
            if options.addresses:
                tried = try_page(page, truth)
                print(f"{name}: {tried}", file=sys.stderr)
                addressed.append(tried)
            for tool, listed in listings.items():
                rows.append(row_of(name, tool, listed[name], truth, readers[tool]))
            if options.texts:
                keep(
                    options.texts, name, truth, {t: one[name] for t, one in listings.items()}, rows
                )
    for way in ("names", "numbers"):
        counted = sum((one[way] for one in addressed), Counter())
        if counted:
            print(f"addressed by {way}: {dict(counted)} of {counted.total()}")
    return rows


def try_page(page: Page, truth: Truth) -> dict[str, Counter[str]]:
    """Try the expressions of the brief listing, and the numbers of the numbered one."""
    names = try_names(page, truth, FORMS["turns"].show(page))
    listing = numbered_listing(page, budget_tokens=BUDGET)
    return {"names": names, "numbers": try_numbers(page, truth, listing)}


def opened(stack: ExitStack, profile: Path, port: int, chromium: str | None) -> Page:
    """Return the only tab of a browser that listens on the port."""
    started = stack.enter_context(sync_playwright())
    context = started.chromium.launch_persistent_context(
        profile,
        executable_path=chromium or system_chromium(),
        args=[f"--remote-debugging-port={port}", "--no-sandbox"],
        viewport=WINDOW,
    )
    page = stack.enter_context(closing(context)).pages[0]
    register_own_world(page)
    return page


def keep(
    folder: Path, page: str, truth: Truth, listings: dict[str, Listing], rows: Sequence[Row]
) -> None:
    """Write what should be there, what each tool shows, and what it has lost."""
    own = folder / re.sub(r"\W+", "-", page)
    own.mkdir(parents=True, exist_ok=True)
    (own / "truth.json").write_text(json.dumps(asdict(truth), indent=1, ensure_ascii=False))
    for row in rows:
        if row.page == page:
            stem = re.sub(r"\W+", "-", row.tool)
            (own / f"{stem}.txt").write_text(listings[row.tool].text, encoding="utf-8")
            (own / f"{stem}.lost").write_text("\n".join(row.lost), encoding="utf-8")


def share(rows: Sequence[Row], column: str) -> str:
    """Return how much of one kind of thing is there, in percent."""
    wanted = sum(row.wanted.get(column, 0) for row in rows)
    present = sum(row.present.get(column, 0) for row in rows)
    return f"{100 * present / wanted:.3g}" if wanted else "–"


def tables(rows: Sequence[Row]) -> str:
    """Return tokens and elements by page, and all shares by tool."""
    tools = list(dict.fromkeys(row.tool for row in rows))
    by = {(row.page, row.tool): row for row in rows}
    lines = ["| page | elements | " + " | ".join(tools) + " |", "|---|--:|" + "--:|" * len(tools)]
    for page in dict.fromkeys(row.page for row in rows):
        cells = [by[page, tool] for tool in tools]
        shown = [f"{cell.tokens:,} ({share([cell], 'elements')})" for cell in cells]
        lines.append(f"| {page} | {cells[0].wanted.get('elements', 0)} | {' | '.join(shown)} |")
    lines += ["", "| tool | tokens | " + " | ".join(COLUMNS) + " | ms |"]
    lines.append("|---|--:|" + "--:|" * (len(COLUMNS) + 1))
    for tool in tools:
        own = [row for row in rows if row.tool == tool]
        shares = [share(own, column) for column in COLUMNS]
        ms = 1000 * statistics.median(row.seconds for row in own)
        tokens = sum(row.tokens for row in own)
        lines.append(f"| {tool} | {tokens:,} | {' | '.join(shares)} | {ms:.0f} |")
    first = [row for row in rows if row.tool == tools[0]]
    counts = [str(sum(row.wanted.get(column, 0) for row in first)) for column in COLUMNS]
    return "\n".join([*lines, f"| *how many* | | {' | '.join(counts)} | |"])


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--chromium", help="path of the browser")
    parser.add_argument("--pages", nargs="*", default=[""], help="parts of the names of pages")
    parser.add_argument("--applications", type=Path, help="an environment, see applications.py")
    parser.add_argument("--smallest", action="store_true", help="the smallest pages of losses")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--peers", nargs="*", default=[], choices=list(PEERS))
    parser.add_argument("--peers-from", type=Path, help="where they are installed, see peers.py")
    parser.add_argument("--addresses", action="store_true", help="try what is listed on the page")
    parser.add_argument("--texts", type=Path, help="a folder for the listings and their losses")
    parser.add_argument("--json", type=Path, help="a file for the results")
    options = parser.parse_args()
    rows = measure(options)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(tables(rows))


if __name__ == "__main__":
    sys.setrecursionlimit(5_000)
    main()
