"""What the egress proxy costs: a page with 100 parts, with and without it.

usage: python benchmarks/egress.py [ROUNDS]
"""

import multiprocessing
import os
import statistics
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from pytest_autoweb.browser.egress.chromium import cell_launch_args, launch_args
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


def serve(pipe: "Connection") -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


def timed(page: Any, url: str) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    page.goto(url)
    return time.perf_counter() - wall, time.process_time() - cpu


def main(rounds: int) -> None:
    near, far = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(far,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{near.recv()}/"
    policy = OriginPolicy(url)
    with sync_playwright() as playwright, EgressProxy(policy, print) as proxy:
        found = launch_args({}, playwright_executable=playwright.chromium.executable_path)
        browser = playwright.chromium.launch(**cell_launch_args(found, os.environ, alone=True))
        plain, routed = browser.new_context(), browser.new_context()
        RequestRoutes.of(routed).begin(policy, print)
        contexts = {
            "none": plain,
            "routing": routed,
            "proxy": browser.new_context(**{"proxy": proxy.settings}),  # type: ignore[arg-type]
        }
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
    base = statistics.median(wall for wall, _ in times["none"])
    for name, rounds in times.items():
        wall = statistics.median(wall for wall, _ in rounds)
        cpu = statistics.median(cpu for _, cpu in rounds)
        least = min(wall for wall, _ in rounds)
        print(
            f"{name:8} median {wall * 1000:5.0f} ms  least {least * 1000:5.0f} ms  "
            f"ratio {wall / base:4.2f}  CPU of this process {cpu * 1000:4.0f} ms"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
