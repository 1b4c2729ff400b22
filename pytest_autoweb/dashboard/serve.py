"""Runs the dashboard until it is stopped."""

import secrets
import socket
from collections.abc import Callable

import uvicorn

from pytest_autoweb.dashboard.app import create_app
from pytest_autoweb.errors import AutowebError, SettingsError
from pytest_autoweb.store.opening import Store

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LEAST_TOKEN = 20
"""Characters of a token that a person chose."""


def serve(store: Store, *, host: str, port: int, token: str, tell: Callable[[str], object]) -> None:
    """Serve until SIGINT.

    Args:
        store: what is shown.
        host: address to listen on.
        port: 0 takes a free one.
        token: empty makes one.
        tell: gets the address to open, token included, once it answers.

    Raises:
        SettingsError: the token is too short to be safe.
        AutowebError: the address cannot be listened on.
    """
    if token and len(token) < LEAST_TOKEN:
        raise SettingsError(f"the token needs at least {LEAST_TOKEN} characters")
    token = token or secrets.token_urlsafe(32)
    listener = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    app = create_app(store, token=token, hosts={*LOOPBACK, name})
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    # After `#`: browsers keep that part to themselves, so no log has it.
    tell(f"{address}#token={token}")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise AutowebError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listener.listen(128)
    return listener
