#!/usr/bin/env python3
"""Measure what watching a run costs it: the same session with an open page of it, and without.

    python benchmarks/view_weight.py
    python benchmarks/view_weight.py --rounds 30 --cells 64 --concurrency 8

Each round runs the same cells twice, in an order that alternates: with `--autoweb-view` and a
browser that shows its page, in which the first cell is open, and without either. A server on this
machine is the model, and answers at once, so that every second counts. The browser that watches
stands open in both, as it does on the machine of whoever watches.

The time of a session is that from the beginning of its first cell to the end of its last one. What
is printed is the geometric mean of watched to unwatched, with the 95 % interval by Student's t of
the logarithms of the rounds' ratios; the promise is at most 1 % more. The first round does not
count.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.in_flight import Model, Server, Times, case_files, furnish
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.results.analysis.statistics import t_quantile

BLANK = "about:blank"


def seconds_of(folder: Path, concurrency: int, watching: Page | None) -> float:
    """Run the session; return the seconds from its first cell's beginning to its last one's end."""
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
    said = ""
    for line in process.stdout:
        said += line
        if watching and (found := re.search(r"autoweb view: (\S+)", line)):
            watching.goto(found[1])
            watching.locator(".square").first.click()
    if process.wait():
        raise SystemExit(said)
    if watching:
        expect(watching.locator("#phase")).to_contain_text("ended", timeout=60_000)
        watching.goto(BLANK)
    return times_of(folder / "autoweb-report").took


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
    with_page, without = statistics.median(watched), statistics.median(unwatched)
    shown = f"watched {with_page:.2f} s, unwatched {without:.2f} s"
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
    asked = parser.parse_args()
    Model.seconds = 0.0
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    took: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        furnish(Path(name), asked.cells, server.server_port)
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        page = playwright.chromium.launch(**found).new_page()
        for number in range(asked.rounds + 1):
            for watched in (True, False) if number % 2 else (False, True):
                seconds = seconds_of(Path(name), asked.concurrency, page if watched else None)
                # The first round compiles and reads what the others find in memory.
                if number:
                    took[watched].append(seconds)
    print(f"{asked.cells} cells, {asked.concurrency} in flight: {told(took[True], took[False])}")


if __name__ == "__main__":
    main()
