#!/usr/bin/env python3
"""Compare waiting until a page is quiet with Playwright's `networkidle`.

    python benchmarks/quiet.py
    python benchmarks/quiet.py --rounds 20 --pages fetch click --json quiet.json
    python benchmarks/quiet.py --ways new

Each page of `quiet_pages.py` comes late in another way. It is opened in a fresh context, waited for
in the old way or in the new one, and asked whether what is late is there; with some pages, it comes
after a click. The old way is `load` and then `networkidle` for up to 3 s, and after a click 0.4 s
more, as this project waited before. The two take turns, and each round swaps their order.

The table says how often the late content was there, and the median of the milliseconds waited.
`--load N` keeps N processes busy meanwhile, as a machine does that runs much else; `--processes N`
divides the rounds among so many processes, each with a browser of its own.
"""

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_plus

from playwright.sync_api import Browser, Error, Page, sync_playwright

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.quiet_pages import PAGES, LatePage, serving
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.browser.page.quiet import wait_until_quiet, watch

IDLE_MS = 3_000
AFTER_CLICK_MS = 400


class Trial(NamedTuple):
    """One page waited for in one way."""

    complete: bool
    waited_ms: float


def old(page: Page, *, clicked: bool) -> None:
    """Wait as this project did before."""
    with suppress(Error):
        page.wait_for_load_state("load")
        page.wait_for_load_state("networkidle", timeout=IDLE_MS)
    if clicked:
        page.wait_for_timeout(AFTER_CLICK_MS)


def new(page: Page, *, clicked: bool) -> None:
    """Wait until the page is quiet."""
    if not clicked:
        page.wait_for_load_state("load")
    wait_until_quiet(page)


WAYS: dict[str, Callable[..., None]] = {"old": old, "new": new}


def trial(browser: Browser, address: str, late: LatePage, way: str) -> Trial:
    """Open a page and wait for it in one way."""
    context = browser.new_context()
    try:
        page = context.new_page()
        # In both ways, so that they differ in nothing but the waiting.
        watch(context)
        page.goto(address, wait_until="domcontentloaded")
        if late.clicked:
            WAYS[way](page, clicked=False)
            page.click("button")
        began = time.perf_counter()
        WAYS[way](page, clicked=late.clicked)
        waited = (time.perf_counter() - began) * 1000
        return Trial(bool(page.evaluate(late.complete)), waited)
    finally:
        context.close()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep that many processes busy."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(names: list[str], rounds: int, ways: list[str]) -> dict[str, dict[str, list[Trial]]]:
    """Return the trials of each page in each way."""
    found: dict[str, dict[str, list[Trial]]] = {name: defaultdict(list) for name in names}
    with serving() as server, sync_playwright() as playwright:
        kind = playwright.chromium
        browser = kind.launch(**launch_args({}, playwright_executable=kind.executable_path))
        for number in range(rounds):
            for name in names:
                address = f"{server}/page?name={quote_plus(name)}"
                for way in ways if number % 2 else reversed(ways):
                    found[name][way].append(trial(browser, address, PAGES[name], way))
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
        browser.close()
    return found


def measure_in_processes(
    names: list[str], rounds: int, ways: list[str], processes: int
) -> dict[str, dict[str, list[Trial]]]:
    """Return the same, with the rounds divided among processes."""
    shares = [len(range(number, rounds, processes)) for number in range(processes)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        parts = pool.starmap(measure, [(names, share, ways) for share in shares])
    return {
        name: {way: [one for part in parts for one in part[name][way]] for way in ways}
        for name in names
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, metavar="N")
    parser.add_argument("--pages", nargs="+", default=[""], help="words in names of pages")
    parser.add_argument("--load", type=int, default=0, metavar="N")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures here")
    args = parser.parse_args()
    names = [name for name in PAGES if any(word in name for word in args.pages)]
    with busy(args.load):
        found = measure_in_processes(names, args.rounds, args.ways, args.processes)
    columns = [f"{way}: there" for way in args.ways] + [f"{way}, ms" for way in args.ways]
    print(f"| {args.rounds} rounds | {' | '.join(columns)} |")
    print("|---|" + "--:|" * len(columns))
    for name, trials in found.items():
        there = [sum(one.complete for one in trials[way]) for way in args.ways]
        waited = [statistics.median(one.waited_ms for one in trials[way]) for way in args.ways]
        row = [*map(str, there), *(f"{one:.0f}" for one in waited)]
        print(f"| {name} | {' | '.join(row)} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
