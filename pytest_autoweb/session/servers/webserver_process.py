"""The small process that starts, watches and reliably ends one web server.

It is run by its path with a bare interpreter, so that it starts within a few hundredths of a
second. It ends together with its server, and with whatever came from the server's command, when the
stop file appears, when one of its owners is gone, when it receives a signal to terminate, or when
the server ends. A command that starts a daemon and exits with 0 has ended when the daemon has.

Its folder:
    config.json   what to run (`Config`)
    alive         locked as long as the supervisor lives, however it dies
    stop          created by whoever wants the server to end
    server.log    output of the server
    port          of the static server, once it listens
    processes     ids of supervisor and server, for whoever looks into the folder
    exit          the server's exit code, once it has ended
"""

import json
import os
import subprocess
import sys
import threading
import time
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, TypedDict

if __name__ == "__main__":
    # A bare interpreter finds no installed package by itself.
    sys.path.extend(sys.argv[2].split(os.pathsep))

from pytest_autoweb.base.file_lock import lock_at_once
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.process_tree import OWN_GROUP, POLL_S, EndConditions, ProcessTree

HOST = "127.0.0.1"
_STAYS = "stays"


class Config(TypedDict):
    """The server that one supervisor runs."""

    command: list[str]
    """The command and its arguments; empty for static files."""
    cwd: str
    static: str
    """The folder to serve, or empty."""
    port: int
    """Port of the static server; 0 stands for any free one."""
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


class StaticFiles(SimpleHTTPRequestHandler):
    """A handler that serves one folder's files, without listings or links that lead outside."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def send_head(self) -> Any:
        """Answer 404 for anything outside the folder."""
        root = os.path.realpath(self.directory)
        try:
            target = os.path.realpath(self.translate_path(self.path))
        except ValueError:
            target = ""
        if target != root and not target.startswith(root + os.sep):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        # Without this header, every answer contains the file, which a reset may have changed.
        del self.headers["If-Modified-Since"]
        return super().send_head()

    def list_directory(self, path: Any) -> Any:
        """Answer 404 for a folder."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def guess_type(self, path: Any) -> str:
        """Return the type with UTF-8 for texts, because pages may not name their encoding."""
        kind = super().guess_type(path)
        is_text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml"))
        return f"{kind}; charset=utf-8" if is_text else kind

    def end_headers(self) -> None:
        """Add a header that keeps browsers from caching between attempts."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


class _StaticServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def _serve_static(folder: Path, config: Config) -> ThreadingHTTPServer:
    handler = partial(StaticFiles, directory=config["static"])
    server = _StaticServer((HOST, config["port"]), handler)
    threading.Thread(target=server.serve_forever, args=(POLL_S,), daemon=True).start()
    replace_text(folder / "port", str(server.server_port))
    return server


def _keep_command(folder: Path, config: Config, over: EndConditions) -> str:
    """Run the command until it ends or must be stopped, and return its exit code."""
    tree = ProcessTree(config["command"], cwd=config["cwd"], stdin=subprocess.DEVNULL)
    replace_text(folder / "processes", f"{os.getpid()} {tree.pid}")
    try:
        while not (tree.status or over.is_over()) and (tree.status is None or tree.living()):
            tree.watch()
            time.sleep(POLL_S)
    finally:
        # Children of the server may outlive it, even if it ended properly.
        code = tree.end()
    return str(code)


def _keep_static(folder: Path, config: Config, over: EndConditions) -> str:
    server = _serve_static(folder, config)
    while not over.is_over():
        time.sleep(POLL_S)
    server.shutdown()
    server.server_close()
    return "0"


def supervise(folder: Path) -> None:
    """Run the folder's server until it ends."""
    config: Config = json.loads((folder / "config.json").read_bytes())
    owners = [(int(pid), mark) for pid, mark in config["owners"]]
    over = EndConditions(owners, (folder / "stop").exists)
    code = "could not be started"
    try:
        keep = _keep_static if config["static"] else _keep_command
        code = keep(folder, config, over)
    except OSError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        replace_text(folder / "exit", code)


def main() -> None:
    """Supervise in a separate process, so that the starting process returns at once."""
    folder = Path(sys.argv[1])
    if sys.platform == "win32" and sys.argv[3:] != [_STAYS]:
        _start_again(folder)
        return
    lock = lock_alive(folder)
    if lock is None:
        sys.exit(f"{folder} has a supervisor already")
    # The lock is taken before the starting process returns, so the next check sees it held. The
    # grandchild belongs to init, so no test process has to reap it, or takes it down by ending.
    if sys.platform == "win32" or os.fork() == 0:
        try:
            supervise(folder)
        finally:
            lock.close()


def _start_again(folder: Path) -> None:
    """Start this program a second time, in place of a fork, and wait until it holds the lock."""
    command = [sys.executable, "-I", "-S", __file__, *sys.argv[1:3], _STAYS]
    staying = subprocess.Popen(command, stdin=subprocess.DEVNULL, **OWN_GROUP)
    while not is_supervised(folder):
        if staying.poll() is not None:
            sys.exit(staying.returncode)
        time.sleep(POLL_S / 5)


if __name__ == "__main__":
    main()
