"""The process that runs generated code: no Playwright, no secrets, no files, no network.

`worker_process.WorkerProcess` starts it with `python -I -S -c`, an empty environment and only two
pipes, or as a fork of a process that was started in this way and has run no code
(`worker_template.py`). Its modules also arrive through a pipe, so it reads no file of this package.
"""

import dataclasses
import io
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from pytest_autoweb.sandbox import (
    allowed_members,
    allowed_python,
    confine,
    frame_codec,
    own_dataclasses,
    proxies,
    stand_ins,
)

_MODULE = "step"
# Other codecs would be loaded from disk at first use.
_ENCODINGS = frozenset({"utf-8", "utf8", "utf-8-sig", "utf-16", "latin-1", "iso-8859-1", "cp1252"})
_ON_ERRORS = frozenset({None, "strict", "ignore", "replace"})
# Values beyond these bounds are dropped without an error, because they only serve to restart a step
# and to explain a failure.
_MAX_VARS_BYTES = 1_000_000
_MAX_NAMES = 500
_MAX_CAUSES = 5
_MAX_MESSAGE = 20_000


class Error(Exception):
    """Playwright's `Error` as generated code sees it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.name = type(self).__name__
        self.stack = ""


# Models write `except TimeoutError` without an import, so that must catch Playwright's, too.
PlaywrightTimeout: type[Exception] = type("TimeoutError", (Error, TimeoutError), {})


class Refused(BaseException):
    """Raised when the host refused a call; not an `Exception`, so that code does not swallow it."""


_ERRORS: dict[str, Callable[[str], BaseException]] = {
    "TimeoutError": PlaywrightTimeout,
    "AssertionError": AssertionError,
    "TypeError": TypeError,
    "ValueError": ValueError,
    "Refused": Refused,
}


class Pipe:
    """The two descriptors to the host, under numbers that generated code cannot use."""

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self._in, self._out, self._rest = in_fd, out_fd, b""

    def send(self, frame: dict[str, Any]) -> None:
        """Send one frame; raises WireError, having written nothing, if it does not fit."""
        line = frame_codec.to_line(frame, frame_codec.MAX_FROM_WORKER)
        frame_codec.check_values(line)
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._out, rest) :]

    def receive(self) -> dict[str, Any]:
        """Wait for one frame, and end the process if the host is gone."""
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                os._exit(0)
            chunks.append(chunk)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return frame_codec.from_line(line)


class Worker:
    """The worker's state: one namespace for all blocks, and the conversation with the host.

    It does nothing of its own accord. `serve` waits for the host's frames:

    - `run`: answer `begun`, run a block, answer `done` with its error, or with the variables that
      would survive a restart.
    - `restore`: take over variables that an earlier worker reported.
    - `cb`: call a function of the code with an event's object, answer `cbdone`.

    While a block runs, the roles are reversed: each action of a proxy sends `call` and waits for
    the `reply` of the same number. Callbacks that arrive in the meantime are served there, and may
    make calls themselves; `_replies` keeps a reply to another call than the innermost one.

    `names` is the namespace of all blocks of an attempt. `_at_start` is a copy of what it held when
    the current block began; a block that is run again starts from that copy, or anything that its
    first run appended would be there twice. `__builtins__` is set anew before each block, because
    code may have deleted it, and `exec` would then provide the real ones. `_callbacks` holds the
    functions that were handed to the host; they keep their numbers and are never removed.

    The walls are raised between the construction of this object and `serve`: afterwards no module
    can be loaded from disk any more.
    """

    def __init__(self, pipe: Pipe, real: dict[str, types.ModuleType]) -> None:
        self.pipe = pipe
        self._replies: dict[int, dict[str, Any]] = {}
        self._last_call = 0
        self._callbacks: dict[int, Callable[..., Any]] = {}
        self._file = ""
        self.page = proxies.make_proxy("Page", self, "")
        self._offered: dict[str, Callable[..., Any]] = {}
        self.records = own_dataclasses.Records(_MODULE)
        self.names = self._given(real)
        self._builtins = dict(self.names["__builtins__"])
        self._at_start = dict(self.names)

    def _given(self, real: dict[str, types.ModuleType]) -> dict[str, Any]:
        expect, helpers = proxies.make_expect(self), _helpers(self)
        records = self.records
        errors = {"Error": Error, "TimeoutError": PlaywrightTimeout}
        modules = stand_ins.stand_ins(
            real,
            {
                "playwright.sync_api": {**proxies.TYPES, **errors, "expect": expect},
                "time": {"sleep": helpers["sleep"]},
                "dataclasses": {"dataclass": records.dataclass},
            },
        )
        own = {
            "__build_class__": records.build,
            "open": helpers["open"],
            "property": property,
        }
        builtins = stand_ins.restricted_builtins(
            modules, {**errors, **own, "print": helpers["log"]}
        )
        handy = {name: modules[name] for name in ("re", "json", "math", "datetime")}
        given = {"expect": expect, "answer": helpers["answer"], "log": helpers["log"]}
        return {"__builtins__": builtins, "__name__": _MODULE, **handy, **given}

    def serve(self) -> None:
        """Serve the host until it closes the pipe."""
        while True:
            frame = self.pipe.receive()
            match frame["op"]:
                case "run":
                    # From here on, the code may be the cause of the worker's end.
                    self.pipe.send({"op": "begun"})
                    self._run(frame)
                case "restore":
                    self.names.update(frame_codec.decode(frame["vars"], self._unspecial))
                    # The next block may be a retry, which starts from these.
                    self._at_start = _copied(self.names)
                # Pages raise events between two steps, too, for listeners of an earlier one.
                case "cb":
                    self._serve_callback(frame)

    # -- running a block ---------------------------------------------------------------

    def _run(self, frame: dict[str, Any]) -> None:
        # A retried block starts with the variables as they were when it began; otherwise, anything
        # its first run appended or counted would be there twice.
        if frame["rerun"]:
            self.names.clear()
            self.names.update(_copied(self._at_start))
        else:
            self._at_start = _copied(self.names)
        root, kind = frame["root"]
        page = self.names["page"] = self.page = proxies.make_proxy(kind, self, root)
        self._offered = {name: self._function(page, name) for name in frame.get("functions", ())}
        # Code may have deleted `__builtins__`, and then `exec` would provide the real ones.
        self.names.update(self._offered, __builtins__=dict(self._builtins))
        self._file = f"<step {frame['index']}>"
        error = self._execute(frame["code"])
        names = [name for name in self.names if self._is_users(name)][:_MAX_NAMES]
        done = {"op": "done", "ok": error is None, "error": error, "names": names}
        self.pipe.send({**done, "vars": None if error else self._snapshot(names)})

    def _function(self, page: proxies.Proxy, name: str) -> Callable[..., Any]:
        """Return a global function that the host performs."""

        def function(*args: Any, **kwargs: Any) -> Any:
            return self.call(
                proxies.receiver_of(page), name, *proxies.encode_arguments(self, args, kwargs)
            )

        return function

    def _execute(self, code: str) -> dict[str, Any] | None:
        try:
            exec(compile(code, self._file, "exec", dont_inherit=True), self.names)
        except BaseException as error:  # any exception of the block is data for the host
            kind = "Refused" if isinstance(error, Refused) else type(error).__name__
            causes = [[type(cause).__name__, _text_of(cause)] for cause in _causes_of(error)]
            told = {"type": kind, "message": _text_of(error), "causes": causes}
            return {**told, "line": self._line_of(error)}
        return None

    def _line_of(self, error: BaseException) -> int | None:
        # If the block itself cannot be compiled, the traceback has no frame of it.
        if isinstance(error, SyntaxError) and error.filename == self._file:
            return error.lineno
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def current_line(self) -> int | None:
        """Return the line of the running block that leads to this call."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return frame.f_lineno
            if frame.f_back is None:
                break
            frame = frame.f_back
        return None

    def _is_users(self, name: str) -> bool:
        return (
            not name.startswith("_")
            and len(name) <= frame_codec.MAX_NAME_CHARS
            and name not in allowed_python.GIVEN_NAMES
            and name not in self._offered
            and not isinstance(self.names[name], types.SimpleNamespace)
        )

    def _snapshot(self, names: list[str]) -> dict[str, Any]:
        """Return the variables that survive a restart: plain values, and handles of the host."""
        kept: dict[str, Any] = {}
        room, parts = _MAX_VARS_BYTES, frame_codec.MAX_VALUES_FROM_WORKER // 2
        for name in names:
            try:
                data = frame_codec.encode(self.names[name], self._without_callbacks)
                line = frame_codec.to_line({"value": data})
                parts -= frame_codec.check_values(line)
                room -= len(line)
            except frame_codec.WireError:
                continue
            if room < 0 or parts < 0:
                break
            kept[name] = data
        return kept

    # -- the border --------------------------------------------------------------------

    def encode(self, value: Any) -> Any:
        """Encode a value, which may hold proxies and callbacks, as wire data."""
        return frame_codec.encode(value, self._special)

    def call(self, target: dict[str, Any], method: str, args: Any, kwargs: Any) -> Any:
        """Have the host perform a call, serving callbacks while waiting for the reply."""
        self._last_call += 1
        number = self._last_call
        frame = {"expect": False, "message": None, **target, "op": "call", "id": number}
        what = {"method": method, "args": args, "kwargs": kwargs, "line": self.current_line()}
        try:
            self.pipe.send({**frame, **what})
        except frame_codec.WireError as error:
            raise TypeError(str(error)) from None
        return self._await_reply(number)

    def _await_reply(self, number: int) -> Any:
        while number not in self._replies:
            frame = self.pipe.receive()
            if frame["op"] == "cb":
                self._serve_callback(frame)
            else:
                self._replies[frame["id"]] = frame
        reply = self._replies.pop(number)
        if reply["error"] is not None:
            kind, message = reply["error"]
            raise _ERRORS.get(kind, Error)(message)
        return frame_codec.decode(reply["value"], self._unspecial)

    def _serve_callback(self, frame: dict[str, Any]) -> None:
        value: Any = None
        error: str | None = None
        try:
            # Looked up within `try`: an unregistered number must be answered, too, or the host
            # would wait for ever.
            function = self._callbacks[frame["callback"]]
            args = frame_codec.decode(frame["args"], self._unspecial)
            result = function(*args[: _arity(function, len(args))])
            value = bool(result) if frame["predicate"] else None
        except Refused:
            error = "Refused"
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"[:2_000]
        self.pipe.send({"op": "cbdone", "id": frame["id"], "value": value, "error": error})

    def _special(self, value: Any) -> dict[str, Any] | None:
        tagged = self._without_callbacks(value)
        if tagged is None and callable(value):
            # A function must keep its number, or `remove_listener` could not find it.
            number = next((n for n, f in self._callbacks.items() if f is value), None)
            if number is None:
                number = len(self._callbacks) + 1
                self._callbacks[number] = value
            return {"$cb": number}
        return tagged

    def _without_callbacks(self, value: Any) -> dict[str, Any] | None:
        if isinstance(value, proxies.Proxy):
            return {"$p": {**proxies.receiver_of(value), "kind": value.kind}}
        return None

    def _unspecial(self, tag: str, data: Any) -> Any:
        if tag == "$p" and data["kind"] in allowed_members.CLASSES:
            return proxies.make_proxy(data["kind"], self, data["root"], tuple(data["chain"]))
        if tag == "$error":
            return _ERRORS.get(data[0], Error)(data[1])
        raise frame_codec.WireError(f"unexpected {tag}")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_MESSAGE]
    except Exception:
        return ""


