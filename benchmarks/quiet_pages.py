"""Pages that come late, each in another way, and a server for them; for `quiet.py`."""

import base64
import hashlib
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

FONTS = ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",)


class LatePage(NamedTuple):
    """A page, and when it is complete."""

    body: str
    complete: str = "document.getElementById('late') !== null"
    """An expression of JavaScript."""
    clicked: bool = False
    """Whether the content comes after a click on its button, not after opening it."""


_SHOW = "const show = () => { const p = document.createElement('p'); p.id = 'late'; \
p.textContent = 'ready'; document.body.append(p); }; \
const get = (ms) => fetch('/data?ms=' + ms).then((reply) => reply.json()); \
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));"
_BUTTON = "<button>Go</button>"


def _script(code: str) -> str:
    return f"<!doctype html><title>t</title><body><h1>Shop</h1><script>{_SHOW} {code}</script>"


def _on_click(code: str) -> LatePage:
    listen = f"document.querySelector('button').onclick = async () => {{ {code} }}"
    body = f"<!doctype html><title>t</title><body>{_BUTTON}<script>{_SHOW} {listen}</script>"
    return LatePage(body, clicked=True)


PAGES = {
    "static": LatePage("<!doctype html><title>t</title><p id=late>ready"),
    "fetch, 200 ms": LatePage(_script("get(200).then(show)")),
    "fetch, 1.5 s": LatePage(_script("get(1500).then(show)")),
    "chain of five requests": LatePage(
        _script("(async () => { for (let i = 0; i < 5; i++) await get(120); show() })()")
    ),
    "scripts that load scripts": LatePage(
        _script(
            "const load = (depth) => { const s = document.createElement('script');"
            " s.src = '/script?ms=150&depth=' + depth; document.body.append(s); };"
            " window.loaded = (depth) => depth ? load(depth - 1) : show(); load(2)"
        )
    ),
    "hydration": LatePage(
        _script(
            "const channel = new MessageChannel(); let left = 12;"
            " channel.port1.onmessage = () => { const until = performance.now() + 30;"
            " while (performance.now() < until); if (--left) channel.port2.postMessage(0);"
            " else get(50).then(show); };"
            " addEventListener('load', () => channel.port2.postMessage(0))"
        )
    ),
    "timer, 400 ms": LatePage(_script("setTimeout(show, 400)")),
    "timer, 900 ms": LatePage(_script("setTimeout(show, 900)")),
    "chain of timers": LatePage(
        _script("(async () => { for (let i = 0; i < 6; i++) await sleep(120); show() })()")
    ),
    "waits for a library": LatePage(
        _script(
            "const s = document.createElement('script'); s.async = true;"
            " s.src = '/script?ms=300&depth=0'; window.loaded = () => { window.lib = 1 };"
            " document.head.append(s); const t = setInterval(() => { if (window.lib) {"
            " clearInterval(t); show() } }, 100)"
        )
    ),
    "polls for ever": LatePage(
        _script(
            "(async () => { await get(100); show();"
            " for (;;) { await sleep(200); await get(5) } })()"
        )
    ),
    "asks, and is never answered": LatePage(_script("get(60000); get(300).then(show)")),
    "changes for ever": LatePage(
        _script(
            "const h = document.querySelector('h1');"
            " setInterval(() => { h.textContent += '.' }, 30);"
            " get(300).then(show)"
        )
    ),
    "server-sent events": LatePage(_script("new EventSource('/events?ms=250').onmessage = show")),
    "web socket": LatePage(
        _script("new WebSocket(`ws://${location.host}/socket?ms=250`).onmessage = show")
    ),
    "streamed reply": LatePage(
        _script("fetch('/stream?ms=150').then((reply) => reply.text()).then(show)")
    ),
    "worker": LatePage(
        _script(
            "const code = 'const until = Date.now() + 300; while (Date.now() < until);"
            " postMessage(1)';"
            " const w = new Worker(URL.createObjectURL(new Blob([code]))); w.onmessage = show"
        )
    ),
    "database": LatePage(
        _script(
            "const open = indexedDB.open('shop', 1); open.onupgradeneeded = () =>"
            " open.result.createObjectStore('rows'); open.onsuccess = () => { const t ="
            " open.result.transaction('rows', 'readwrite'); t.objectStore('rows').put(1, 'a');"
            " t.oncomplete = () => { const again = open.result.transaction('rows')"
            ".objectStore('rows').get('a'); again.onsuccess = show } }"
        )
    ),
    "digests": LatePage(
        _script(
            "(async () => { let bytes = new Uint8Array(1e6);"
            " for (let i = 0; i < 5; i++) await crypto.subtle.digest('SHA-256', bytes);"
            " show() })()"
        )
    ),
    "reads a file": LatePage(
        _script(
            "(async () => { const file = new Blob(['x'.repeat(1e6)]);"
            " for (let i = 0; i < 5; i++) await file.text(); show() })()"
        )
    ),
    "decodes a picture": LatePage(
        _script(
            "(async () => { const reply = await fetch('/picture?ms=50');"
            " const picture = new Image(); picture.src = URL.createObjectURL(await reply.blob());"
            " await picture.decode(); show() })()"
        )
    ),
    "idle callback": LatePage(_script("requestIdleCallback(() => get(100).then(show))")),
    "three frames": LatePage(
        _script(
            "const frame = (n) => requestAnimationFrame(() => n > 1 ? frame(n - 1) : show());"
            " addEventListener('load', () => frame(3))"
        )
    ),
    "when in view": LatePage(
        _script(
            "new IntersectionObserver((seen, o) => { o.disconnect(); get(100).then(show) })"
            ".observe(document.querySelector('h1'))"
        )
    ),
    "fades in": LatePage(
        "<!doctype html><title>t</title><style>"
        "@keyframes in { from { opacity: 0 } to { opacity: 1 } }"
        " #late { animation: in .4s }</style><p id=late>ready",
        "getComputedStyle(document.getElementById('late')).opacity === '1'",
    ),
    "late font": LatePage(
        "<!doctype html><title>t</title><style>@font-face { font-family: Late;"
        " src: url('/font?ms=400') } p { font-family: Late }</style><p id=late>ready",
        "[...document.fonts].every((font) => font.status === 'loaded')",
    ),
    "late picture": LatePage(
        "<!doctype html><title>t</title><p id=late><img id=i><script>"
        "setTimeout(() => { i.src = '/picture?ms=300' }, 50)</script>",
        "document.getElementById('i').naturalWidth > 0",
    ),
    "refresh": LatePage(
        "<!doctype html><title>t</title>"
        "<meta http-equiv=refresh content='0; url=/page?name=fetch,+200+ms'>"
    ),
    "sent on by a script": LatePage(
        _script("setTimeout(() => { location.href = '/page?name=fetch,+200+ms' }, 100)")
    ),
    "frame": LatePage(
        _script(
            "const f = document.createElement('iframe'); f.src = '/page?name=fetch,+200+ms&ms=200';"
            " document.body.append(f)"
        ),
        "Boolean(document.querySelector('iframe').contentDocument.getElementById('late'))",
    ),
    "click, fetch": _on_click("await get(250); show()"),
    "click, slow fetch": _on_click("await get(1000); show()"),
    "click, timer": _on_click("await sleep(350); show()"),
    "click, timer and fetch": _on_click("await sleep(300); await get(200); show()"),
    "click, two frames": _on_click("requestAnimationFrame(() => requestAnimationFrame(show))"),
    "click, two frames beside a loop": _on_click(
        "const loop = () => requestAnimationFrame(loop); loop(); await sleep(100);"
        " requestAnimationFrame(() => requestAnimationFrame(show))"
    ),
    "click, two idle callbacks": _on_click("requestIdleCallback(() => requestIdleCallback(show))"),
    "click, task with a delay": _on_click("scheduler.postTask(show, { delay: 25 })"),
    "click, cache": _on_click(
        "const kept = await caches.open('shop'); await kept.put('/rows', new Response('1'));"
        " await kept.match('/rows'); show()"
    ),
    "click, messages": _on_click(
        "const c = new MessageChannel(); let n = 5;"
        " c.port1.onmessage = () => --n ? c.port2.postMessage(0) : show(); c.port2.postMessage(0)"
    ),
    "click, another page": _on_click("location.href = '/page?name=fetch,+200+ms&ms=200'"),
    "click, nothing": _on_click("show()"),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Serve one of the pages, or what they ask for, after the time that they name."""
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        kind = parts.path.strip("/")
        milliseconds = float(asked.get("ms", 0))
        if kind in ("events", "socket", "stream"):
            getattr(self, f"_{kind}")(milliseconds / 1000)
            return
        time.sleep(milliseconds / 1000)
        if kind == "page":
            self._reply("text/html", PAGES[asked["name"]].body.encode())
        elif kind == "script":
            self._reply("text/javascript", f"loaded({asked['depth']})".encode())
        elif kind == "font":
            self._reply("font/ttf", next(Path(f).read_bytes() for f in FONTS if Path(f).exists()))
        elif kind == "picture":
            self._reply(
                "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
            )
        elif kind == "data":
            self._reply("application/json", b'{"rows": [1, 2, 3]}')
        else:
            self.send_error(404)

    def _reply(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        time.sleep(seconds)
        self.wfile.write(b"data: ready\n\n")
        self.wfile.flush()
        time.sleep(5)

    def _stream(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for _ in range(5):
            time.sleep(seconds)
            self.wfile.write(b"more\n")
            self.wfile.flush()

    def _socket(self, seconds: float) -> None:
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        self.send_header("upgrade", "websocket")
        self.send_header("connection", "upgrade")
        self.send_header("sec-websocket-accept", accept)
        self.end_headers()
        self.close_connection = True
        time.sleep(seconds)
        self.wfile.write(struct.pack("BB", 0x81, 5) + b"ready")
        self.wfile.flush()
        time.sleep(5)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def handle(self) -> None:
        """Serve a connection; a browser that hangs up is no error."""
        try:
            super().handle()
        except OSError:
            return


@contextmanager
def serving() -> Iterator[str]:
    """Serve the pages on a free port, and yield the beginning of their addresses."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
