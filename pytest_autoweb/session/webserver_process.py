"""The small process that starts, watches and reliably ends one web server.

It is run by its path and imports only the standard library, so that it starts within a few
hundredths of a second. It ends together with its server when the stop file appears, when one of its
owners is gone, when it receives a signal to terminate, or when the server ends.

Its folder:
    config.json   what to run (`Config`)
    alive         locked as long as the supervisor lives, however it dies
    stop          created by whoever wants the server to end
    server.log    output of the server
    port          of the static server, once it listens
    processes     ids of supervisor and server, needed if the supervisor was killed
    exit          the server's exit code, once it has ended
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import IO, Any, TypedDict

POLL_S = 0.1
GRACE_S = 3.0
"""Time between asking the server to end and killing it."""

HOST = "127.0.0.1"


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


def start_mark(pid: int) -> str:
    """Return a mark that distinguishes a process from a later one with its id; empty if unknown.

    This is the start time that Linux keeps; other systems have no `/proc`.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field, the program's name, may hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def is_alive(pid: int, mark: str) -> bool:
    """Return whether the process that had this start mark still runs."""
    if mark:
        return start_mark(pid) == mark
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def lock_alive(folder: Path, how: int = fcntl.LOCK_EX) -> IO[bytes] | None:
    """Take the folder's `alive` lock, or return None if a supervisor holds it."""
    file = (folder / "alive").open("ab")
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_supervised(folder: Path) -> bool:
    """Return whether a supervisor is at work in the folder."""
    if not (folder / "alive").exists():
        return False
    # A shared lock, so that two processes checking at once do not mistake each other for it.
    lock = lock_alive(folder, fcntl.LOCK_SH)
    if lock is None:
        return True
    lock.close()
    return False


def kill_group(group: int, how: int) -> bool:
    """Send a signal to a process group, or return False if the group is empty."""
    try:
        os.killpg(group, how)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM for a group of zombies.
        return False
    return True


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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _write(folder / "port", str(server.server_port))
    return server


def _write(path: Path, text: str) -> None:
    """Replace a small file as a whole, for readers in other processes."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text)
    draft.replace(path)


class _EndConditions:
    """The conditions under which the supervisor ends."""

    def __init__(self, folder: Path, owners: list[list[str]]) -> None:
        self._stop = folder / "stop"
        self._owners = [(int(pid), mark) for pid, mark in owners]
        self._end_asked = False
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._end_asked = True

    def is_over(self) -> bool:
        gone = not all(is_alive(pid, mark) for pid, mark in self._owners)
        return self._end_asked or gone or self._stop.exists()


def _keep_command(folder: Path, config: Config, watch: _EndConditions) -> str:
    """Run the command until it ends or must be stopped, and return its exit code."""
    # In its own process group, so that its children end with it.
    process = subprocess.Popen(
        config["command"], cwd=config["cwd"], stdin=subprocess.DEVNULL, start_new_session=True
    )
    _write(folder / "processes", f"{os.getpid()} {process.pid} {start_mark(process.pid)}".rstrip())
    try:
        while process.poll() is None and not watch.is_over():
            time.sleep(POLL_S)
        code = process.poll()
        if code is None:
            kill_group(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(GRACE_S)
    finally:
        # Children of the server may outlive it, even if it ended properly.
        kill_group(process.pid, signal.SIGKILL)
    return str(process.wait() if code is None else code)


def _keep_static(folder: Path, config: Config, watch: _EndConditions) -> str:
    server = _serve_static(folder, config)
    while not watch.is_over():
        time.sleep(POLL_S)
    server.shutdown()
    server.server_close()
    return "0"


def supervise(folder: Path) -> None:
    """Run the folder's server until it ends."""
    config: Config = json.loads((folder / "config.json").read_text())
    watch = _EndConditions(folder, config["owners"])
    code = "could not be started"
    try:
        keep = _keep_static if config["static"] else _keep_command
        code = keep(folder, config, watch)
    except OSError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        _write(folder / "exit", code)


def main() -> None:
    """Supervise in a separate process, so that the starting process returns at once."""
    folder = Path(sys.argv[1])
    lock = lock_alive(folder)
    if lock is None:
        sys.exit(f"{folder} has a supervisor already")
    # The lock is taken before the starting process returns, so the next check sees it held. The
    # grandchild belongs to init, so no test process has to reap it, or takes it down by ending.
    if os.fork() == 0:
        try:
            supervise(folder)
        finally:
            lock.close()


if __name__ == "__main__":
    main()
