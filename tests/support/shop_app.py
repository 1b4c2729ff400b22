"""A tiny web application with state in a folder, for tests of web servers.

usage: shop_app.py PORT DATA [stubborn | crowd | detached | daemon | busy]
"""

import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

ORDERS = Path(sys.argv[2]) / "orders.txt"
MODE = sys.argv[3] if len(sys.argv) > 3 else ""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.reply(503 if MODE == "busy" else 200, f"{os.getpid()} {count()}")

    def do_POST(self) -> None:
        if self.path == "/order":
            with ORDERS.open("a") as file:
                file.write("tea\n")
        elif self.path == "/reset":
            ORDERS.unlink(missing_ok=True)
        elif self.path == "/die":
            os._exit(7)
        self.reply(500 if self.path == "/broken" else 204, "")

    def reply(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def count() -> int:
    return len(ORDERS.read_text().splitlines()) if ORDERS.exists() else 0


if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE == "crowd":
    child = subprocess.Popen(["sleep", "600"])
    (ORDERS.parent.parent / "child").write_text(str(child.pid))
if MODE == "detached":
    # A child of nobody, in a session of its own, which does not care for being asked to end.
    if (between := os.fork()) == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if pid := os.fork():
            (ORDERS.parent.parent / "child").write_text(str(pid))
            os._exit(0)
        time.sleep(600)
        os._exit(0)
    # Whoever is answered may read the child's number.
    os.waitpid(between, 0)
if MODE == "daemon":
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
print("shop opens", flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
