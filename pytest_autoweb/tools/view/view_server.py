"""The local page that shows a run that goes on, and the events by which it stays up to date.

Only whoever knows the address has access: it holds a token, since other users of the machine can
reach the port too. A page on another site can make a browser call a local server, so the name in
`Host` must be ours, because a foreign name can be made to resolve to this machine, and requests of
other sites are refused. Only an order to the run changes anything, and the page of this server
alone may give one. The texts of pages and models go to the page as JSON, which makes text nodes of
them; what else a run folder holds, its report among it, is shown as a document without an origin,
which cannot reach this server.
"""

import json
import secrets
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.tokens import is_token
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.large_report import DETAILS_FOLDER
from pytest_autoweb.results.runs.saving import compact_json, plain
from pytest_autoweb.results.runs.watched import touch_watched
from pytest_autoweb.session.worded_orders import order_run
from pytest_autoweb.tools.view.cell_view import PICTURES, cell_view, picture_file
from pytest_autoweb.tools.view.followed_run import Changes, FollowedRun

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page runs and loads only files of this server."""
_SANDBOXED = "sandbox allow-scripts allow-popups allow-downloads"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OWN = ("text/html; charset=utf-8", "text/javascript; charset=utf-8", "text/css; charset=utf-8")
FILES = {
    "": ("view/view.html", _OWN[0]),
    "view.js": ("view/view.js", _OWN[1]),
    "grid.js": ("view/grid.js", _OWN[1]),
    "cell.js": ("view/cell.js", _OWN[1]),
    "orders.js": ("view/orders.js", _OWN[1]),
    "dom.js": ("report/dom.js", _OWN[1]),
    "view.css": ("view/view.css", _OWN[2]),
    "base.css": ("report/base.css", _OWN[2]),
    "icon.svg": ("dashboard/static/icon.svg", "image/svg+xml"),
}
"""By the path behind the token: the file in `templates/` and its content type."""

LOOK_S = 1.0
"""How often the run is looked at while somebody watches."""
_TOUCH_S = 5.0
_BEAT_S = 5.0
_WATCHERS = 32
"""How many pages may follow the run at the same time."""
_MOST_ORDER_BYTES = 10_000
_REASON_CHARS = 600


class _WordedOrder(BaseModel):
    """What the page sends: an order and its words, as `autoweb run ctl` takes them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: str = Field(max_length=100)
    words: list[str] = Field(max_length=10)


