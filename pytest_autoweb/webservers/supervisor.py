"""The small process that keeps one web server: starts it, watches, and takes it down for sure.

It is run by its path and imports the standard library only, so that it starts in a few
hundredths of a second. It ends, and its server with it, when the stop file appears, when the
process it works for is gone, when it is told to terminate, or when the server ends by itself.

Its folder:
    config.json   what to run (`Config`)
    alive         locked as long as the supervisor lives, whatever way it dies
    stop          made by whoever wants the server to end
    server.log    output of the server
    port          of the static server, once it listens
    processes     ids of supervisor and server, for the case that the supervisor was killed
    exit          the server's exit code, once it ended
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
"""Between asking the server to end and killing it."""

HOST = "127.0.0.1"


class Config(TypedDict):
    """What one supervisor runs."""

    command: list[str]
    """Empty for static files."""
    cwd: str
    static: str
    """The folder to serve, or empty."""
    port: int
    """Of the static server; 0 takes a free one."""
    owners: list[list[str]]
    """Process id and start mark of each process the server works for."""


def start_mark(pid: int) -> str:
    """What tells a process from a later one with the same id; empty when it cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field, the program's name, may hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def is_alive(pid: int, mark: str) -> bool:
    """Whether the process that had this start mark still runs."""
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
    """Take the folder's `alive` lock; None when a supervisor holds it."""
    file = (folder / "alive").open("ab")
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_supervised(folder: Path) -> bool:
    """Whether a supervisor is at work in the folder."""
    if not (folder / "alive").exists():
        return False
    # Shared, so that two who look at once do not take each other for the supervisor.
    lock = lock_alive(folder, fcntl.LOCK_SH)
    if lock is None:
        return True
    lock.close()
    return False


def kill_group(group: int, how: int) -> bool:
    """Signal a process group; False when nobody is left in it."""
    try:
        os.killpg(group, how)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM for a group of zombies.
        return False
    return True


class StaticFiles(SimpleHTTPRequestHandler):
    """Files below one folder and nothing else: no listings, no links that lead outside."""

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
        # A page that was served a moment ago may differ after a reset.
        del self.headers["If-Modified-Since"]
        return super().send_head()

    def list_directory(self, path: Any) -> Any:
        """Folders are not shown."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def guess_type(self, path: Any) -> str:
        """Texts are UTF-8; pages that do not say so would be garbled."""
        kind = super().guess_type(path)
        is_text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml"))
        return f"{kind}; charset=utf-8" if is_text else kind

    def end_headers(self) -> None:
        """Nothing is kept by the browser between attempts."""
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
    """All of a small file at once, for readers in other processes."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text)
    draft.replace(path)


class _EndConditions:
    """The reasons to end."""

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
    """Run the command until it ends or has to; its exit code."""
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
        # Whoever is left of its family, even when the server itself ended in good order.
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
    """Run the folder's server to its end."""
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
    """Become a process of its own and supervise; the starting process returns at once."""
    folder = Path(sys.argv[1])
    lock = lock_alive(folder)
    if lock is None:
        sys.exit(f"{folder} has a supervisor already")
    # The lock is taken before the starter returns, so whoever looks next sees it held. The
    # grandchild belongs to init: no test process has to reap it, or takes it down with itself.
    if os.fork() == 0:
        try:
            supervise(folder)
        finally:
            lock.close()


if __name__ == "__main__":
    main()
