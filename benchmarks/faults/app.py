"""A small shop with one planted fault a page, for `benchmarks/calibration.py`.

usage: app.py PORT. There is no data to put back, so `/reset` does nothing. An outage or a lock ends
by itself after the first request that meets it, as in life.
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HEAD = "<!doctype html><meta charset=utf-8><title>Shop</title><h1>Shop</h1>"
_SEND = """<p id=out role=status></p><script>
async function send(path, body) {
  const reply = await fetch(path, {method: 'POST', body});
  document.getElementById('out').textContent = await reply.text();
}
</script>"""
PAGES = {
    "missing": "<button onclick=\"send('/ok')\">Print all invoices</button>",
    "renamed": "<button onclick=\"send('/ok')\">Save changes</button><button>Cancel</button>",
    "slow": "<button onclick=\"send('/late')\">Open the list</button>",
    "401": "<button onclick=\"send('/refuse/401')\">Show orders</button>",
    "409": "<button onclick=\"send('/once/409')\">Reserve</button>",
    "500": "<button onclick=\"send('/once/500')\">Submit</button>",
    "validation": """<label>Delivery day <input id=day></label>
<button onclick="send('/day', document.getElementById('day').value)">Order</button>""",
    "stock": """<button onclick="send('/stock')">Buy red</button>
<button onclick="send('/ok')">Buy blue</button>""",
    "frame": """<iframe name=pane
  srcdoc="<button onclick='parent.send(&quot;/ok&quot;)'>Confirm</button>"></iframe>
<button onclick="const old = document.querySelector('iframe'), pane = old.cloneNode();
  old.replaceWith(pane)">Renew</button>""",
}
ANSWERS = {
    401: "Your session has expired. Please log in again.",
    409: "Someone else is editing this entry just now.",
    500: "Internal server error",
}
SLOW_S = 30
"""Seconds that are longer than anybody waits for a list; the next request finds it ready."""
_met: set[str] = set()


class Shop(BaseHTTPRequestHandler):
    """Answers each page with its fault."""

    def do_GET(self) -> None:
        """Serve the pages."""
        parts = urlsplit(self.path)
        name = parts.path.strip("/")
        if name in PAGES:
            self._say(200, f"{_HEAD}{PAGES[name]}{_SEND}")
        else:
            self._say(200 if name == "" else 404, "Shop")

    def do_POST(self) -> None:
        """Answer what the buttons send."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        parts = self.path.strip("/").split("/")
        if self.path == "/reset":
            self._say(204, "")
        elif self.path == "/day":
            good = len(body) == 10 and body[4] == body[7] == "-"
            self._say(200 if good else 422, "Done" if good else "Enter the day as YYYY-MM-DD")
        elif self.path == "/stock":
            self._say(200, "Red is out of stock")
        elif self.path == "/late":
            if self._first():
                time.sleep(SLOW_S)
            self._say(200, "Done")
        elif parts[0] == "refuse" or (parts[0] == "once" and self._first()):
            self._say(int(parts[1]), ANSWERS[int(parts[1])])
        else:
            self._say(200, "Done")

    def _first(self) -> bool:
        """Tell whether this address is requested for the first time."""
        fresh = self.path not in _met
        _met.add(self.path)
        return fresh

    def _say(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
