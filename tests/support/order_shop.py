"""A shop that takes orders, as a program of its own, for tests of commands that play cases.

usage: order_shop.py PORT [DATA]

With DATA, a folder, anybody may order and the orders are kept there. Without it one has to sign in
first, and there are a gift, a question, a list and a file; orders are gone when it ends.
"""

import json
import random
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

PROGRAM = Path(__file__)
SECRET = "open sesame 7"
OPEN = """<h1>Shop</h1><label>Item <input id="item"></label><p id="out"></p>
<button onclick="fetch('/order', {method: 'POST', body: item.value})
  .then(reply => out.textContent = reply.ok ? 'Thank you' : 'Sorry')">Order</button>
<a href="/logout">Log out</a> <a href="/prices">Prices</a> <a href="//example.com/">Away</a>"""
LOGIN = """<h1>Sign in</h1><form method="post" action="/login">
<label>User <input name="user"></label>
<label>Secret word <input name="password" type="password"></label><button>Sign in</button></form>"""
MEMBERS = """<h1>Orders</h1><label>Item <input id="item"></label>
<label><input type="checkbox" id="gift"> Gift</label><a href="/orders.csv" download>Export</a>
<button onclick="if (confirm('Sure?')) order()">Order</button><p role="status" id="out"></p>
<p role="status">Visit VISIT</p><ul id="list"></ul><script>
async function order() {
  const body = JSON.stringify({item: item.value, gift: gift.checked, at: Math.random() + ''})
  await fetch('/order', {method: 'POST', headers: {'content-type': 'application/json'}, body})
  list.innerHTML = await (await fetch('/list')).text(); out.textContent = 'Thank you'
}</script>"""


class Shop(BaseHTTPRequestHandler):
    """Answers from the folder of the orders."""

    data: Path
    is_open: bool

    def do_GET(self) -> None:
        if self.path == "/logout":
            raise SystemExit("nobody should come here")
        orders = self.data / "orders"
        ordered = orders.read_text() if orders.exists() else ""
        pages = {
            "/": OPEN if self.is_open else LOGIN,
            "/prices": "<h1>Prices</h1><p>Tea 3 EUR</p>",
            "/shop": MEMBERS.replace("VISIT", f"{random.random()}"),
            "/list": "".join(f"<li>1 x {item}</li>" for item in ordered.split(";")[:-1]),
            "/orders": ordered or "none",
            "/orders.csv": "item",
        }
        kind = "text/csv" if self.path == "/orders.csv" else "text/html"
        self.reply(self.luck() if self.path == "/luck" else pages.get(self.path, ""), kind)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        if self.path == "/order":
            with (self.data / "orders").open("a") as stream:
                stream.write(f"{body if self.is_open else json.loads(body)['item']};")
            self.reply("ordered")
        else:
            self.reply("", where="/shop" if parse_qs(body)["password"] == [SECRET] else "/")

    def luck(self) -> str:
        """Say whether the number of visits is odd, also those to shops that have ended."""
        with Path("visits").open("a+") as stream:
            stream.write("x")
            return "odd" if stream.tell() % 2 else "even"

    def reply(self, text: str, kind: str = "text/html", where: str = "") -> None:
        self.send_response(303 if where else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        if where:
            self.send_header("location", where)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    Shop.is_open = len(sys.argv) > 2
    with tempfile.TemporaryDirectory() as folder:
        Shop.data = Path(sys.argv[2] if Shop.is_open else folder)
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
