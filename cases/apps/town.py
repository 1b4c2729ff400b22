"""A town's web site with controls that are easy to mix up: `town.py --port PORT --data FOLDER`.

The pages lie in the folder `town` beside this file. Whatever a visitor does that matters is one row
of the table `deeds` in `FOLDER/town.db`, so a check sees what was done, and nothing besides it.
"""

import argparse
import json
import sqlite3
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "town"


class Handler(SimpleHTTPRequestHandler):
    """Serves the pages and writes down deeds."""

    def __init__(self, *args: Any, database: Path, **kwargs: Any) -> None:
        self.database = database
        super().__init__(*args, directory=str(PAGES), **kwargs)

    def do_POST(self) -> None:
        """`POST /deeds` with `{"what": …, "item": …, "detail": …}`: one more row."""
        deed = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with sqlite3.connect(self.database, timeout=10) as connection:
            connection.execute(
                "insert into deeds (what, item, detail) values (?, ?, ?)",
                (deed["what"], deed.get("item", ""), deed.get("detail", "")),
            )
        connection.close()
        self.send_response(204)
        self.end_headers()

    def guess_type(self, path: Any) -> str:
        """All texts are UTF-8."""
        kind = super().guess_type(path)
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Make an empty table and serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    database = options.data / "town.db"
    connection = sqlite3.connect(database)
    connection.execute("create table deeds (what text, item text, detail text)")
    connection.commit()
    connection.close()
    handler = partial(Handler, database=database)
    ThreadingHTTPServer(("127.0.0.1", options.port), handler).serve_forever()


if __name__ == "__main__":
    main()
