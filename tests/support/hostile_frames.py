"""Scripts for a hostile worker, the host that serves it, and a page that remembers every call."""

import inspect
import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import scripted_worker
from monitored_worker import with_module
from playwright import sync_api

from pytest_autoweb.sandbox.allowed_members import CLASSES, MANAGER_EXIT, SECRET_METHODS
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder
from pytest_autoweb.sandbox.worker_process import WorkerProcess, Workers

SECRET = "hunter2-hunter2"
ALLOWED = "http://shop.test"
PAGE_URL = f"{ALLOWED}/a?token={SECRET}"
_BY_THE_HOST = {
    *("url", "frames", "is_closed", "title", "locator", "context", "remove_listener", "mask"),
    *("element_handle", "owner_frame", "first", "page", "name", "dismiss"),
}
"""What the host reads and calls of its own accord."""
_SETTINGS = {"url", "frames", "pages", "context", "keyboard", "mouse", "first", "last", "owner"}
_SETTINGS |= {"main_frame", "content_frame", "page", "value", "headers", "name"}


class ScriptedProcess(WorkerProcess):
    """A process that plays scripts in place of the worker."""

    _booted = False

    def _write(self, data: bytes) -> None:
        if not self._booted:
            self._booted = True
            data = with_module(data, Path(scripted_worker.__file__), alone=True)
        super()._write(data)


class ScriptedWorkers(Workers):
    """Hands out such processes."""

    def _start(self, limits: Limits) -> WorkerProcess:
        return ScriptedProcess(memory_mb=limits.memory_mb, cpu_s=limits.cpu_s, walls=self._walls)


# -- the page --------------------------------------------------------------------------------


