"""What the egress proxy costs: a page with 100 parts, with and without it.

usage: python benchmarks/egress.py [ROUNDS]

The proxy knows the browser by its process, as on Linux, or by a password, as elsewhere.
"""

import multiprocessing
import os
import statistics
import sys
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import psutil
from playwright.sync_api import sync_playwright

from pytest_autoweb.browser.egress.browser_watch import browser_processes
from pytest_autoweb.browser.egress.chromium import cell_launch_args, launch_args
from pytest_autoweb.browser.egress.connection_holders import connections_of
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.request_routes import RequestRoutes

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PARTS = 100
PAGE = "".join(f"<img src='/{number}.svg'>" for number in range(PARTS)).encode()
PART = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


class Handler(BaseHTTPRequestHandler):
    """A page with many parts, none of which may be cached."""

    def do_GET(self) -> None:
        """Answer with the page or a part."""
        is_part = self.path.endswith(".svg")
        body = PART if is_part else PAGE
        self.send_response(200)
        self.send_header("content-type", "image/svg+xml" if is_part else "text/html")
        self.send_header("cache-control", "no-store")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Turns no connection away, after which a browser would wait for a second."""

    request_queue_size = 128


def serve(pipe: "Connection") -> None:
    server = Server(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


def processor_s() -> float:
    """Return the processor time of this process, the driver and the browser, without the server."""
    spent = [process_s(psutil.Process())]
    spent += [process_s(psutil.Process(one.pid)) for one in browser_processes()]
    return sum(spent)


def process_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def timed(page: Any, url: str) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), processor_s()
    page.goto(url)
    took = time.perf_counter() - wall, processor_s() - cpu
    # What is still drawn must not delay the next one.
    page.goto("about:blank")
    time.sleep(0.2)
    return took


def main(rounds: int) -> None:
    near, far = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(far,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{near.recv()}/"
    policy = OriginPolicy(url)
    with sync_playwright() as playwright, ExitStack() as stack:
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(**cell_launch_args(found, os.environ, alone=True))
        plain, routed = browser.new_context(), browser.new_context()
        RequestRoutes.of(routed).begin(policy, print)
        contexts = {"none": plain, "routing": routed}
        for name, known in (("proxy", connections_of(browser)), ("password", None)):
            proxy = stack.enter_context(EgressProxy(policy, print, connections=known))
            settings: Any = {"proxy": proxy.settings}
            contexts[name] = browser.new_context(**settings)
        pages = {name: context.new_page() for name, context in contexts.items()}
        for page in pages.values():
            timed(page, url)
        # In turns, so that a busy moment of the machine meets all of them.
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
        for _ in range(rounds):
            for name, page in pages.items():
                times[name].append(timed(page, url))
        browser.close()
    server.kill()
    report(times)


def report(times: dict[str, list[tuple[float, float]]]) -> None:
    base = [wall for wall, _ in times["none"]]
    for name, rounds in times.items():
        wall = statistics.median(wall for wall, _ in rounds)
        cpu = statistics.mean(cpu for _, cpu in rounds)
        ratio = statistics.median(
            wall / plain for (wall, _), plain in zip(rounds, base, strict=True)
        )
        print(
            f"{name:8} median {wall * 1000:5.0f} ms  ratio {ratio:4.2f}  "
            f"processor time {cpu * 1000:4.0f} ms"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
