"""A shop that stands for a live site: it has sessions, changes by itself and can be switched off.

It speaks http, or https with a certificate of its own, and is started on its own for a look by
hand: `python tests/support/live_shop.py 8123`.
"""

import json
import secrets
import ssl
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PAGE = """<!doctype html><title>{title}</title><link rel=icon href="data:,">
<nav><a href="/">Shop</a> <a href="/cart">Cart</a> <a href="/about">About</a></nav>
<h1>{title}</h1>{body}"""
FRONT = """<form action="/login" method="post">
<input type="hidden" name="csrf_token" value="{csrf}">
<label>Name <input name="who"></label>
<label>Password <input type="password" name="geheim"></label><button>Log in</button></form>
<ul id="goods"></ul><img alt="" src="/pixel.png"><p id="worker"></p>
<script>
  fetch("/api/goods?_=" + Math.random()).then(r => r.json()).then(goods => {{
    for (const one of goods) {{
      const form = document.createElement("form");
      form.method = "post"; form.action = "/add";
      form.innerHTML = `<input type="hidden" name="item" value="${{one.id}}">` +
        `<button>Buy ${{one.name}}</button> ${{one.price}}`;
      document.getElementById("goods").append(form);
    }}
  }});
  navigator.sendBeacon("/beacon", "seen " + Date.now());
  if (navigator.serviceWorker) navigator.serviceWorker.register("/worker.js").then(
    () => document.getElementById("worker").textContent = "worker ready",
    error => document.getElementById("worker").textContent = String(error));
  const news = new EventSource("/news");
  news.onmessage = event => document.title = event.data;
</script>"""
CART = """<p id="count">{count} in the cart</p><form action="/checkout" method="post">
<input type="hidden" name="csrf_token" value="{csrf}"><button>Pay</button></form>"""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63f8cf"
    "c0f01f0005000186a5d4d40000000049454e44ae426082"
)


class LiveShop:
    """The shop, open from construction until `close`.

    Args:
        tls: a folder in which its key and certificate are made; None: it speaks http.
        port: the port; 0 for any.
    """

    def __init__(self, tls: Path | None = None, port: int = 0) -> None:
        self.price = "9.99 EUR"
        self.asked: list[str] = []
        self.paid: list[dict[str, list[str]]] = []
        self.sessions: dict[str, dict[str, Any]] = {}
        self.certificate = tls / "live-shop.pem" if tls else None
        shop = self

        class Handler(_Handler):
            def __getattr__(self, name: str) -> Any:
                if name == "shop":
                    return shop
                raise AttributeError(name)

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if self.certificate:
            _certify(self.certificate)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Switch the site off."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shop: LiveShop

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        length = int(self.headers.get("content-length", 0))
        form = parse_qs(self.rfile.read(length).decode())
        self.shop.asked.append(f"{self.command} {path}")
        session, cookie = self._session()
        if self.command == "POST":
            self._write(path, form, session, cookie)
        elif path == "/api/goods":
            goods = [{"id": "kettle", "name": "kettle", "price": self.shop.price}]
            goods += [{"id": "teapot", "name": "teapot", "price": "4 EUR"}]
            self._send(json.dumps(goods), cookie, kind="application/json")
        elif path == "/pixel.png":
            self._send(PIXEL, cookie, kind="image/png")
        elif path == "/worker.js":
            self._send("self.addEventListener('fetch', () => {})", cookie, kind="text/javascript")
        elif path == "/news":
            self._send("data: Sale!\n\n", cookie, kind="text/event-stream")
        elif path == "/cart":
            body = CART.format(count=len(session["items"]), csrf=session["csrf"])
            self._send(PAGE.format(title="Cart", body=body), cookie)
        elif path == "/welcome":
            self._send(PAGE.format(title=f"Hello {session['who']}", body=""), cookie)
        elif path in ("/", "/about"):
            body = FRONT.format(csrf=session["csrf"]) if path == "/" else "We sell."
            self._send(PAGE.format(title="Live shop", body=body), cookie)
        else:
            self._send("no such page", cookie, status=404)

    do_POST = do_GET

    def _write(
        self, path: str, form: dict[str, list[str]], session: dict[str, Any], cookie: str
    ) -> None:
        if path == "/add":
            session["items"].append(form["item"][0])
            self._send("", cookie, status=303, to="/cart")
        elif path == "/login":
            right = form.get("geheim") == ["open sesame 42"]
            right = right and form.get("csrf_token") == [session["csrf"]]
            session["who"] = form["who"][0] if right else "stranger"
            self._send("", cookie, status=303, to="/welcome")
        elif path == "/checkout":
            self.shop.paid.append(form)
            self._send(PAGE.format(title="Paid", body=""), cookie)
        else:
            self._send("", cookie, status=204)

    def _session(self) -> tuple[dict[str, Any], str]:
        given = self.headers.get("cookie", "").partition("sid=")[2].partition(";")[0]
        sid = given if given in self.shop.sessions else secrets.token_hex(16)
        new = {"items": [], "csrf": secrets.token_hex(16), "who": "stranger"}
        return self.shop.sessions.setdefault(sid, new), f"sid={sid}; Path=/; HttpOnly"

    def _send(
        self, body: str | bytes, cookie: str, status: int = 200, to: str = "", kind: str = ""
    ) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("content-type", kind or "text/html; charset=utf-8")
        self.send_header("set-cookie", cookie)
        if to:
            self.send_header("location", to)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _certify(file: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "live shop")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8
    file.write_bytes(
        key.private_bytes(pem, plain, serialization.NoEncryption()) + made.public_bytes(pem)
    )


if __name__ == "__main__":
    shop = LiveShop(Path(sys.argv[2]) if sys.argv[2:] else None, int(sys.argv[1]))
    print(shop.url, flush=True)
    threading.Event().wait()
