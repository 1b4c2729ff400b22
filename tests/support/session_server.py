"""Sessions of pytest without the seconds that each of them would spend on importing.

A process that has imported pytest, Playwright and this package waits, and forks for every session.
What a test starts is a small process: it hands over its folder, its environment, its arguments and
its streams, passes signals on, and ends as the session ends. A session that Python itself is to
start in another way (by a variable `PYTHON…`) is started as ever.
"""

import array
import atexit
import json
import os
import random
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

_BYTES = 8
_NEEDED = (
    "pytest_autoweb.report.write",
    "pytest_autoweb.session.controller",
    "pytest_autoweb.session.items",
    "pytest_autoweb.session.preview",
    "pytest_playwright.pytest_playwright",
    "xdist.dsession",
    "xdist.workermanage",
)


@cache
def session_command() -> tuple[str, ...]:
    """The command that runs pytest as `python -m pytest` does, only sooner; arguments follow."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        return (sys.executable, "-m", "pytest")
    folder = tempfile.mkdtemp(prefix="sessions")
    place = str(Path(folder) / "socket")
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", place], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return (sys.executable, "-I", "-S", __file__, place)


def _ask(place: str, arguments: list[str]) -> int:
    """Have a session run, and return its exit status."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        wanted = {"cwd": str(Path.cwd()), "env": dict(os.environ), "arguments": arguments}
        data = json.dumps(wanted).encode()
        streams = array.array("i", [0, 1, 2])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
        server.sendmsg([len(data).to_bytes(_BYTES, "big")], rights)
        server.sendall(data)
        session = _number(server)
        if not session:
            os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda got, frame: os.kill(session, got))
        return _number(server)


def _number(connection: socket.socket) -> int:
    return int.from_bytes(_exactly(connection, _BYTES), "big", signed=True)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (more := connection.recv(count - len(data))):
            raise EOFError("the server of sessions is gone")
        data += more
    return data


def _serve(place: str) -> NoReturn:
    """Import what sessions need, and fork for each connection."""
    _import_everything()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            # It never says anything, so it ended: those who asked are gone.
            os._exit(0)
        connection, _ = listener.accept()
        if (child := os.fork()) == 0:
            listener.close()
            _answer(connection)
        connection.close()
        os.waitpid(child, 0)


def _answer(connection: socket.socket) -> NoReturn:
    """Run one session, and tell its process and its end; the server does not wait for it."""
    if os.fork():
        os._exit(0)
    size, ancillary, _, _ = connection.recvmsg(_BYTES, socket.CMSG_SPACE(3 * 4))
    streams = array.array("i")
    streams.frombytes(ancillary[0][2])
    wanted = json.loads(_exactly(connection, int.from_bytes(size, "big")))
    own = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    if {n: v for n, v in wanted["env"].items() if n.startswith("PYTHON")} != own:
        connection.sendall((0).to_bytes(_BYTES, "big"))
        os._exit(0)
    if (session := os.fork()) == 0:
        connection.close()
        _become(wanted, list(streams))
    connection.sendall(session.to_bytes(_BYTES, "big"))
    _, status = os.waitpid(session, 0)
    ended = os.waitstatus_to_exitcode(status)
    connection.sendall(ended.to_bytes(_BYTES, "big", signed=True))
    os._exit(0)


def _become(wanted: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the session, in the folder and the environment of whoever asked for it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    # Otherwise all sessions would draw the same numbers.
    random.seed()
    sys.path[0] = wanted["cwd"]
    sys.argv = ["pytest", *wanted["arguments"]]
    status: Any = 1
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _import_everything() -> None:
    for name in _NEEDED:
        import_module(name)
    # Otherwise pytest warns that it cannot rewrite the assertions of plugins that are loaded.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("pytest_autoweb", "pytest_playwright", "xdist"):
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _serve(sys.argv[2])
    sys.exit(_ask(sys.argv[1], sys.argv[2:]))
