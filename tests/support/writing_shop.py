"""A shop whose pages write to a database and say so for a moment.

usage: writing_shop.py PORT DATA
"""

import json
import sqlite3
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROGRAM = Path(__file__)
PAGE = """<title>Shop</title><h1>Shop</h1><label>Item <input id=item></label>
<button id=order>Order</button><button id=clear>Empty the cart</button><script>
const post = (path, data) => fetch(path, {method: 'POST', body: JSON.stringify(data)}).then(() => {
  const toast = document.createElement('div');
  toast.setAttribute('role', 'status');
  toast.textContent = 'Saved';
  document.body.append(toast);
  setTimeout(() => toast.remove(), 300);
});
order.onclick = () => post('/carts/CART/order', {item: item.value, at: Date.now()});
clear.onclick = () => post('/carts/CART/clear', {});
</script>"""


class Shop(BaseHTTPRequestHandler):
    """Answers from the database."""

    data: Path

    def do_GET(self) -> None:
        self._reply(PAGE.replace("CART", uuid.uuid4().hex))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        with sqlite3.connect(self.data) as database:
            if self.path.endswith("/clear"):
                database.execute("delete from orders where id = 1")
            else:
                item = json.loads(body)["item"]
                database.execute("insert into orders (item) values (?)", (item,))
        self._reply("{}")

    def _reply(self, text: str) -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    Shop.data = Path(sys.argv[2]) / "shop.db"
    with sqlite3.connect(Shop.data) as start:
        start.execute("create table orders (id integer primary key, item text)")
        start.execute("insert into orders (item) values ('old')")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
