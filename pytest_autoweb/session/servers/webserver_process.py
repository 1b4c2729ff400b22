"""The small process that starts, watches and reliably ends one web server.

It is a fork of a process that is run by its path with a bare interpreter, and forks one for each
folder that it reads from its input (`supervisors`); on Windows it is that interpreter itself. It
ends together with its server, and with whatever came from the server's command, when the
stop file appears, when one of its owners is gone, when it receives a signal to terminate, or when
the server ends. A command that starts a daemon and exits with 0 has ended when the daemon has.

Its folder:
    config.json   what to run (`Config`)
    alive         locked as long as the supervisor lives, however it dies
    stop          created by whoever wants the server to end
    server.log    output of the server
    port          of the static server, once it listens
    processes     ids of supervisor and server, for whoever looks into the folder
    mails/        the mails that the server sent, if it has a server for them
    exit          the server's exit code, once it has ended
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TypedDict

if __name__ == "__main__":
    # A bare interpreter finds no installed package by itself.
    sys.path.extend(sys.argv[1].split(os.pathsep))

from pytest_autoweb.base.file_lock import lock_at_once
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.process_tree import OWN_GROUP, POLL_S, EndConditions, ProcessTree

_STAYS = "stays"
MAILS = "mails"
"""The name of the folder with mails in that of a server."""


class Config(TypedDict):
    """The server that one supervisor runs."""

    command: list[str]
    """The command and its arguments; empty for static files."""
    cwd: str
    static: str
    """The folder to serve, or empty."""
    port: int
    """Port of the static server; 0 stands for any free one."""
    mail_port: int
    """Port of the server for its mails; 0 if it has none."""
    owners: list[list[str]]
    """Id and start mark of each process that owns the server."""


def lock_alive(folder: Path, *, shared: bool = False) -> IO[bytes] | None:
    """Take the folder's `alive` lock, or return None if a supervisor holds it."""
    file = (folder / "alive").open("ab")
    if lock_at_once(file.fileno(), shared=shared):
        return file
    file.close()
    return None


def is_supervised(folder: Path) -> bool:
    """Return whether a supervisor is at work in the folder."""
    if not (folder / "alive").exists():
        return False
    # A shared lock, so that two processes checking at once do not mistake each other for it.
    lock = lock_alive(folder, shared=True)
    if lock is None:
        return True
    lock.close()
    return False


def _keep_command(folder: Path, config: Config, over: EndConditions) -> str:
    """Run the command until it ends or must be stopped, and return its exit code."""
    tree = ProcessTree(config["command"], cwd=config["cwd"], stdin=subprocess.DEVNULL)
    replace_text(folder / "processes", f"{os.getpid()} {tree.pid}")
    try:
        while not (tree.status or over.is_over()) and (tree.status is None or tree.living()):
            tree.watch()
            over.wait(POLL_S)
    finally:
        # Children of the server may outlive it, even if it ended properly.
        code = tree.end()
    return str(code)


def _keep_static(folder: Path, config: Config, over: EndConditions) -> str:
    # Late, because it takes a tenth of a second, which other servers need not pay.
    from pytest_autoweb.session.servers.static_server import serve_static

    with serve_static(config["static"], config["port"]) as port:
        replace_text(folder / "port", str(port))
        while not over.is_over():
            over.wait(POLL_S)
    return "0"


def supervise(folder: Path) -> None:
    """Run the folder's server until it ends."""
    replace_text(folder / "processes", str(os.getpid()))
    config: Config = json.loads((folder / "config.json").read_bytes())
    owners = [(int(pid), mark) for pid, mark in config["owners"]]
    over = EndConditions(owners, (folder / "stop").exists)
    code = "could not be started"
    try:
        keep = _keep_static if config["static"] else _keep_command
        with ExitStack() as stack:
            if config["mail_port"]:
                # Late, because few servers send mails, and its package is optional.
                from pytest_autoweb.session.servers.mail_sink import serve_mails

                stack.enter_context(serve_mails(folder / MAILS, config["mail_port"]))
            code = keep(folder, config, over)
    except OSError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        replace_text(folder / "exit", code)


def _fork_supervisors() -> None:
    """Fork a supervisor for each line of the input, and answer why not, or with an empty text."""
    if sys.platform == "win32":
        raise NotImplementedError
    # The kernel reaps the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while line := sys.stdin.buffer.readline():
        order = json.loads(line)
        try:
            why = _forked(Path(order["folder"]), order["environ"])
        except OSError as error:
            why = f"{type(error).__name__}: {error}"
        os.write(1, json.dumps(why).encode() + b"\n")


def _forked(folder: Path, environ: Mapping[str, str]) -> str:
    """Fork the supervisor of a folder; return why it cannot be, or an empty text."""
    if sys.platform == "win32":
        raise NotImplementedError
    # It is taken before the answer, so that the next check sees it held. The fork shares it.
    lock = lock_alive(folder)
    if lock is None:
        return f"{folder} has a supervisor already"
    with lock:
        if os.fork():
            return ""
        try:
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with Path(os.devnull).open("rb") as nothing, (folder / "server.log").open("ab") as log:
                for stream, place in ((nothing, 0), (log, 1), (log, 2)):
                    os.dup2(stream.fileno(), place)
            os.environ.clear()
            os.environ.update(environ)
            supervise(folder)
        finally:
            # A fork must never take an order, even after an error.
            os._exit(0)


def main() -> None:
    """Fork supervisors; on Windows supervise the folder that is named."""
    if sys.platform != "win32":
        _fork_supervisors()
        return
    folder = Path(sys.argv[2])
    if sys.argv[3:] != [_STAYS]:
        # In a separate process, so that this one returns at once.
        _start_again(folder)
        return
    lock = lock_alive(folder)
    if lock is None:
        sys.exit(f"{folder} has a supervisor already")
    with lock:
        supervise(folder)


def _start_again(folder: Path) -> None:
    """Start this program a second time, in place of a fork, and wait until it holds the lock."""
    command = [sys.executable, "-I", "-S", __file__, *sys.argv[1:3], _STAYS]
    staying = subprocess.Popen(command, stdin=subprocess.DEVNULL, **OWN_GROUP)
    over = EndConditions([])
    while not is_supervised(folder):
        if staying.poll() is not None:
            sys.exit(staying.returncode)
        over.wait(POLL_S / 5)


if __name__ == "__main__":
    main()
