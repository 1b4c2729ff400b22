"""The server process of the dashboard."""

import secrets
import socket
from collections.abc import Callable

import uvicorn

from pytest_autoweb.dashboard.app import create_app
from pytest_autoweb.errors import AutowebError, SettingsError
from pytest_autoweb.store.opening import Store

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LEAST_TOKEN = 20
"""The least characters of a token that a person chose."""


def serve(store: Store, *, host: str, port: int, token: str, tell: Callable[[str], object]) -> None:
    """Serve the dashboard until SIGINT.

    Args:
        store: the store that is shown.
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        token: the secret that gives access; an empty one is replaced by a random one.
        tell: is called with the address to open, token included, once the port is open.

    Raises:
        SettingsError: the token is too short to be safe.
        AutowebError: the server cannot listen on the address.
    """
    if token and len(token) < LEAST_TOKEN:
        raise SettingsError(f"the token needs at least {LEAST_TOKEN} characters")
    token = token or secrets.token_urlsafe(32)
    listener = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    app = create_app(store, token=token, hosts={*LOOPBACK, name})
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    # Browsers never send the part after `#`, so the token gets into no log.
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
