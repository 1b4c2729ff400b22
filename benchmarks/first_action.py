#!/usr/bin/env python3
"""Measure how long a session takes from its start to the first action of its first cell.

    python benchmarks/first_action.py
    python benchmarks/first_action.py --rounds 20

One page is opened and its button clicked, which the page's server hears at once, in three ways:

- by a script with Playwright alone, which is what Python, Playwright and Chromium take to start;
- by a test of pytest-playwright, without this package;
- by a cell, whose model is asked for a plan and a script through the gateway. The same server is
  that model and answers at once, with OpenAI's API.

Each time is that from the start of the process until the server hears of the click. The three take
turns; the table gives medians, and the median of what each takes more than Playwright alone in the
same round.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.in_flight import Model, Server
from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.testing import scripted_plan

PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1>
<button onclick="fetch('/clicked'); this.textContent = 'Thanks'">Buy</button>"""
SCRIPT = '```python\n# Step 1\npage.get_by_role("button").click()\n```'
ALONE = """
import json, sys
from playwright.sync_api import expect, sync_playwright
with sync_playwright() as playwright:
    page = playwright.chromium.launch(**json.loads(sys.argv[2])).new_page()
    page.goto(sys.argv[1])
    page.get_by_role("button").click()
    expect(page.get_by_role("button")).to_have_text("Thanks")
"""
FIXTURE = """
import pytest
@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {arguments}
"""
TEST = """
from playwright.sync_api import expect
def test_buy(page):
    page.goto({url!r})
    page.get_by_role("button").click()
    expect(page.get_by_role("button")).to_have_text("Thanks")
"""


class Shop(Model):
    """The shop and its model; notes when the button was clicked."""

    seconds = 0.0
    clicked = threading.Event()
    at = 0.0

    def do_GET(self) -> None:
        """Answer with the page, and note clicks."""
        if self.path == "/clicked":
            Shop.at = time.perf_counter()
            Shop.clicked.set()
        self.answer("text/html", PAGE)

    def reply_to(self, asked: str) -> str:
        """Return the plan or the script."""
        return SCRIPT if "You write Python" in asked else scripted_plan("buy")


def seconds_of(command: Sequence[str], folder: Path) -> float:
    """Run a command; return the seconds from its start to the click."""
    Shop.clicked.clear()
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode or not Shop.clicked.is_set():
        raise SystemExit(f"{command} ended with exit code {ended.returncode}:\n{ended.stdout}")
    return Shop.at - began


def commands(folder: Path, url: str) -> dict[str, list[str]]:
    """Write what the three need, and return their commands."""
    with sync_playwright() as playwright:
        executable = playwright.chromium.executable_path
    arguments: dict[str, Any] = launch_args({}, playwright_executable=executable)
    for name in ("plain", "cells"):
        (folder / name).mkdir()
        (folder / name / "tox.ini").write_text("[pytest]\n", encoding="utf-8")
    fixture = FIXTURE.format(arguments=repr(arguments))
    (folder / "plain/conftest.py").write_text(fixture, encoding="utf-8")
    (folder / "plain/test_buy.py").write_text(TEST.format(url=url), encoding="utf-8")
    case = {"id": "buy", "entry_url": url, "user_task": "Buy", "expect": [{"text": "Thanks"}]}
    (folder / "cells/shop.yaml").write_text(json.dumps({"version": 1, "cases": [case]}), "utf-8")
    models = {"models": {"m": {"model": "openai/m", "api_base": f"{url}v1"}}}
    (folder / "cells/models.json").write_text(json.dumps(models), encoding="utf-8")
    session = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:anyio"]
    session += ["-p", "no:schemathesis", "-p", "no:hypothesispytest"]
    return {
        "Playwright alone": [sys.executable, "-c", ALONE, url, json.dumps(arguments)],
        "a test of pytest-playwright": [*session, "-p", "no:autoweb", str(folder / "plain")],
        "a cell": [
            *session, str(folder / "cells/shop.yaml"), "--autoweb-models=m",
            f"--autoweb-models-file={folder / 'cells/models.json'}", "--autoweb-agent=codegen:once",
        ],
    }  # fmt: skip


def main() -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    asked = parser.parse_args()
    server = Server(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        ways = commands(Path(name), f"http://127.0.0.1:{server.server_port}/")
        took: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(asked.rounds + 1):
            for way, command in ways.items():
                seconds = seconds_of(command, Path(name))
                # The first round compiles and reads what the others find in memory.
                if number:
                    took[way].append(seconds)
    alone = took["Playwright alone"]
    print(f"\n| {asked.rounds} rounds | s | more than Playwright alone, s |\n|---|--:|--:|")
    for way, seconds_each in took.items():
        more = statistics.median(b - a for a, b in zip(alone, seconds_each, strict=True))
        print(f"| {way} | {statistics.median(seconds_each):.2f} | {more:.2f} |")


if __name__ == "__main__":
    main()
