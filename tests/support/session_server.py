"""Sessions of pytest without the seconds that each of them would spend on importing.

A process that has imported pytest, Playwright and this package waits, and forks for every session,
for every xdist worker of a session, and for every run of the command `autoweb`. What a test starts
is a small process: it hands over its folder, its environment, its arguments and its streams, passes
signals on, and ends as the session ends. What is to start with other settings of Python (a variable
`PYTHON…` other than the path, and whether to keep what is compiled) or with another copy of this
package is started as ever.

Each process of tests starts a server of its own, unless the variable `SESSION_SERVER` names the
socket of one that all of them share, as scripts/test does.

Sessions that a forked process starts itself, as `autoweb prove --quick` does, are forked too:
what it finds as `sys.executable` asks the server for them.
"""

import array
import atexit
import gc
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
import time
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

_BYTES = 8
_COMPILES_ONLY = "PYTHONDONTWRITEBYTECODE"
_STARTS_S = 120
_ENVIRONMENT = dict(os.environ)
"""The environment before a test has changed it."""
_OWN = "pytest_autoweb"
_PYTHON = sys.executable
_ASKING_PYTHON = """\
#!/bin/sh
[ "$1 $2" = "-m pytest" ] && exec {python} -I -S {script} {place} "$@"
exec {python} "$@"
"""
_ROOT = str(Path(__file__).parents[2])
_NEEDED = (
    "execnet.gateway_base",
    "pytest_autoweb.cli.command_line",
    "pytest_autoweb.report.write",
    "pytest_autoweb.session.cell_hooks",
    "pytest_playwright.pytest_playwright",
    "xdist.dsession",
    "xdist.remote",
    "xdist.workermanage",
)


def session_command() -> tuple[str, ...]:
    """The command that runs pytest as `python -m pytest` does, only sooner; arguments follow."""
    return (*python_command(), "-m", "pytest")


def autoweb_command() -> tuple[str, ...]:
    """The command that runs `autoweb` as `python -m pytest_autoweb.cli` does, only sooner."""
    return (*python_command(), "-m", "pytest_autoweb.cli")


def python_command() -> tuple[str, ...]:
    """The command that does what Python does, with `-m MODULE …` or `-c CODE …` behind it."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        return (sys.executable,)
    return (sys.executable, "-I", "-S", __file__, _server())


@cache
def _server() -> str:
    """Start the server, or wait for that of all, and return the address at which it listens."""
    if shared := _ENVIRONMENT.get("SESSION_SERVER"):
        deadline = time.monotonic() + _STARTS_S
        while not Path(shared).exists():
            assert time.monotonic() < deadline, "the server of sessions did not start"
            time.sleep(0.05)
        return shared
    folder = tempfile.mkdtemp(prefix="sessions")
    place = str(Path(folder) / "socket")
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", place],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        env=_ENVIRONMENT,
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return place


def _ask(place: str, arguments: list[str]) -> int:
    """Have Python run with these arguments (`-m MODULE …` or `-c CODE`), and return its status."""
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
            os.execv(sys.executable, [sys.executable, *arguments])
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
    # What is there stays, and a collection that does not look at it does not copy it for each.
    gc.collect()
    gc.freeze()
    sys.executable = _asking_python(place)
    listener = socket.socket(socket.AF_UNIX)
    # Who waits for the file can connect at once.
    listener.bind(f"{place}.new")
    listener.listen(64)
    Path(f"{place}.new").rename(place)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            # It never says anything, so it ended: those who asked are gone.
            os._exit(0)
        connection, _ = listener.accept()
        if (child := os.fork()) == 0:
            listener.close()
            _answer(connection, place)
        connection.close()
        os.waitpid(child, 0)


def _asking_python(place: str) -> str:
    """Write a command that does what Python does, but asks the server for sessions of pytest."""
    file = Path(place).with_name("python")
    text = _ASKING_PYTHON.format(python=_PYTHON, script=__file__, place=place)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def _answer(connection: socket.socket, place: str) -> NoReturn:
    """Run one session, and tell its process and its end; the server does not wait for it.

    A session whose asker was killed is killed too, as it would be if it were that process.
    """
    if os.fork():
        os._exit(0)
    size, ancillary, _, _ = connection.recvmsg(_BYTES, socket.CMSG_SPACE(3 * 4))
    streams = array.array("i")
    streams.frombytes(ancillary[0][2])
    wanted = json.loads(_exactly(connection, int.from_bytes(size, "big")))
    if not _can_fork(wanted["env"], wanted["cwd"]):
        connection.sendall((0).to_bytes(_BYTES, "big"))
        os._exit(0)
    if (session := os.fork()) == 0:
        connection.close()
        _become(wanted, list(streams), place)
    for stream in streams:
        os.close(stream)
    connection.sendall(session.to_bytes(_BYTES, "big"))
    end = os.pidfd_open(session)
    ready, _, _ = select.select([end, connection.fileno()], [], [])
    if end not in ready:
        os.kill(session, signal.SIGKILL)
        os._exit(0)
    _, status = os.waitpid(session, 0)
    ended = os.waitstatus_to_exitcode(status)
    connection.sendall(ended.to_bytes(_BYTES, "big", signed=True))
    os._exit(0)


def _can_fork(env: Mapping[str, str], folder: str) -> bool:
    """Tell whether Python, started there with these settings, would import what is here."""
    if _settings(env) != _settings(os.environ):
        return False
    return not any(
        (Path(path) / _OWN).is_dir() for path in (*_added_paths(env), folder) if path != _ROOT
    )


def _settings(env: Mapping[str, str]) -> dict[str, str]:
    named = {name: value for name, value in env.items() if name.startswith("PYTHON")}
    for name in ("PYTHONPATH", _COMPILES_ONLY):
        named.pop(name, None)
    return named


def _added_paths(env: Mapping[str, str]) -> list[str]:
    """Return what an environment puts on the path of modules beyond what the server's own has."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path not in known]


