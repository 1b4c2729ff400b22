"""What calls through the gateway cost, what a rate limit does to them, and what is lost by kills.

usage: python benchmarks/gateway.py [--pairs N] [--in-flight N] [--kills N]

A server in a process of its own speaks OpenAI's API and logs each call by the number in its prompt.
Times are medians over alternating pairs of direct calls and calls through the gateway.
"""

import argparse
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from pytest_autoweb.models import openai_api
from pytest_autoweb.models.gateway import (
    GatewayAddress,
    GatewayClient,
    SharedGateway,
    start_gateway,
    stop_gateway,
)
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec

NAME = "openai/slow"
THINKS_S = 2.0
AT_ONCE = 8
"""Calls that the server takes at once while it is strict."""


class Server(ThreadingHTTPServer):
    """Answers after the seconds that a prompt names; while it is strict it refuses most calls."""

    daemon_threads, request_queue_size = True, 1024

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.asked: list[str] = []
        self.refused, self.busy, self.peak = 0, 0, 0
        self.opens, self.at_once = 0.0, 10_000

    def take(self, number: str) -> bool:
        """Log a call that is taken; tell whether it is."""
        with self.lock:
            if time.monotonic() < self.opens or self.busy >= self.at_once:
                self.refused += 1
                return False
            self.asked.append(number)
            self.busy += 1
            self.peak = max(self.peak, self.busy)
            return True

    def told(self, path: str) -> dict[str, Any]:
        """Return the log so far, and begin a new one in the way that the path names."""
        with self.lock:
            told = {"asked": self.asked, "refused": self.refused, "peak": self.peak}
            self.asked, self.refused, self.peak = [], 0, 0
            strict = path == "/strict"
            self.opens = time.monotonic() + 1.0 if strict else 0.0
            self.at_once = AT_ONCE if strict else 10_000
        return told


class Handler(BaseHTTPRequestHandler):
    """The server's API."""

    server: Server
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Tell the log."""
        self._send(200, self.server.told(self.path))

    def do_POST(self) -> None:
        """Answer one call."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, seconds = body["messages"][-1]["content"].split()
        if not self.server.take(number):
            self._send(429, {"error": {"message": "slow down"}})
            return
        time.sleep(float(seconds))
        with self.server.lock:
            self.server.busy -= 1
        message = {"role": "assistant", "content": number}
        usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send(200, {"model": "slow", "choices": [choice], "usage": usage})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "0.5")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet; the server has a log of its own."""


def serve(ports: "multiprocessing.Queue[int]") -> None:
    """Serve in a process of its own."""
    server = Server()
    ports.put(server.server_port)
    server.serve_forever()


def request(number: str, seconds: float) -> Request:
    """Return a call that the server answers after so many seconds."""
    said = Message(role="user", content=f"{number} {seconds}")
    return Request(model=NAME, messages=(said,), stage="generate", case_id=f"c{hash(number) % 4}")


def worker(address: str, name: str, heard: Path) -> None:
    """Call without end, and note each reply that came; to be killed."""
    client = GatewayClient(GatewayAddress.parse(address))

    def one(index: int) -> None:
        number = f"{name}-{index}"
        reply = client.complete(request(number, random.uniform(0.05, 0.4)))
        with heard.open("a", encoding="utf-8") as file:
            file.write(f"{reply.text}\n")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(100_000)))


class Bench:
    """The server and a gateway before it."""

    def __init__(self, port: int, folder: Path, in_flight: int) -> None:
        self.origin, self.folder = f"http://127.0.0.1:{port}", folder
        self.spec = ModelSpec(
            name=NAME, api_base=f"{self.origin}/v1", max_parallel=in_flight, timeout=120
        )
        self._numbers = count()

    @contextmanager
    def gateway(self, mode: Any = "off") -> Iterator[GatewayAddress]:
        """Run a gateway."""
        address = start_gateway(
            {NAME: self.spec},
            record_mode=mode,
            cassettes=self.folder / "cassettes",
            run_dir=self.folder,
        )
        try:
            yield address
        finally:
            stop_gateway(address)

    def log(self, path: str = "/") -> dict[str, Any]:
        """Read the server's log, and begin a new one."""
        with urllib.request.urlopen(self.origin + path) as answer:
            return dict(json.load(answer))

    def direct(self, seconds: float) -> None:
        """Call without the gateway."""
        messages = [{"role": "user", "content": f"n{next(self._numbers)} {seconds}"}]
        openai_api.completion(
            model=NAME, messages=messages, max_tokens=9, timeout=60, api_base=self.spec.api_base
        )

    def through(self, client: "GatewayClient | SharedGateway") -> Callable[[float], None]:
        """Return how to call through the gateway."""
        return lambda seconds: void(client.complete(request(f"n{next(self._numbers)}", seconds)))


