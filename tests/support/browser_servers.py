"""Browsers that run elsewhere: real servers of Playwright, and real debugging ports of Chromium.

One may stand in a network of its own (Linux), which has nothing but its loopback: it is reached
through a socket in a folder, and reaches nothing of this machine but what it is lent.
"""

import asyncio
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from own_thread import in_own_thread
from playwright.sync_api import sync_playwright

from pytest_autoweb.browser.egress.chromium import launch_args

START_S = 60
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


class BrowserServer:
    """A server of browsers, which can be killed and started again at the same address."""

    def __init__(self, command: list[str], port: int, environ: dict[str, str]) -> None:
        self._command, self.port, self._environ = command, port, environ
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            with suppress(OSError), urllib.request.urlopen(self.http + "json/version", timeout=2):
                return
            time.sleep(0.05)
        raise TimeoutError(f"no answer of {self._command}")

    def kill(self) -> None:
        """Kill it with its browsers."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def group(self) -> int:
        """The number of its group of processes."""
        assert self._process is not None
        return self._process.pid

    @property
    def http(self) -> str:
        """The address of a debugging port."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def ws(self) -> str:
        """The address of a server of Playwright."""
        return f"ws://127.0.0.1:{self.port}/"


@contextmanager
def running(server: BrowserServer) -> Iterator[BrowserServer]:
    try:
        server.start()
        yield server
    finally:
        server.kill()


def playwright_server(folder: Path, *flags: str) -> BrowserServer:
    """`playwright run-server`, which finds this machine's Chromium where it expects its own."""
    environ, port = _with_browser(folder), free_port()
    return BrowserServer([*_run_server(port), *flags], port, environ)


def playwright_server_apart(folder: Path) -> BrowserServer:
    """The same in a network of its own."""
    environ, port, inside = _with_browser(folder), free_port(), free_port()
    door = str(folder / "door")
    command = [sys.executable, __file__, str(port), str(inside), door, *_run_server(inside)]
    return BrowserServer(command, port, environ)


def debugged_chromium(folder: Path, *flags: str) -> BrowserServer:
    """A Chromium with its debugging port open."""
    own = in_own_thread(_own_chromium)
    found = launch_args({}, playwright_executable=own).get("executable_path", own)
    port = free_port()
    command = [found, f"--remote-debugging-port={port}", "--headless", "--no-sandbox"]
    return BrowserServer(
        [*command, f"--user-data-dir={folder / 'profile'}", *flags], port, dict(os.environ)
    )


def _own_chromium() -> str:
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def _run_server(port: int) -> list[str]:
    host = ("--host", "127.0.0.1")
    return [sys.executable, "-m", "playwright", "run-server", "--port", str(port), *host]


def _with_browser(folder: Path) -> dict[str, str]:
    own = Path(in_own_thread(_own_chromium))
    found = launch_args({}, playwright_executable=str(own)).get("executable_path")
    if found is None:
        return dict(os.environ)
    build = own.parent.parent.name.replace("chromium-", "chromium_headless_shell-")
    shell = folder / "browsers" / build / "chrome-headless-shell-linux64"
    shell.mkdir(parents=True, exist_ok=True)
    (shell / "chrome-headless-shell").symlink_to(found)
    return {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(folder / "browsers")}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


# -- the program that stands between two networks --------------------------------------------------


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _outside(port: int, door: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await asyncio.open_unix_connection(door)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, far[1]), _copy(far[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()


async def _inside(port: int, door: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, far[1]), _copy(far[0], writer))

    async with await asyncio.start_unix_server(serve, door) as server:
        await server.serve_forever()


def _main(port: str, inside: str, door: str, *command: str) -> None:
    if os.fork():
        asyncio.run(_outside(int(port), door))
    # As root, and as a user to whom the kernel gives namespaces.
    with suppress(OSError):
        Path(door).unlink()
    arguments = ["unshare", "-rn", sys.executable, __file__, "--inside", inside, door, *command]
    os.execvp("unshare", arguments)


def _main_inside(port: str, door: str, *command: str) -> None:
    with socket.socket() as one:
        up = struct.pack("16sh", b"lo", _UP_AND_RUNNING)
        fcntl.ioctl(one, _SET_FLAGS, up)
    subprocess.Popen(command)
    asyncio.run(_inside(int(port), door))


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        _main_inside(*sys.argv[2:])
    else:
        _main(*sys.argv[1:])
