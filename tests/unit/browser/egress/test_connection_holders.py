"""Whose a connection to a port of this process is."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_autoweb.browser.egress import browser_watch, connection_holders
from pytest_autoweb.browser.egress.connection_holders import (
    BrowserConnections,
    connections_of,
    socket_at,
)

pytestmark = pytest.mark.skipif(
    not connection_holders.can_tell(), reason="this system does not tell whose a connection is"
)

# Starts a process that connects to a port, below one that is said to be Playwright's driver.
DRIVER = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[2:]])"
CONNECT = (
    "import socket, sys; c = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
    " print(flush=True); c.recv(1)"
)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_socket_is_found_by_the_addresses_of_its_connection(server: socket.socket) -> None:
    with socket.create_connection(server.getsockname()) as near:
        ends = near.getsockname(), near.getpeername()

        assert socket_at(*ends) == os.fstat(near.fileno()).st_ino
        assert socket_at(ends[0], ("127.0.0.1", 1)) is None
        assert socket_at(("127.0.0.2", ends[0][1]), ends[1]) is None
    assert connections_of(None) is None


@pytest.mark.parametrize("driver", ["made-up-driver", "no-driver"])
def test_only_what_a_driver_started_is_taken_for_the_browser(
    server: socket.socket, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_watch, "_DRIVER", "made-up-driver")
    port, connections = server.getsockname()[1], BrowserConnections()
    begin = [sys.executable, "-c", DRIVER, driver]
    for _ in range(2):
        command = [*begin, "-c", CONNECT, f"{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
            accepted, far = server.accept()
            assert started.stdout
            started.stdout.readline()
            told = connections.include(far, accepted.getsockname())
            accepted.close()

        assert told is (driver == "made-up-driver")


def test_this_process_itself_is_not_the_browser(server: socket.socket) -> None:
    with socket.create_connection(server.getsockname()) as near:
        assert not BrowserConnections().include(near.getsockname(), near.getpeername())


def test_nothing_is_told_where_the_system_does_not_answer(
    server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_holders, "_SOCK_DIAG", 99)
    with socket.create_connection(server.getsockname()) as near:
        assert socket_at(near.getsockname(), near.getpeername()) is None
    assert not connection_holders.can_tell.__wrapped__()
