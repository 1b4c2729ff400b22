"""A real sandbox worker that tells which values its code came to hold, and a host for it.

The host has no browser: it answers each call with something drawn at random, so that code gets on.
"""

import ast
import json
import marshal
import random
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import value_monitor

from pytest_autoweb.sandbox.allowed_members import CLASSES
from pytest_autoweb.sandbox.frame_codec import WireError
from pytest_autoweb.sandbox.worker_process import DeadlineError, WorkerGoneError, WorkerProcess

_LIMIT_RULES = {"AW506"}
"""What ends a worker that used too much; anything else that ends it is a finding."""


class MonitoredProcess(WorkerProcess):
    """A worker with one more module, which is put into what is sent to it first."""

    _booted = False

    def _write(self, data: bytes) -> None:
        if not self._booted:
            self._booted = True
            data = with_module(data, Path(value_monitor.__file__))
        super()._write(data)


def with_module(boot: bytes, path: Path, *, alone: bool = False) -> bytes:
    """What boots a worker, with one more module at its end, whose `main` is the one that runs.

    Args:
        boot: what `WorkerProcess` would send.
        path: the module.
        alone: leave the worker's own modules out.
    """
    head, _, packed = boot.partition(b"\n")
    name = f"pytest_autoweb.sandbox.{path.stem}"
    code = compile(path.read_text(encoding="utf-8"), name, "exec", dont_inherit=True)
    modules = [] if alone else marshal.loads(zlib.decompress(packed))
    packed = zlib.compress(marshal.dumps([*modules, (name, code)]))
    return json.dumps({**json.loads(head), "bytes": len(packed)}).encode() + b"\n" + packed


def showing(code: str) -> str:
    """The code with each of its values passed through the monitor."""
    tree = _Showing().visit(ast.parse(code))
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError):
        return code  # some f-strings can be read and not written, before Python 3.12


class _Showing(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> Any:
        inner = super().visit(node)
        plain = isinstance(node, ast.JoinedStr | ast.Starred | ast.Slice)
        stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        if not isinstance(node, ast.expr) or plain or stored or _has_slice(node):
            return inner
        return ast.Call(ast.Name("_monitor", ast.Load()), [inner], [])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Only what stands in braces is a value."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                part.value = self.visit(part.value)
                if isinstance(part.format_spec, ast.JoinedStr):
                    self.visit_JoinedStr(part.format_spec)
        return node


def _has_slice(node: ast.AST) -> bool:
    return isinstance(node, ast.Tuple) and any(isinstance(x, ast.Slice) for x in node.elts)


class Seen(NamedTuple):
    """What came of a program."""

    how: str
    """`ran`, `raised`, `stopped` (by a limit), or `escaped`."""
    what: str = ""


class ProgramRunner:
    """Runs programs in a monitored worker, in a fresh one after each kill.

    Args:
        seconds: that one program may take.
    """

    def __init__(self, seconds: float = 2.0) -> None:
        self._seconds = seconds
        self._worker: MonitoredProcess | None = None

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def run(self, code: str, rng: random.Random) -> Seen:
        """Run a program that the lint let through."""
        worker = self._worker = self._worker or MonitoredProcess(memory_mb=256, cpu_s=20)
        worker.wait_ready()
        try:
            worker.send(
                {"op": "run", "index": 1, "code": showing(code), "root": ["h1", "Page"], "rerun": 0}
            )
            return self._serve(worker, rng)
        except DeadlineError:
            self.close()
            return Seen("stopped", "time")
        except WorkerGoneError as gone:
            self.close()
            return Seen("stopped" if gone.rule in _LIMIT_RULES else "escaped", str(gone))
        except WireError:
            return Seen("stopped", "too long to send")

    def _serve(self, worker: MonitoredProcess, rng: random.Random) -> Seen:
        until, calls = time.monotonic() + self._seconds, 0
        escaped = ""
        while True:
            said = worker.receive(until)
            if said["op"] == "log" and said["text"].startswith(value_monitor.ESCAPED):
                escaped = escaped or said["text"]
            elif said["op"] == "call":
                calls += 1
                if calls > 200:
                    raise DeadlineError
                worker.send(_reply(said["id"], rng))
            elif said["op"] == "done":
                if escaped:
                    return Seen("escaped", escaped)
                return Seen("ran") if said["ok"] else Seen("raised", said["error"]["type"])


def _reply(number: int, rng: random.Random) -> dict[str, Any]:
    value: Any = rng.choice(
        (
            *(None, True, 0, 3, -1.5, "", "text", "a {0.__class__} b", [], ["a", "b"], {"a": [1]}),
            *({"$tuple": [1, 2]}, {"$set": [1]}, {"$re": ["a(b)?", 0]}, {"$bytes": "YQ=="}),
            *({"$p": {"root": "h2", "kind": rng.choice(sorted(CLASSES)), "chain": []}},) * 3,
            {"$error": ["Error", "it failed"]},
        )
    )
    kinds = ("TimeoutError", "AssertionError", "Error", "ValueError", "TypeError")
    error = [rng.choice(kinds), "it failed"] if rng.random() < 0.2 else None
    return {"op": "reply", "id": number, "value": None if error else value, "error": error}
