"""How near many cells in flight come to the time for which they only wait for their model.

    .venv/bin/python benchmarks/in_flight.py [--cells 64] [--concurrency 16] [--seconds 2]

Each cell asks twice (a plan, a script), and a server on this machine answers each call after so
many seconds. The ideal is what all cells would take if nothing but the model took time: calls times
seconds, divided by the cells in flight. Its ratio to the time from the first cell's start to the
last cell's end is printed, with the most memory (PSS) of the whole tree of processes, and for each
kind of process its share of both the memory and the processor time of a cell, which says more than
seconds on a busy machine. "In full flight" is the same ratio without the beginning, at which all
pages open at once, and the end, at which fewer and fewer cells are left.
The figures for processes include start and end of the session, and processes are looked at in
turns, so what ends between two looks is missed.

Beside it, the same is done with plain Playwright in one process: for each cell a fresh context, the
same page, the same waits, a look at the page, the same actions, a picture after each. That is how
near to the ideal the machine, the browser and Playwright come without this project.
"""

import argparse
import asyncio
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Browser, async_playwright

from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.testing import scripted_plan

PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1>
<label>Name <input id="name"></label>
<button onclick="out.textContent = 'Welcome, ' + document.getElementById('name').value">Log in
</button><p id="out"></p>"""
CALLS = 2
# A case file may have 256 KB.
CASES_IN_A_FILE = 1_000
INI = (
    "[pytest]\nautoweb_codegen = once\n"
    "addopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"
)


class Model(BaseHTTPRequestHandler):
    """Answers every request after a while, as OpenAI's chat API does."""

    seconds = 2.0
    protocol_version = "HTTP/1.1"
    # Otherwise a body waits, on a connection used before, until its head is acknowledged: 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer with the page, for plain Playwright."""
        self.answer("text/html", PAGE)

    def do_POST(self) -> None:
        """Answer with a reply, as long after the question as a model would."""
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        time.sleep(self.seconds)
        message = {"role": "assistant", "content": self.reply_to(asked)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        self.answer("application/json", json.dumps(reply | {"choices": [choice], "usage": usage}))

    def reply_to(self, asked: str) -> str:
        """Return the plan, or the script of whoever is to log in."""
        who = re.findall(r"Log in as (\w+)", asked)[-1]
        self.count(who)
        code = f'page.get_by_label("Name").fill("{who}")\npage.get_by_role("button").click()'
        script = f"```python\n# Step 1\n{code}\n```"
        return script if "You write Python" in asked else scripted_plan("log in")

    def answer(self, kind: str, text: str) -> None:
        """Send a text of this content type."""
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def count(self, who: str) -> None:
        """Note who asked; nobody wants to know here."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server that many may ask at the same moment."""

    request_queue_size = 256
    daemon_threads = True


def furnish(folder: Path, cells: int, port: int) -> None:
    """Write the site, the cases and the model's settings."""
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text(PAGE, encoding="utf-8")
    (folder / "tox.ini").write_text(INI, encoding="utf-8")
    cases = [
        {
            "id": f"c{number}",
            "entry_url": "{{ webserver.url }}index.html",
            "user_task": f"Log in as ana{number}",
            "expect": [{"text": f"Welcome, ana{number}"}],
        }
        for number in range(cells)
    ]
    for begin in range(0, cells, CASES_IN_A_FILE):
        some = cases[begin : begin + CASES_IN_A_FILE]
        text = json.dumps({"version": 1, "webserver": {"static": "site"}, "cases": some})
        (folder / f"shop-{begin}.yaml").write_text(text, encoding="utf-8")
    base = f"http://127.0.0.1:{port}/v1"
    model = {"model": "openai/m", "api_base": base, "max_parallel": 256}
    (folder / "models.json").write_text(json.dumps({"models": {"slow": model}}), encoding="utf-8")


def case_files(folder: Path) -> list[str]:
    """Return the files with the cases, as pytest's arguments."""
    return [path.name for path in sorted(folder.glob("shop-*.yaml"))]


def descendants(pid: int) -> Iterator[int]:
    """Yield a process and all below it; the gateway and web servers name their owner's session."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    wanted = {pid}
    for _ in range(8):
        wanted |= {child for child, parent in parents.items() if parent in wanted}
    yield from wanted


def pss_mb(pid: int) -> float:
    """Return the memory of a process in MB; what it shares is divided among those that share."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


KINDS = {
    "renderers": "--type=renderer",
    "other of the browser": "--type=",
    "browser": "--remote-debugging",
    "driver": "run-driver",
    "sandbox": "import json, marshal, sys, zlib",
    "gateway": "gateway_process",
    "test process": "pytest",
}
LOOK_S = 0.25
WEIGH_EVERY = 8


class Spent:
    """The processor time of a tree of processes, by the last look at each of them."""

    def __init__(self) -> None:
        self._kinds: dict[int, str] = {}
        self._seconds: dict[int, float] = {}

    def look(self, pids: Iterator[int]) -> None:
        """Note what each process has used so far."""
        for pid in pids:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                if self._kinds.get(pid, "others") == "others":
                    line = Path(f"/proc/{pid}/cmdline").read_text()
                    found = (kind for kind, part in KINDS.items() if part in line)
                    self._kinds[pid] = next(found, "others")
            except OSError:
                continue
            self._seconds[pid] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def by_kind(self) -> dict[str, float]:
        """Return seconds for each kind of process."""
        return self._sums(self._seconds)

    def weigh(self, pids: Iterator[int]) -> dict[str, float]:
        """Return the memory in MB of each kind of process that was looked at."""
        return self._sums({pid: pss_mb(pid) for pid in pids if pid in self._kinds})

    def _sums(self, of: Mapping[int, float]) -> dict[str, float]:
        found = dict.fromkeys((*KINDS, "others"), 0.0)
        for pid, amount in of.items():
            found[self._kinds[pid]] += amount
        return found


class Times(NamedTuple):
    """When cells began and ended, in seconds."""

    begun: Sequence[float]
    ended: Sequence[float]

    @property
    def took(self) -> float:
        """Return the seconds from the first beginning to the last end."""
        return max(self.ended) - min(self.begun)

    def in_full_flight(self, at_once: int) -> float:
        """Return the seconds that `at_once` cells took while so many were in flight.

        That is between the end of the last cell of the first that began together, and the beginning
        of the last one; NaN for a run that is too short to tell.
        """
        ends = sorted(self.ended)
        start, over = ends[min(at_once, len(ends)) - 1], max(self.begun)
        between = sum(start < end <= over for end in ends)
        return (over - start) / between * at_once if between > at_once else math.nan


def run(
    folder: Path, concurrency: int, workers: int
) -> tuple[Times, dict[str, float], dict[str, float]]:
    """Run the session; return its cells' times, and by kind of process the memory and the work.

    The memory is that of the moment at which it was most.
    """
    command = [
        sys.executable, "-m", "pytest", "-q", *case_files(folder), "--autoweb-models=slow",
        "--autoweb-models-file=models.json", f"--autoweb-concurrency={concurrency}",
        *(["-n", str(workers)] if workers else []),
    ]  # fmt: skip
    most: dict[str, float] = {}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: said.append(process.stdout.read()))  # type: ignore[union-attr]
    reader.start()
    spent, looks = Spent(), 0
    while process.poll() is None:
        spent.look(descendants(process.pid))
        # This is slow, and holds up whoever is looked at.
        if looks % WEIGH_EVERY == 0:
            now = spent.weigh(descendants(process.pid))
            most = max(most, now, key=lambda weights: sum(weights.values()))
        looks += 1
        time.sleep(LOOK_S)
    reader.join()
    found = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in (folder / "autoweb-report/cells").rglob("cell.json")
    ]
    if any(cell["outcome"] != "passed" for cell in found):
        raise SystemExit(said[0])
    begun = [datetime.fromisoformat(cell["started"]).timestamp() for cell in found]
    files = (folder / "autoweb-report/cells").rglob("cell.json")
    return Times(begun, [file.stat().st_mtime for file in files]), most, spent.by_kind()