class ViewServer(LocalServer):
    """Serves the page of one run.

    Args:
        run: the run, which this server looks at from now on.
    """

    def __init__(self, run: FollowedRun) -> None:
        super().__init__(secrets.token_urlsafe(24), _ViewHandler)
        self.run = run
        self.lock = threading.Lock()
        self.closed = threading.Event()
        """Set when no more events are to be sent."""
        self.watchers = 0
        """How many pages follow the run."""
        self._looked = self._touched = 0.0

    @property
    def address(self) -> str:
        """Return the address of the page, with the token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def look(self) -> None:
        """Look at the run, unless that was just done; call it with the lock held."""
        now = time.monotonic()
        if now - self._looked >= LOOK_S * 0.9:
            self.run.look()
            self._looked = time.monotonic()
        if (
            self.watchers
            and self.run.phase not in ("ended", "died")
            and now - self._touched >= _TOUCH_S
        ):
            touch_watched(self.run.folder)
            self._touched = now


class _ViewHandler(LocalHandler):
    server: ViewServer

    def do_GET(self) -> None:  # the name comes from http.server
        """Answer the page, one of its files, the events, a cell, a picture or the report."""
        try:
            path = self._allowed_path()
            self._answer(path)
        except RequestRefused as error:
            self._send(error.status, error.reason.encode(), "text/plain; charset=utf-8")

    def do_POST(self) -> None:  # the name comes from http.server
        """Give an order to the run, and answer in words what was ordered."""
        try:
            if self._allowed_path() != "orders":
                raise RequestRefused(404, "there is no such page")
            self._send(200, self._given_order().encode(), "text/plain; charset=utf-8")
        except RequestRefused as error:
            self._send(error.status, error.reason.encode(), "text/plain; charset=utf-8")

    def _given_order(self) -> str:
        # A page on another site cannot set either of them.
        if self.headers.get("Origin") != f"http://{self.headers['Host']}":
            raise RequestRefused(403, "orders are taken from the page of this server only")
        if self.headers.get_content_type() != "application/json":
            raise RequestRefused(415, "an order is sent as application/json")
        try:
            sent = _WordedOrder.model_validate_json(self.read_body(_MOST_ORDER_BYTES))
        except ValidationError:
            raise RequestRefused(400, "an order has the fields order and words") from None
        try:
            return order_run(self.server.run.folder, sent.order, sent.words, by="page").told
        except SettingsError as error:
            raise RequestRefused(409, one_line(str(error), _REASON_CHARS)) from None
        except OSError as error:
            reason = f"the order cannot be written: {one_line(str(error), _REASON_CHARS)}"
            raise RequestRefused(500, reason) from None

    def _allowed_path(self) -> str:
        """Return the path behind the token.

        Raises:
            RequestRefused: it is not to be answered.
        """
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        if self.headers.get("Host", "") not in hosts:
            raise RequestRefused(421, "this server does not answer to that host name")
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site", "none")
        # The report has no origin, and so loads its pictures as if it came from elsewhere.
        path = urlsplit(self.path).path
        _, token, *rest = path.split("/") if path.count("/") > 1 else ("", "", "")
        if not is_token(token, self.server.token):
            raise RequestRefused(403, "the token is missing or wrong")
        behind = unquote("/".join(rest))
        if origin is not None and urlsplit(origin).netloc not in hosts:
            raise RequestRefused(403, "requests from other sites are refused")
        if site not in ("none", "same-origin") and not behind.startswith("report/"):
            raise RequestRefused(403, "requests from other sites are refused")
        return behind

    def _answer(self, path: str) -> None:
        kind, _, name = path.partition("/")
        if path in FILES:
            file, content_type = FILES[path]
            self._send(200, (asset_dir("templates") / file).read_bytes(), content_type)
        elif path == "events":
            self._follow()
        elif kind == "cell":
            self._send_cell(name)
        elif kind == "picture":
            epoch, _, rest = name.partition("/")
            number, _, picture = rest.partition("/")
            with self.server.lock:
                folder = self.server.run.place_of(self._cell_at(epoch, number))
            self._send_picture(folder, picture)
        elif kind == "report":
            self._send_report(name)
        else:
            raise RequestRefused(404, "there is no such page")

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] = HEADERS) -> None:
        self.send(status, body, kind, {**HEADERS, **more})

    # -- the run -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Send everything once, and then what changes, as long as somebody reads it."""
        server = self.server
        with server.lock:
            if server.watchers >= _WATCHERS:
                raise RequestRefused(503, "too many pages follow this run")
            server.watchers += 1
        try:
            self.send_response(200)
            for name, value in {**HEADERS, "Content-Type": "text/event-stream"}.items():
                self.send_header(name, value)
            self.end_headers()
            self._send_events()
        except OSError:
            # The page was closed.
            return
        finally:
            with server.lock:
                server.watchers -= 1

    def _send_events(self) -> None:
        server, run = self.server, self.server.run
        epoch, losses, told = 0, 0, Changes(0, {})
        beat = time.monotonic()
        while not server.closed.wait(0 if epoch == 0 else LOOK_S):
            with server.lock:
                server.look()
                kind = "changes" if run.epoch == epoch else "snapshot"
                now = run.changes(told, losses) if kind == "changes" else run.snapshot()
                epoch, losses = run.epoch, len(run.losses)
            content = now.content
            if kind == "changes":
                content = {
                    key: value
                    for key, value in content.items()
                    if value != told.content.get(key) and (value or key not in _LISTS)
                }
            if content:
                self._event(kind, content)
                beat = time.monotonic()
            elif time.monotonic() - beat >= _BEAT_S:
                # Tells whether the page is still there.
                self.wfile.write(b": \n\n")
                beat = time.monotonic()
            told = Changes(now.at, {k: v for k, v in now.content.items() if k not in _LISTS})

    def _event(self, kind: str, content: Mapping[str, Any]) -> None:
        # JSON has no line breaks of its own, so one event is one line.
        self.wfile.write(f"event: {kind}\ndata: {json.dumps(content)}\n\n".encode())

    def _cell_at(self, epoch: str, place: str) -> int:
        """Return the number of a cell, as the page knows it.

        Raises:
            RequestRefused: there is none, or the page knows an earlier run.
        """
        run = self.server.run
        known = place.isascii() and place.isdecimal() and epoch == str(run.epoch)
        if not known or not run.has(int(place[:9])):
            raise RequestRefused(404, "there is no such cell")
        return int(place[:9])

    def _send_cell(self, path: str) -> None:
        epoch, _, number = path.partition("/")
        with self.server.lock:
            place = self._cell_at(epoch, number)
            column, name = self.server.run.column_and_name(place)
            folder = self.server.run.place_of(place)
        view = cell_view(self.server.run.folder, folder)
        content = {**view, "folder": folder, "name": name, "column": column}
        self._send(200, compact_json(plain(content)).encode(), "application/json")

    def _send_picture(self, folder: str, name: str) -> None:
        found = picture_file(self.server.run.folder, folder, name)
        if found is None:
            raise RequestRefused(404, "there is no such picture")
        file, kind = found
        self._send_file(file, kind)

    def _send_file(self, file: Path, kind: str, more: Mapping[str, str] = HEADERS) -> None:
        try:
            content = file.read_bytes()
        except OSError:
            raise RequestRefused(404, "there is no such file") from None
        self._send(200, content, kind, more)

    def _send_report(self, name: str) -> None:
        """Send the report, a part of it or a picture that it shows."""
        run = self.server.run.folder
        parts = name.split("/")
        sandboxed = {"Content-Security-Policy": _SANDBOXED}
        if name == "index.html" or (parts[0] == DETAILS_FOLDER and len(parts) == 2):
            file = (run / name).resolve()
            if file.suffix == ".html" and file.is_relative_to(run.resolve()):
                self._send_file(file, _OWN[0], sandboxed)
                return
        folder = "/".join(parts[:4])
        if Path(name).suffix.lower() in PICTURES and self.server.run.knows(folder):
            self._send_picture(folder, "/".join(parts[4:]))
            return
        raise RequestRefused(404, "the report has no such file")


_LISTS = ("states", "losses")
"""What holds only what is new, and so is not compared with what was told before."""


def serve_in_thread(server: ViewServer) -> threading.Thread:
    """Serve until the server is shut down, in a thread of its own."""
    thread = threading.Thread(target=partial(server.serve_forever, 0.2), daemon=True)
    thread.start()
    return thread