def void(_value: object) -> None:
    """Discard a value."""


def timed(call: Callable[[float], None], calls: int, seconds: float) -> float:
    """Return the seconds that so many calls at once take."""
    began = time.perf_counter()
    with ThreadPoolExecutor(calls) as threads:
        list(threads.map(call, [seconds] * calls))
    return time.perf_counter() - began


def compare(
    title: str, ways: Sequence[Callable[[float], None]], calls: int, seconds: float, pairs: int
) -> None:
    """Print medians of both ways over alternating pairs."""
    taken: list[list[float]] = [[], []]
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 else (1, 0):
            taken[which].append(timed(ways[which], calls, seconds))
    direct, through = map(statistics.median, taken)
    added = statistics.median(b - a for a, b in zip(*taken, strict=True))
    print(
        f"{title}: direct {direct * 1000:.1f} ms, through the gateway {through * 1000:.1f} ms, "
        f"ratio {through / direct:.3f}, added {added * 1000:.1f} ms, "
        f"{added * 1000 / calls:.2f} ms a call"
    )


def strict(bench: Bench, client: GatewayClient, calls: int) -> None:
    """Print how often a server that limits its rate has to refuse calls."""
    bench.log("/strict")
    took = timed(bench.through(client), calls, 0.1)
    told = bench.log()
    print(
        f"{calls} calls at once of a server that refuses all for 1 s and takes {AT_ONCE} at once "
        f"afterwards: {len(told['asked'])} answered in {took:.1f} s, {told['refused']} refusals"
    )


def killed(bench: Bench, kills: int) -> None:
    """Kill callers at random, and compare the server's log with the cassettes."""
    heard = bench.folder / "heard.txt"
    heard.touch()
    with bench.gateway("all") as address:
        callers: list[subprocess.Popen[bytes]] = []
        for number in range(kills):
            command = [sys.executable, __file__, "--worker", str(address), f"w{number}", str(heard)]
            callers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            if number >= 3:
                # A caller takes a second or two to start.
                time.sleep(random.uniform(0.5, 3.0))
                victim = callers.pop(random.randrange(len(callers)))
                victim.kill()
                victim.wait()
        for caller in callers:
            caller.kill()
            caller.wait()
        before = None
        while before != (before := _recorded(bench.folder)):
            time.sleep(4)  # what was under way ends, and is recorded
        told = Counter(bench.log()["asked"])
    recorded = _recorded(bench.folder)
    known = set(heard.read_text(encoding="utf-8").split())
    print(
        f"{kills} callers killed: {sum(told.values())} calls reached the server, "
        f"{sum(n > 1 for n in told.values())} twice; {len(recorded)} are recorded, "
        f"{len(told.keys() - recorded)} are not, {len(recorded - told.keys())} "
        f"never reached it; of {len(known)} that a caller heard {len(known - recorded)} "
        "are not recorded"
    )


def _recorded(folder: Path) -> set[str]:
    """Return the replies that the cassettes hold."""
    found: set[str] = set()
    for file in (folder / "cassettes").rglob("*.json"):
        entries = json.loads(file.read_text(encoding="utf-8"))["entries"]
        found.update(entry["reply"] for entry in entries)
    return found


def main() -> None:
    """Run all phases."""
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--in-flight", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    os.environ["no_proxy"] = "*"
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(ports.get(), Path(name), given.in_flight)
        with bench.gateway() as address:
            client = GatewayClient(address)
            ways = (bench.direct, bench.through(client))
            timed(ways[1], 1, 0.0)
            compare("one call", ways, 1, 0.05, given.pairs)
            bench.log()
            compare(f"{given.in_flight} calls at once", ways, given.in_flight, THINKS_S, 3)
            print(f"most in flight at the server: {bench.log()['peak']}")
            strict(bench, client, 64)
        killed(bench, given.kills)
    server.terminate()


if __name__ == "__main__":
    main()