def _causes_of(error: BaseException) -> list[BaseException]:
    """Return the errors that led to this one, as a traceback would show them."""
    causes: list[BaseException] = []
    while len(causes) < _MAX_CAUSES:
        shown = None if error.__suppress_context__ else error.__context__
        cause = error.__cause__ or shown
        if cause is None:
            break
        causes.append(cause)
        error = cause
    return causes


def _helpers(worker: Worker) -> dict[str, Callable[..., Any]]:
    """Return `log`, `answer` and `sleep` of the step language."""

    def log(*values: object, sep: str | None = " ", end: str | None = "\n", **_: Any) -> None:
        text = (" " if sep is None else sep).join(str(value) for value in values)
        tail = "" if end in {None, "\n"} else str(end)
        worker.pipe.send({"op": "log", "text": text + tail, "line": worker.current_line()})

    def answer(value: Any) -> None:
        line = worker.current_line()
        plain = _json_like(value, worker.records.holds)
        worker.pipe.send({"op": "answer", "value": plain, "line": line})

    def sleep(seconds: float) -> None:
        worker.names["page"].wait_for_timeout(float(seconds) * 1000)

    def open_(
        file: str,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.StringIO | io.BytesIO:
        if mode not in {"r", "rt", "rb"}:
            raise ValueError("files can only be read here; data is returned with answer(data)")
        if (encoding or "utf-8").lower() not in _ENCODINGS or errors not in _ON_ERRORS:
            raise ValueError(f"the encodings of files are {', '.join(sorted(_ENCODINGS))}")
        page = proxies.receiver_of(worker.page)
        args, kwargs = proxies.encode_arguments(worker, [file], {})
        data: bytes = worker.call(page, allowed_members.READ_FILE, args, kwargs)
        if mode == "rb":
            return io.BytesIO(data)
        return io.StringIO(data.decode(encoding or "utf-8", errors or "strict"), newline)

    return {"log": log, "answer": answer, "sleep": sleep, "open": open_}


def _json_like(value: Any, is_record: Callable[[Any], bool], depth: int = 0) -> Any:
    if depth > 20:
        raise TypeError("answer() takes values nested at most 20 deep")
    if value is None or isinstance(value, str | int | float):
        return frame_codec.encode(value, frame_codec.nothing_special)
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_like(item, is_record, depth + 1) for item in value]
    if isinstance(value, dict):
        return {str(key): _json_like(item, is_record, depth + 1) for key, item in value.items()}
    if is_record(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _json_like(fields, is_record, depth + 1)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ in {"Decimal", "Fraction"}:
        return float(value)
    raise TypeError(f"answer() takes text, numbers, lists and dicts, not {type(value).__name__}")


def _arity(function: Callable[..., Any], given: int) -> int:
    """Return how many of the given arguments the function takes, counting as Playwright does."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 0x04:
        return given
    return min(given, int(code.co_argcount))


def _copied(names: dict[str, Any]) -> dict[str, Any]:
    """Copy a namespace and its plain containers, so that a retry starts from the same values."""
    memo: dict[int, Any] = {}
    copied: dict[str, Any] = {}
    for name, value in names.items():
        try:
            copied[name] = _copy(value, memo)
        except RecursionError:
            copied[name] = value
    return copied


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    """Copy lists, dicts, sets and tuples, keeping aliases; other values are not copied."""
    if id(value) in memo:
        return memo[id(value)]
    kind = type(value)
    fresh: Any
    if kind is list:
        fresh = memo[id(value)] = []
        fresh.extend(_copy(item, memo) for item in value)
        return fresh
    if kind is dict:
        fresh = memo[id(value)] = {}
        fresh.update((key, _copy(item, memo)) for key, item in value.items())
        return fresh
    if kind is set:
        return set(value)
    if kind is tuple:
        return tuple(_copy(item, memo) for item in value)
    return value


def main(limits: dict[str, Any]) -> None:
    """Take over the pipes, confine the process, report `ready` and serve the host."""
    in_fd, out_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    # A stray print of a library must not reach the host as a frame.
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)
    pipe = Pipe(in_fd, out_fd)
    real = stand_ins.preload()
    worker = Worker(pipe, real)
    walls = confine.confine(limits, out_fd)
    pipe.send({"op": "ready", **walls})
    worker.serve()