def _become(wanted: dict[str, Any], streams: list[int], place: str) -> NoReturn:
    """Be the session, in the folder and the environment of whoever asked for it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # The server's own know what it said, and refuse to be set otherwise.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace")
    os.chdir(wanted["cwd"])
    added = _added_paths(wanted["env"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.dont_write_bytecode = bool(os.environ.get(_COMPILES_ONLY))
    # Otherwise all sessions would draw the same numbers.
    random.seed()
    sys.path[:1] = [wanted["cwd"], *added]
    _customise(added)
    how, what, *arguments = wanted["arguments"]
    sys.argv = [what, *arguments]
    status: Any = 0
    try:
        if how == "-c":
            exec(what, {"__name__": "__main__"})
        else:
            _fork_workers(place)
            runpy.run_module(what, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _customise(folders: list[str]) -> None:
    """Run `sitecustomize` as Python does when it starts; tests block packages by it."""
    loaded = {name for name, module in sys.modules.items() if module}
    for file in [Path(folder) / "sitecustomize.py" for folder in folders]:
        if file.is_file():
            runpy.run_path(str(file))
    late = [name for name in loaded if sys.modules[name] is None]
    assert not late, f"the server has loaded what is blocked: {late}"


def _fork_workers(place: str) -> None:
    """Have execnet ask the server for xdist's workers too."""
    from execnet import gateway_io

    def command(spec: Any) -> list[str]:
        assert not spec.python
        return [
            *(_PYTHON, "-I", "-S", __file__, place),
            "-c",
            gateway_io.popen_bootstrapline,
        ]

    gateway_io.popen_args = command


def _import_everything() -> None:
    for name in _NEEDED:
        import_module(name)
    _build_models()
    # Otherwise pytest warns that it cannot rewrite the assertions of plugins that are loaded.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("pytest_autoweb", "pytest_playwright", "xdist"):
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"


def _build_models() -> None:
    """Build the pydantic models that would be built when first used."""
    from pydantic import BaseModel

    waiting = [BaseModel]
    while waiting:
        waiting.extend(subclasses := waiting.pop().__subclasses__())
        for model in subclasses:
            if model.__module__.startswith("pytest_autoweb."):
                model.model_rebuild()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _serve(sys.argv[2])
    sys.exit(_ask(sys.argv[1], sys.argv[2:]))
