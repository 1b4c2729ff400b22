"""The rows of SQLite files before and after an attempt, and what was written in between."""

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from pytest_autoweb.judging.evidence.written import Write

MOST_ROWS = 200_000
"""Limit on the rows of a file that are compared; a larger file is left out."""
_SECONDS = 5.0
_VALUE_CHARS = 200

Row = Mapping[str, str]
Tables = Mapping[str, Mapping[str, Row]]
"""The rows of each table by their keys."""


class Incomparable(Exception):
    """Raised when a database cannot be compared; the message gives the reason."""


def read_tables(path: Path) -> Tables:
    """Read all rows of a file; it is opened read-only.

    Raises:
        Incomparable: it is not there, is no database, is too large or takes too long.
    """
    if not path.is_file():
        raise Incomparable(f"there is no database {path.name}")
    ends = time.monotonic() + _SECONDS
    uri = path.absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_SECONDS)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.set_progress_handler(lambda: int(time.monotonic() > ends), 10_000)
            names = database.execute(
                "select name from sqlite_master where type = 'table' and sql not like"
                " 'create virtual%' and name not like 'sqlite\\_%' escape '\\' order by name"
            ).fetchall()
            left, tables = MOST_ROWS, {}
            for (name,) in names:
                tables[name] = dict(_rows(database, name, left))
                left -= len(tables[name])
            return tables
    except sqlite3.Error as error:
        raise Incomparable(f"{path.name} cannot be compared: {error}") from error


def _rows(database: sqlite3.Connection, table: str, most: int) -> Iterator[tuple[str, Row]]:
    quoted = '"' + table.replace('"', '""') + '"'
    keys = [row[1] for row in database.execute(f"pragma table_info({quoted})") if row[5]]
    # A table without a key of its own has SQLite's.
    found = database.execute(f"select {'' if keys else 'rowid, '}* from {quoted} limit {most + 1}")
    columns = [column[0] for column in found.description]
    for number, row in enumerate(found):
        if number >= most:
            raise Incomparable(f"more than {MOST_ROWS:,} rows are not compared")
        told = {name: _text(value) for name, value in zip(columns, row, strict=True)}
        key = "/".join(told[name] for name in keys or columns[:1])
        yield key, {name: told[name] for name in columns[0 if keys else 1 :] if name not in keys}


def _text(value: object) -> str:
    text = value.hex() if isinstance(value, bytes) else "" if value is None else str(value)
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[:_VALUE_CHARS]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def rows_written(database: str, before: Tables, after: Tables) -> Iterator[Write]:
    """Yield what was written to a database; a new row's key is the application's choice."""
    for table in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(table, {}), after.get(table, {})
        for key, row in new.items():
            if key not in old:
                yield Write("insert", (database, table), row)
            elif old[key] != row:
                changed = {
                    name: value for name, value in row.items() if old[key].get(name) != value
                }
                yield Write("update", (database, table, key), changed)
        for key in old:
            if key not in new:
                yield Write("delete", (database, table, key), {})
