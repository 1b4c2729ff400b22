"""A pottery's front desk, hard to read and to operate: `desk.py --port PORT --data FOLDER`.

Its pages, in the folder `desk` beside this file, have what automation stumbles over: a list that is
redrawn while it is scrolled, an error of the server on the way, tabs, dialogs, frames, shadow
roots, a calendar made of boxes, controls that appear under the pointer, a slow page. What was done
is in `FOLDER/desk.db`.
"""

import json
import time
from email import message_from_bytes
from pathlib import Path
from urllib.parse import urlsplit

from deeds import DeedHandler, serve

PAGES = Path(__file__).parent / "desk"
TABLES = """
create table orders (no integer primary key, reason text);
create table failures (no integer);
create table papers (code text, name text, content text);
create table notices (name text primary key, content text);
insert into notices values
  ('kiln-rules.txt', 'Only staff may open a kiln.
Wear gloves.'),
  ('opening-hours.txt', 'Monday closed
Tuesday to Friday 9:00-18:00
Saturday 10:00-16:00
Sunday closed');
"""
TERMS = """Terms of delivery, edition 7

1. Goods leave the pottery within five days.
2. Who sends an agreement states the approval code HARBOUR-2291 with it.
3. The code of edition 6, HARBOUR-1880, is not valid any more.
"""
SLOW_S = 9.0
"""How long the report takes: longer than one call of generated code may wait for its element."""


class Desk(DeedHandler):
    """Serves the pages, and what they ask for and send."""

    def do_GET(self) -> None:
        """A file to keep, a notice, the slow report, or a page."""
        path = urlsplit(self.path).path
        if path == "/terms.txt":
            self._send(200, TERMS, "terms.txt")
        elif path.startswith("/notices/"):
            with self.open_database() as connection:
                found = connection.execute(
                    "select content from notices where name = ?", (path.rpartition("/")[2],)
                ).fetchone()
            self._send(200 if found else 404, found[0] if found else "")
        else:
            if path == "/report.html":
                time.sleep(SLOW_S)
            super().do_GET()

    def do_POST(self) -> None:
        """Take an order's cancellation, papers, a notice, or a deed."""
        path = urlsplit(self.path).path
        if path.startswith("/orders/"):
            self._cancel(int(path.split("/")[2]))
        elif path == "/papers":
            self._file_papers()
        elif path.startswith("/notices/"):
            content = self.body().decode()
            with self.open_database() as connection:
                connection.execute(
                    "update notices set content = ? where name = ?",
                    (content, path.rpartition("/")[2]),
                )
            self._send(204)
        else:
            super().do_POST()

    def _cancel(self, number: int) -> None:
        """The first try fails, as servers do now and then."""
        reason = json.loads(self.body())["reason"]
        with self.open_database() as connection:
            if not connection.execute("select 1 from failures").fetchone():
                connection.execute("insert into failures values (?)", (number,))
                self._send(500, "the order book is locked")
                return
            connection.execute("insert or replace into orders values (?, ?)", (number, reason))
        self._send(204)

    def _file_papers(self) -> None:
        head = f"Content-Type: {self.headers['Content-Type']}\n\n".encode()
        form = message_from_bytes(head + self.body())
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in form.walk()
            if not part.is_multipart()
        }
        code, agreement = (parts[name].get_payload(decode=True) for name in ("code", "agreement"))
        row = (code.decode(), parts["agreement"].get_filename(), agreement.decode())
        with self.open_database() as connection:
            connection.execute("insert into papers values (?, ?, ?)", row)
        self.send_response(303)
        self.send_header("Location", "/papers-sent.html")
        self.end_headers()

    def _send(self, status: int, text: str = "", save_as: str = "") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if save_as:
            self.send_header("Content-Disposition", f'attachment; filename="{save_as}"')
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    serve(Desk, PAGES, "desk", TABLES)