async def plainly(cells: int, at_once: int, seconds: float, url: str) -> Times:
    """Do what the cells do with plain Playwright; return when they began and ended."""
    free = asyncio.Semaphore(at_once)
    begun, ended = list[float](), list[float]()

    async def cell(browser: Browser, who: str) -> None:
        async with free:
            begun.append(time.perf_counter())
            context = await browser.new_context()
            page = await context.new_page()
            await page.goto(url)
            await asyncio.sleep(seconds)
            await page.locator("body").aria_snapshot()
            await asyncio.sleep(seconds)
            await page.get_by_label("Name").fill(who)
            await page.screenshot()
            await page.get_by_role("button").click()
            await page.screenshot()
            if await page.inner_text("#out") != f"Welcome, {who}":
                raise SystemExit(f"{who} is not welcome")
            await context.close()
            ended.append(time.perf_counter())

    async with async_playwright() as playwright:
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(**found)
        await asyncio.gather(*(cell(browser, f"ana{number}") for number in range(cells)))
        await browser.close()
    return Times(begun, ended)


def weigh_until(over: threading.Event, weights: list[float]) -> None:
    """Note the memory of this process and all below it as often as that of a session is noted."""
    while not over.is_set():
        weights.append(sum(map(pss_mb, descendants(os.getpid()))))
        over.wait(LOOK_S * WEIGH_EVERY)


def main() -> None:
    """Measure once and print a line for each side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=0)
    asked = parser.parse_args()
    Model.seconds = asked.seconds
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name), asked.cells, server.server_port)
        times, most, spent = run(Path(name), asked.concurrency, asked.workers)
    at_once = asked.concurrency * max(1, asked.workers)
    waited = CALLS * asked.seconds
    ideal = asked.cells * waited / min(at_once, asked.cells)

    def shown(times: Times) -> str:
        ratio = f"{times.took:.1f} s, ratio {ideal / times.took:.2f}"
        return f"{ratio}, in full flight {waited / times.in_full_flight(at_once):.2f}"

    print(
        f"{asked.cells} cells, {asked.concurrency} in flight, {max(1, asked.workers)} processes: "
        f"ideal {ideal:.1f} s, {shown(times)}, {sum(most.values()):.0f} MB"
    )
    print("memory, MB: " + ", ".join(f"{kind} {amount:.0f}" for kind, amount in most.items()))
    each = {kind: seconds / asked.cells * 1000 for kind, seconds in spent.items()}
    print("processor time for a cell, ms: " + ", ".join(f"{k} {v:.0f}" for k, v in each.items()))
    print(f"in all {sum(each.values()):.0f}")
    url = f"http://127.0.0.1:{server.server_port}/"
    weights: list[float] = []
    over = threading.Event()
    scales = threading.Thread(target=weigh_until, args=(over, weights))
    scales.start()
    plain = asyncio.run(plainly(asked.cells, at_once, asked.seconds, url))
    over.set()
    scales.join()
    print(
        f"plain Playwright: {shown(plain)}, {max(weights):.0f} MB; "
        f"beside it {plain.took / times.took:.2f}"
    )


if __name__ == "__main__":
    main()
