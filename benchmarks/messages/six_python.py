"""Python again: other mistakes of scripts, other modules, and clients of other hosts."""

import asyncio
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from provoked import Provoked, raised

MISTAKES = """
prices = [1]; price
items.append(1)
"a" - "b"
"3" * "4"
int(None)
int("1 200")
float("")
["a"]["0"]
(1, 2)["a"]
{"total": 1}.total
{}["sku"]
[][0]
"text".append("x")
5()
None[0]
len(None)
for a, b in [1, 2]: pass
first, *rest = 5
def f(a, b): pass\nf(1)
def f(a): pass\nf(1, a=2)
def f(a): pass\nf(b=2)
class A: pass\nA().run()
class A:\n  def __init__(self, x): pass\nA()
async def f(): pass\nf().close()\nawait f()
print("a"
if x = 3: pass
else: pass
x = [1, 2
return
yield 1
break
  x = 1
"a" "b
f"{"
1 +
x++
import os.nothing
from json import nothing
import playright
raise ValueError("no rows left")
raise "text"
assert 1 == 2, "cart holds 3 items, not 2"
open("/tmp")
"{} {}".format(1)
"{name}".format(nme=1)
"%s %s" % (1,)
b"a" + "b"
"a".encode("ascii").decode("utf-16")
"é".encode("ascii")
b"\\xff".decode()
int("99999999999" * 1000)
[1, 2].index(3)
{1, 2}.remove(3)
{}.popitem()
min(())
sum(["a"])
sorted([None, 1])
range(0, 5, 0)
chr(2_000_000)
ord("ab")
"abc".replace("a")
isinstance(1, "int")
hash([])
object().x = 1
super().x
lambda: (yield)\nnonlocal x
del missing
while True print(1)
2 ** "a"
5 // 0
5.0 % 0
float("inf").__int__()
import decimal; decimal.Decimal("12,5")
import datetime; datetime.date.fromisoformat("31.12.2026")
import datetime; datetime.datetime(2026, 13, 1)
import datetime; datetime.date.today() - "1"
import json; json.loads("[1, 2")
import json; json.loads('{"a": }')
import json; json.dumps({1, 2})
import re; re.compile("[a")
import re; re.sub("*", "", "a")
import re; re.match("a", "b").group()
import csv; next(csv.reader([]))
import uuid; uuid.UUID("12")
import enum; enum.Enum("A", "b")("c")
import base64; base64.b64decode("a", validate=True)
import ipaddress; ipaddress.ip_address("300.1.1.1")
import zoneinfo; zoneinfo.ZoneInfo("Mars/Base")
import struct; struct.unpack("I", b"a")
import xml.etree.ElementTree as e; e.fromstring("<a>")
import statistics; statistics.mean([])
import random; random.choice([])
import calendar; calendar.monthrange(2026, 13)
import string; string.Template("$a").substitute()
import ast; ast.literal_eval("open()")
import urllib.parse; urllib.parse.urlsplit("http://[1").port
""".strip().splitlines()


def python_errors() -> Iterator[Provoked]:
    """Yield errors of scripts, files, processes and hosts."""
    for line in MISTAKES:
        code = line.encode().decode("unicode_escape") if "\\n" in line else line
        try:
            kind, text = raised(exec, code, {"page": object()})
        except AssertionError:
            continue
        label = "VALIDATION_ERROR" if kind == "AssertionError" else "PARAMETER_ERROR"
        if "ZoneInfo" in kind:
            label = "DATA_NOT_FOUND"
        web = "claim" if kind == "AssertionError" else "script_error"
        text = re.sub(r"\(/\S+?([^/]+\.py)\)", r"(/usr/lib/\1)", text)
        yield Provoked(kind, text, None, label, web, f"python: six {line!r}")
    yield from _files()
    yield from _hosts()


def _files() -> Iterator[Provoked]:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "a").mkdir()
        (base / "a" / "b").write_text("x")
        calls: tuple[tuple[Callable[[], object], str], ...] = (
            (lambda: list((base / "none").iterdir()), "DATA_NOT_FOUND"),
            (lambda: (base / "none.csv").open(), "DATA_NOT_FOUND"),
            (lambda: subprocess.run(["no-such-program"], check=True), "DATA_NOT_FOUND"),
            (lambda: (base / "a").mkdir(), "RESOURCE_CONFLICT"),
            (lambda: (base / "a" / "b").open("x"), "RESOURCE_CONFLICT"),
            (lambda: (base / "a").rmdir(), "RESOURCE_CONFLICT"),
            (lambda: (base / "a").open(), "PARAMETER_ERROR"),
            (lambda: list((base / "a" / "b").iterdir()), "PARAMETER_ERROR"),
            (lambda: subprocess.run([sys.executable, "-c", "pause()"], check=True,
                                    stderr=subprocess.DEVNULL), "UNKNOWN"),
            (lambda: subprocess.run(["sleep", "2"], timeout=0.05), "SERVICE_UNAVAILABLE"),
        )  # fmt: skip
        for act, label in calls:
            kind, text = raised(act)
            text = text.replace(folder, "/data").replace(sys.executable, "python")
            yield Provoked(kind, text, None, label, "", "python: six file")
    yield from _refused()


def _refused() -> Iterator[Provoked]:
    """Yield what the system refuses a user without rights."""
    acts = ("open('/etc/shadow')", "open('/etc/new', 'w')", "import os; os.mkdir('/var/x')",
            "import os; os.kill(1, 9)")  # fmt: skip
    for act in acts:
        code = (
            f"import os; os.setgid(65534); os.setuid(65534)\ntry: exec({act!r})\n"
            "except Exception as e: print(type(e).__name__, e, sep='\\t')"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
        )
        kind, _, text = done.stdout.strip().partition("\t")
        yield Provoked(kind, text, None, "PERMISSION_ERROR", "", "python: six rights")


def _hosts() -> Iterator[Provoked]:
    """Yield errors of clients whose hosts do not answer."""
    import aiohttp
    import httpx
    import requests
    import urllib3

    with closing(socket.socket()) as taken, closing(socket.create_server(("127.0.0.1", 0))) as mute:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        slow = f"http://127.0.0.1:{mute.getsockname()[1]}/"

        async def by_aiohttp(url: str) -> None:
            limit = aiohttp.ClientTimeout(total=0.2)
            async with aiohttp.ClientSession(timeout=limit) as session, session.get(url):
                pass

        down: tuple[Callable[[], object], ...] = (
            lambda: requests.get(dead, timeout=1),
            lambda: requests.get(slow, timeout=0.2),
            lambda: requests.get("http://no-such-host.invalid/", timeout=1),
            lambda: httpx.get(dead),
            lambda: httpx.get(slow, timeout=0.2),
            lambda: asyncio.run(by_aiohttp(dead)),
            lambda: asyncio.run(by_aiohttp(slow)),
            lambda: urllib3.PoolManager(retries=False).request("GET", dead),
            lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.1),
            lambda: socket.getaddrinfo("no-such-host.invalid", 80),
        )
        for act in down:
            kind, text = raised(act)
            yield Provoked(kind, text, None, "SERVICE_UNAVAILABLE", "", "python: six host")
        for url in ("stock/items", "htp://x", "http://"):
            kind, text = raised(lambda url=url: requests.get(url, timeout=1))
            yield Provoked(kind, text, None, "PARAMETER_ERROR", "", "python: six url")
