"""What the small sites beside this file share: pages from a folder, and a table of what was done.

Whatever a visitor does that matters is one row of the table `deeds`, so a check sees what was done,
and nothing besides it.
"""

import argparse
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DEEDS = "create table deeds (what text, item text, detail text);"


class DeedHandler(SimpleHTTPRequestHandler):
    """Serves pages and writes down deeds."""

    def __init__(self, *args: Any, pages: Path, database: Path, **kwargs: Any) -> None:
        self.database = database
        super().__init__(*args, directory=str(pages), **kwargs)

    @contextmanager
    def open_database(self) -> Iterator[sqlite3.Connection]:
        """The database, with what was changed kept at the end."""
        with closing(sqlite3.connect(self.database, timeout=10)) as connection, connection:
            yield connection

    def body(self) -> bytes:
        """Return what the request brings."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def do_POST(self) -> None:
        """`POST /deeds` with `{"what": …, "item": …, "detail": …}`: one more row."""
        deed = json.loads(self.body())
        with self.open_database() as connection:
            connection.execute(
                "insert into deeds (what, item, detail) values (?, ?, ?)",
                (deed["what"], deed.get("item", ""), deed.get("detail", "")),
            )
        self.send_response(204)
        self.end_headers()

    def guess_type(self, path: Any) -> str:
        """All texts are UTF-8."""
        kind = super().guess_type(path)
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def serve(handler: type[DeedHandler], pages: Path, name: str, tables: str = "") -> None:
    """Serve pages until stopped, on a new database `NAME.db` with the deeds and other tables.

    The command line gives `--port PORT --data FOLDER`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    database = options.data / f"{name}.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(DEEDS + tables)
    bound = partial(handler, pages=pages, database=database)
    ThreadingHTTPServer(("127.0.0.1", options.port), bound).serve_forever()
