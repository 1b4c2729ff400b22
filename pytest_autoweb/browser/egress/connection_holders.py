"""Telling whose a connection to a port of this process is: the browser's, or another program's.

Linux tells which socket is at the other end of a connection on this machine (`sock_diag(7)`), and
`/proc` which process holds that. psutil would tell both, also elsewhere, but it reads all
connections of the machine each time, which takes hundreds of times as long.
"""

import os
import socket
import stat
import struct
import sys
from contextlib import suppress
from functools import cache
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Error

from pytest_autoweb.base.process_tree import is_process_alive, start_mark
from pytest_autoweb.browser.egress.browser_watch import browser_processes
from pytest_autoweb.browser.egress.chromium import ask_system

Address = tuple[str, int]
"""A host of IPv4, and a port."""

# Names of the kernel's: NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, INET_DIAG_NOCOOKIE.
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _NO_COOKIE = 4, 20, 1, 0xFFFFFFFF
_ANY_STATE = 0xFFFFFFFF
_HEAD = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_ENDS = struct.Struct("!HH4s12x4s12x")
_OF_SOCKET = struct.Struct("=III")
_TOLD = struct.Struct("=4x48xIIIII")
_ANSWER_S = 1.0
# In the command line of Chromium's process that makes connections.
_NETWORK = "network.mojom.NetworkService"


def socket_at(near: Address, far: Address) -> int | None:
    """Return the number (inode) of the socket at one end of a TCP connection on this machine.

    Args:
        near: the address of that end.
        far: the address of the other end.

    Returns:
        None if there is no such connection, or if the system does not tell.
    """
    hosts = (socket.inet_aton(host) for host, _ in (near, far))
    asked = _ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY_STATE)
    asked += _ENDS.pack(near[1], far[1], *hosts) + _OF_SOCKET.pack(0, _NO_COOKIE, _NO_COOKIE)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(_ANSWER_S)
            kernel.send(_HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _REQUEST, 0, 0) + asked)
            told = kernel.recv(4096)
        if _HEAD.unpack_from(told)[1] != _BY_FAMILY:
            return None
        *_, inode = _TOLD.unpack_from(told, _HEAD.size)
    except (OSError, struct.error):
        return None
    return inode or None


class BrowserConnections:
    """Tells the connections of this process's browsers and their drivers from all others.

    Of one browser, the same process makes all connections, so those that have made any are asked
    first.
    """

    def __init__(self) -> None:
        self._held: dict[int, str] = {}
        """The start of each process that has made a connection, by its id."""

    def include(self, near: Address, far: Address) -> bool:
        """Tell whether the end of a connection that is `near` is held by one of their processes."""
        inode = socket_at(near, far)
        if inode is None:
            return False
        for pid, mark in [*self._held.items()]:
            if _holds(pid, inode):
                if is_process_alive(pid, mark):
                    return True
                # Another process has the id of one that has ended; it may be a browser's too.
                del self._held[pid]
        for pid in (process.pid for process in browser_processes()):
            if _holds(pid, inode):
                self._held[pid] = start_mark(pid)
                return True
        return False


_CONNECTIONS = BrowserConnections()
_KNOWN: WeakKeyDictionary[Browser, bool] = WeakKeyDictionary()


def connections_of(browser: Browser | None) -> BrowserConnections | None:
    """Return what tells the connections of a browser from those of other programs.

    Returns:
        None if that cannot be told: the system does not say; the browser is none of this process's,
        or no Chromium, which alone says which process it is; or it has shown no page yet.
    """
    if browser is None or browser.browser_type.name != "chromium" or not can_tell():
        return None
    if browser not in _KNOWN:
        ours = {process.pid: process.command for process in browser_processes()}
        connecting = [pid for pid, command in ours.items() if _NETWORK in command]
        if not connecting:
            return None
        # Cells in flight that come meanwhile do not ask as well.
        _KNOWN[browser] = False
        _KNOWN[browser] = _main_process(browser) in ours and all(map(_is_open, connecting))
    return _CONNECTIONS if _KNOWN[browser] else None


def _main_process(browser: Browser) -> int | None:
    with suppress(Error):
        (told,) = ask_system(browser, "getProcessInfo")
        return next(
            (int(one["id"]) for one in told["processInfo"] if one["type"] == "browser"), None
        )
    return None


@cache
def can_tell() -> bool:
    """Tell whether this system says which socket a connection has, by asking for one."""
    if sys.platform != "linux":
        return False
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as near,
    ):
        inode = socket_at(near.getsockname(), near.getpeername())
        return inode is not None and _holds(os.getpid(), inode)


def _is_open(pid: int) -> bool:
    """Tell whether this process may see which files another one has open."""
    try:
        os.scandir(f"/proc/{pid}/fd").close()
    except OSError:
        return False
    return True


def _holds(pid: int, inode: int) -> bool:
    """Tell whether a process has the socket of that number."""
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as opened:
        for file in opened:
            with suppress(OSError):
                told = file.stat()
                if told.st_ino == inode and stat.S_ISSOCK(told.st_mode):
                    return True
    return False