class Call:
    """One use of an object of Playwright."""

    def __init__(self, kind: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.kind, self.name, self.args, self.kwargs = kind, name, args, kwargs

    def complaint(self, artifacts: Path) -> str:
        """Why the host should not have made this call; empty: it is fine."""
        values = [*self.args, *self.kwargs.values()]
        if self.name not in CLASSES[self.kind] and self.name not in _BY_THE_HOST:
            return f"{self.kind}.{self.name} is not on the list"
        # The page's own address may be opened again.
        if SECRET in repr(values).replace(PAGE_URL, "") and self.name not in SECRET_METHODS:
            return f"{self.name} was given a secret"
        path = self._given("path")
        if path is not None and Path(path).parent != artifacts:
            return f"{self.name} may write {path}"
        url = self.kwargs.get("url", "") if self.name == "goto" else ""
        if url not in {"", "about:blank"} and f"http://{urlsplit(url).netloc}" != ALLOWED:
            return f"goto({url!r})"
        files = self._given("files") or []
        if any(isinstance(item, str) and Path(item).name != "listed.txt" for item in files):
            return f"{self.name} may read {files}"
        return ""

    def _given(self, name: str) -> Any:
        """An argument, if Playwright's method takes one of that name."""
        method = getattr(getattr(sync_api, self.kind, None), self.name, None)
        takes = callable(method) and name in inspect.signature(method).parameters
        return self.kwargs.get(name) if takes else None


class Fake:
    """An object of Playwright that only remembers; `calls` is shared by all."""

    def __init__(self, calls: list[Call], rng: random.Random) -> None:
        self.__dict__.update(_calls=calls, _rng=rng)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        kind = type(self).__name__
        if name in _SETTINGS:
            self._calls.append(Call(kind, name, (), {}))
            return self._setting(name)

        def method(*args: Any, **kwargs: Any) -> Any:
            self._calls.append(Call(kind, name, args, kwargs))
            for value in [*args, *kwargs.values()]:
                if callable(value) and not name.startswith(("on", "once", "remove")):
                    value(self._new("Request"))
            if name.startswith("expect_"):
                return FakeWait(self._new("EventInfo"))
            member = CLASSES[kind].get(name)
            found = member.returns if member and member.kind == "chain" else ""
            return self._new(found) if found else self._given()

        return method

    def _setting(self, name: str) -> Any:
        match name:
            case "url":
                return PAGE_URL
            case "headers":
                return {"cookie": SECRET, "accept": "*/*"}
            case "name":
                return "frame"
            case "frames" | "pages":
                return [self._new("Frame")]
        kinds = {"context": "BrowserContext", "keyboard": "Keyboard", "mouse": "Mouse"}
        return self._new(kinds.get(name, "Locator"))

    def _new(self, kind: str) -> "Fake":
        made: Fake = FAKES[kind](self._calls, self._rng)
        return made

    def _given(self) -> Any:
        kind = self._rng.choice(sorted(CLASSES))
        given = (
            None,
            True,
            3,
            f"text {SECRET}",
            b"x",
            ["a"],
            {"b": [1]},
            self._new(kind),
            object(),
        )
        return self._rng.choice(given)


FAKES = {name: type(name, (Fake,), {"__module__": "playwright.fake"}) for name in CLASSES}


class FakeWait:
    """What `page.expect_…()` gives."""

    def __init__(self, info: Fake) -> None:
        self._info = info

    def __enter__(self) -> Fake:
        return self._info

    def __exit__(self, *_: object) -> None:
        return


def border_of(page: Any, folder: Path) -> SandboxBorder:
    """What a case with one origin, one secret and one file allows."""
    return SandboxBorder(
        page=page,
        artifacts=folder,
        secrets={"pw": SECRET},
        allowed=lambda url: url.startswith(f"{ALLOWED}/"),
        secret_allowed=lambda url: url.startswith(f"{ALLOWED}/"),
        files={"listed.txt": folder / "listed.txt"},
        redact=lambda text: text.replace(SECRET, "<secret:pw>"),
    )


# -- the frames ------------------------------------------------------------------------------

_ODD_TEXTS = (
    *("", "a", "../../x", "/etc/passwd", "C:\\x", "con", "a\u0000b", "\u202egnp.x", "x" * 300),
    *("file:///etc/passwd", "http://shop.test@evil.test/", "http://evil.test/", "javascript:1"),
    *("http://shop.test/ok", "//evil.test", "<secret:pw>", "<secret:no>", "$exit", "__class__"),
    *("$p", "::error::x", "\ud800", "🙂", "**/*?*?*?*?*?*?*?*", "listed.txt", "shot.png"),
)


def script_of(rng: random.Random) -> str:
    """What a hostile worker does in one step."""
    said: list[list[Any]] = []
    for _ in range(rng.randint(1, 6)):
        line = line_of(rng)
        said.append(["say", line.hex()] if len(line) < 1_000_000 else ["flood", len(line)])
    ends: tuple[list[list[Any]], ...] = (
        [["say", _line(_done(rng, ok=True)).hex()]],
        [["say", _line(_done(rng, ok=False)).hex()]],
        [["die", rng.choice((0, 1, 78, 255))]],
    )
    return json.dumps([*said, *rng.choice(ends)] if rng.random() < 0.95 else [*said, ["hang"]])


def line_of(rng: random.Random) -> bytes:
    """A line: mostly a call, whole or damaged."""
    frame = rng.choice((_call, _call, _call, _call, _other))(rng)
    if rng.random() < 0.1:
        _damage(frame, rng)
    line = _line(frame)
    return line if rng.random() < 0.93 else _damaged(line, rng)


def _line(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame).encode() + b"\n"


def _call(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(("Page",) * 5 + ("Locator", rng.choice(sorted(CLASSES))))
    chain = [_segment(rng) for _ in range(rng.choice((0,) * 6 + (1, 1, 2, 65)))]
    if kind == "Locator":
        chain = [["locator", ["a"], {}]]
    names = [*CLASSES[kind]]
    if rng.random() < 0.1:
        names = [MANAGER_EXIT, "request", "_impl_obj", "route", "__class__"]
    return {
        "op": "call",
        "id": rng.randint(0, 5),
        "root": rng.choice(("h1",) * 9 + (f"h{rng.randint(2, 9)}", rng.choice(("", "page")))),
        "chain": chain,
        "expect": rng.random() < 0.1,
        "message": rng.choice((None, None, "text")),
        "method": rng.choice((rng.choice(names), "goto", "screenshot", "fill", "set_input_files")),
        "args": [_value(rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))],
        "kwargs": {
            rng.choice(("timeout", "path", "url", "files", "name", "predicate", "event", "value")):
            _value(rng)
            for _ in range(rng.choice((0, 0, 1, 2)))
        },
        "line": rng.choice((None, 1, -5, 10**30)),
    }  # fmt: skip


def _segment(rng: random.Random, depth: int = 0) -> list[Any]:
    members = [name for name, member in CLASSES["Page"].items() if member.kind in ("chain", "link")]
    name = rng.choice((*members, "nth", "first", "evaluate", "context", "_root"))
    value = _value(rng, depth + 1)
    return rng.choice(([name], [name, [value], {}], [name, [], {"has": value}], [1]))


def _value(rng: random.Random, depth: int = 0) -> Any:
    plain = (None, True, 0, 1, -1, 1e308, 10**400, rng.choice(_ODD_TEXTS), rng.choice(_ODD_TEXTS))
    if depth > 3 or rng.random() < 0.75:
        return rng.choice(plain)
    if rng.random() < 0.2:
        return {"$p": {"root": "h1", "kind": "Page", "chain": [_segment(rng, depth)]}}
    inner = _value(rng, depth + 1)
    return rng.choice(
        (
            [inner, inner],
            {rng.choice(_ODD_TEXTS): inner, "name": inner, "buffer": inner},
            {"$p": inner},
            {"$cb": rng.choice((1, -1, inner))},
            {"$re": ["(a+)+$", 0]},
            {"$re": [inner, inner]},
            {"$float": rng.choice(("nan", "inf", "x"))},
            {"$dict": [[inner, inner]]},
            {"$set": [inner, inner]},
            {"$tuple": [inner]},
            {"$bytes": inner},
            {"$date": inner},
            {"$timedelta": rng.choice((1e300, -1, inner))},
            {"$decimal": "1e999999"},
            {"$new": inner},
        )
    )


def _other(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        (
            {"op": "log", "text": rng.choice(_ODD_TEXTS) * rng.choice((1, 5_000)), "line": 1},
            {"op": "answer", "value": _value(rng), "line": None},
            {"op": "cbdone", "id": 1, "value": True, "error": rng.choice((None, "x"))},
            {"op": "ready", "landlock": 9, "seccomp": True, "audit": True},
            {"op": "denied", "event": rng.choice(_ODD_TEXTS), "line": rng.choice((0, 7))},
            {"op": rng.choice(("run", "reply", "", "call")), "id": 1},
            _done(rng, ok=rng.random() < 0.5),
        )
    )


def _done(rng: random.Random, *, ok: bool) -> dict[str, Any]:
    kind = rng.choice(("ValueError", "MemoryError", "\x1b[2J", "x" * 500))
    error = {"type": kind, "message": rng.choice(_ODD_TEXTS), "line": rng.choice((None, 10**30))}
    names = [rng.choice(("a", "b c", "é", "x" * 201)) for _ in range(rng.choice((0, 1, 2)))]
    variables = {rng.choice(_ODD_TEXTS): _value(rng)} if rng.random() < 0.5 else None
    return {"op": "done", "ok": ok, "error": None if ok else error, "names": names,
            "vars": variables}  # fmt: skip


def _damage(frame: dict[str, Any], rng: random.Random) -> None:
    """Drop, add or replace one member."""
    name = rng.choice(list(frame))
    match rng.randint(0, 2):
        case 0:
            del frame[name]
        case 1:
            frame[rng.choice(_ODD_TEXTS)] = _value(rng)
        case _:
            frame[name] = _value(rng)


def _damaged(line: bytes, rng: random.Random) -> bytes:
    """Bytes that are no longer the line that they were."""
    place = rng.randint(0, len(line))
    return rng.choice(
        (
            line[:place],
            line[:place] + b"\n" + line[place:],
            line[:place] + bytes([rng.randint(0, 255)]) + line[place:],
            line.replace(b'"op"', b'"op":"log","op"', 1),
            line.replace(b"null", b"NaN"),
            line.replace(b"null", b"9" * 5_000),
            line.replace(b"null", b"[" * 300 + b"]" * 300),
            b"[" * 100_000 + b"\n",
            b"\n\n" + line + line,
            b'{"op":"log","text":"' + b"x" * 4_100_000 + b'"}\n',
            b"\xff\xfe\x00" + line,
        )
    )
