#!/usr/bin/env python3
"""Measure what watching a run costs it: the same session with an open page of it, and without.

    python benchmarks/view_weight.py
    python benchmarks/view_weight.py --rounds 30 --cells 64 --concurrency 8 --seconds 0

Each round runs the same cells twice, in an order that alternates: with `--autoweb-view` and a
browser that shows its page, in which the first cell is open, and without either. A server on this
machine is the model, and answers each call after `--seconds`. With 0 the cells keep all processors
busy, and so the browser that watches, which belongs to whoever watches, takes time from them. It
stands open in both.

What is printed is the geometric mean of watched to unwatched, with the 95 % interval by Student's t
of the logarithms of the rounds' ratios, of two things: the time from the beginning of the first
cell to the end of the last one, and the processor time of the run's own processes, start and end
included. The promise is at most 1 % more. Beside them stands the processor time that the page's
server and the browser that watches take. The first round does not count.
"""

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
from playwright.sync_api import Page, expect, sync_playwright

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.in_flight import Model, Server, Times, case_files, furnish
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.results.analysis.statistics import t_quantile

BLANK = "about:blank"


class Took(NamedTuple):
    """What a session took, in seconds."""

    wall: float
    """From the beginning of its first cell to the end of its last one."""
    processor: float
    """The processor time of the run's own processes."""
    server: float
    """That of the page's server."""
    browser: float
    """That of the browser that watches."""


def session(folder: Path, concurrency: int, watching: Page | None) -> Took:
    """Run the session; return what it took."""
    # The server outlives the session that started it, and so is not among these.
    before, browser_before = processor_time(), of_tree(psutil.Process())
    command = [
        sys.executable, "-m", "pytest", *case_files(folder), "--autoweb-models=slow",
        "--autoweb-models-file=models.json", f"--autoweb-concurrency={concurrency}",
        *(["--autoweb-view"] if watching else []),
    ]  # fmt: skip
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said, server = "", None
    for line in process.stdout:
        said += line
        if watching and (found := re.search(r"autoweb view: (\S+)", line)):
            watching.goto(found[1])
            watching.locator(".square").first.click()
            started = psutil.Process(process.pid).children()
            server = next(one for one in started if "--no-open" in one.cmdline())
    if process.wait():
        raise SystemExit(said)
    took = processor_time() - before
    served = 0.0
    if watching and server:
        expect(watching.locator("#phase")).to_contain_text("ended", timeout=60_000)
        served = of_tree(server)
        watching.goto(BLANK)
    browser = of_tree(psutil.Process()) - browser_before
    return Took(times_of(folder / "autoweb-report").took, took, served, browser)


def processor_time() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_tree(top: psutil.Process) -> float:
    """Return the processor time of a process and what it has started, as far as it is running."""
    total = 0.0
    for process in (top, *top.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def times_of(run: Path) -> Times:
    """Return when the cells of a run began and ended."""
    files = list(run.glob("cells/*/*/*/cell.json"))
    begun = [json.loads(file.read_text(encoding="utf-8"))["started"] for file in files]
    return Times(
        [datetime.fromisoformat(at).timestamp() for at in begun],
        [file.stat().st_mtime for file in files],
    )


def told(watched: Sequence[float], unwatched: Sequence[float]) -> str:
    """Return what watching costs, in words."""
    logs = [math.log(a / b) for a, b in zip(watched, unwatched, strict=True)]
    shown = f"watched {median(watched):.2f} s, unwatched {median(unwatched):.2f} s"
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return f"{shown}: {_percent(mean)}, one round has no interval"
    error = statistics.stdev(logs) / math.sqrt(len(logs)) * t_quantile(0.975, len(logs) - 1)
    interval = f"{_percent(mean - error)} to {_percent(mean + error)}"
    return f"{shown} (medians of {len(logs)} rounds): {_percent(mean)} (95 %: {interval})"


def _percent(log: float) -> str:
    return f"{(math.exp(log) - 1) * 100:+.2f} %"


def main() -> None:
    """Measure in turns and print what watching costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--cells", type=int, default=48, metavar="N")
    parser.add_argument("--concurrency", type=int, default=4, metavar="N")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S")
    asked = parser.parse_args()
    Model.seconds = asked.seconds
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    took: dict[bool, list[Took]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        furnish(Path(name), asked.cells, server.server_port)
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        page = playwright.chromium.launch(**found).new_page()
        for number in range(asked.rounds + 1):
            for watched in (True, False) if number % 2 else (False, True):
                one = session(Path(name), asked.concurrency, page if watched else None)
                # The first round compiles and reads what the others find in memory.
                if number:
                    took[watched].append(one)
    seen, unseen = took[True], took[False]
    print(f"{asked.cells} cells, {asked.concurrency} in flight, {asked.seconds:g} s for each call")
    for what, name in (("time", "wall"), ("processor time of the run", "processor")):
        both = ([getattr(one, name) for one in each] for each in (seen, unseen))
        print(f"{what}: {told(*both)}")
    print(f"processor time of the page's server: {median(one.server for one in seen):.2f} s")
    more = median(one.browser for one in seen) - median(one.browser for one in unseen)
    print(f"processor time of the browser that watches: {more:.2f} s")


if __name__ == "__main__":
    main()
