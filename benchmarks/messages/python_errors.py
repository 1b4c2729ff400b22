"""Errors of Python and of its standard library, by running code that has them."""

import asyncio
import http.client
import json
import socket
import sqlite3
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from provoked import Provoked, raised

SCRIPTS = """
total + 1
int("abc")
int("12,50")
"5" + 5
5 + "5"
[1, 2][7]
{"a": 1}["b"]
None.click()
"abc".nope()
len(5)
(lambda a: a)()
(lambda: 1)(2)
(lambda *, name: name)(nam=1)
1 / 0
"x".join([1])
float("zwölf")
"%d" % "x"
"{0}".format()
(1, 2, 3)[1] = 4
a, b = (1, 2, 3)
a, b = (1,)
for x in 5: pass
next(iter([]))
[].pop()
max([])
"abc".index("z")
[1].remove(2)
import_me()
page.clik("#a")
if True print(1)
x = (1,
    y = 1
return 5
"unfinished
def f(:
range("a")
sorted([1, "a"])
"a" < 1
import re; re.compile("(")
import datetime; datetime.datetime.strptime("31.02.", "%Y-%m-%d")
import datetime; datetime.date(2026, 2, 30)
import json; json.loads("{'a': 1}")
import json; json.loads("")
import math; math.sqrt(-1)
round("1")
""".strip().splitlines()

_RECURSION = "def f(): return f()\nf()"


def script_errors() -> Iterator[Provoked]:
    """Yield mistakes that generated scripts make."""
    for code in [*SCRIPTS, _RECURSION]:
        names: dict[str, object] = {"page": object()}
        kind, text = raised(exec, code, names)
        yield Provoked(kind, text, None, "PARAMETER_ERROR", "script_error", f"python: {code!r}")


def _sql(statement: str) -> tuple[str, str]:
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(
            "pragma foreign_keys = on;"
            "create table batch (id integer primary key, code text not null unique);"
            "create table item (id integer primary key, batch integer references batch,"
            " amount integer check (amount > 0));"
            "insert into batch values (1, 'MB-001'); insert into item values (1, 1, 5);"
        )
        return raised(lambda: base.execute(statement).fetchall())


SQL = (
    ("insert into batch values (1, 'MB-002')", "RESOURCE_CONFLICT"),
    ("insert into batch values (2, 'MB-001')", "RESOURCE_CONFLICT"),
    ("insert into batch values (2, null)", "VALIDATION_ERROR"),
    ("insert into item values (2, 1, -5)", "VALIDATION_ERROR"),
    ("insert into item values (2, 99, 5)", "VALIDATION_ERROR"),
    ("select * from orders", "DATA_NOT_FOUND"),
    ("select price from item", "DATA_NOT_FOUND"),
    ("selct * from item", "PARAMETER_ERROR"),
    ("select * from item where", "PARAMETER_ERROR"),
    ("select * from item where id = ?", "PARAMETER_ERROR"),
    ("select lenght(code) from batch", "PARAMETER_ERROR"),
)


def database_errors() -> Iterator[Provoked]:
    """Yield errors of a real SQLite database, its lock included."""
    for statement, label in SQL:
        yield Provoked(*_sql(statement), None, label, "", f"sqlite: {statement}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.db")
        with (
            closing(sqlite3.connect(path)) as first,
            closing(sqlite3.connect(path, timeout=0)) as second,
        ):
            first.execute("begin exclusive")
            said = raised(lambda: second.execute("create table a (b)"))
            yield Provoked(*said, None, "RESOURCE_CONFLICT", "", "sqlite: a locked database")


def system_errors() -> Iterator[Provoked]:
    """Yield errors of the operating system, as Python words them."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "file").write_text("x")
        calls = (
            (lambda: (base / "none").read_text(), "DATA_NOT_FOUND"),
            (lambda: (base / "file").mkdir(), "RESOURCE_CONFLICT"),
            (lambda: (base / "file" / "a").read_text(), "PARAMETER_ERROR"),
            (lambda: base.read_text(), "PARAMETER_ERROR"),
        )
        for act, label in calls:
            kind, text = raised(act)
            yield Provoked(kind, text.replace(folder, "/data"), None, label, "", "python: files")


def network_errors() -> Iterator[Provoked]:
    """Yield what the standard library says of hosts that do not answer."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{port}/"
        hung = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        calls = (
            lambda: urllib.request.urlopen(url),
            lambda: urllib.request.urlopen(hung, timeout=0.2),
            lambda: urllib.request.urlopen("http://no-such-host.invalid/"),
            lambda: socket.create_connection(("127.0.0.1", port)),
            lambda: http.client.HTTPConnection("127.0.0.1", port).request("GET", "/"),
            lambda: asyncio.run(asyncio.open_connection("127.0.0.1", port)),
            lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(1), 0.05)),
        )
        for act in calls:
            kind, text = raised(act)
            yield Provoked(kind, text, None, "SERVICE_UNAVAILABLE", "", "python: network")
        silent.close()
        kind, text = raised(lambda: urllib.request.urlopen("localhost:1"))
        yield Provoked(kind, text, None, "PARAMETER_ERROR", "", "python: a URL without a scheme")


def unclassified() -> Iterator[Provoked]:
    """Yield errors that say nothing."""
    for text in ("", "boom", "Something went wrong", "oops", "-1", "出错了", "Fehler"):
        yield Provoked("Error", text, None, "UNKNOWN", "", "javascript: throw new Error(text)")
    kind, text = raised(lambda: json.dumps(sys))
    yield Provoked(kind, text, None, "PARAMETER_ERROR", "script_error", "python: json.dumps")
