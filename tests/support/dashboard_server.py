"""The dashboard behind a real server of this process."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from pytest_autoweb.store.dashboard.app import create_app
from pytest_autoweb.store.database import Store

TOKEN = "a-token-of-the-tests-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@contextmanager
def dashboard(store: Store) -> Iterator[str]:
    """Serves a store; gives the address, without a slash at its end."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(store, token=TOKEN)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def visitor(store: Store) -> Iterator[httpx.Client]:
    """Calls a dashboard without the token."""
    with dashboard(store) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


@contextmanager
def holder(store: Store) -> Iterator[httpx.Client]:
    """Calls a dashboard with the token."""
    with visitor(store) as client:
        client.headers.update(BEARER)
        yield client
