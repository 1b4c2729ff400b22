"""The one gateway of a session: the first process that needs it starts it for all.

Its address is kept in the session's folder, readable only by the user. If the gateway has died,
the next call starts a new one, which counts on from the money already spent.
"""

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.llm.gateway import (
    GatewayAddress,
    GatewayClient,
    GatewayUnreached,
    start_gateway,
    stop_gateway,
)
from pytest_autoweb.llm.price import Price
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.llm.wire import ModelCheck, Stats

ADDRESS_FILE = "gateway.json"

_Answer = TypeVar("_Answer")


class SharedGateway:
    """A `Client` for the session's gateway; it starts the gateway if needed and is thread-safe."""

    def __init__(self, folder: Path, start: Callable[[], GatewayAddress]) -> None:
        """Create a client for the gateway of that folder.

        Args:
            folder: the session's folder.
            start: starts a gateway and returns its address.
        """
        self._file, self._start = folder / ADDRESS_FILE, start
        self._lock = threading.Lock()
        self._specs: dict[str, ModelSpec] = {}
        self._client: GatewayClient | None = None

    @property
    def is_started(self) -> bool:
        """Tell whether any process of the session has started the gateway yet."""
        return self._file.exists()

    def add(self, *specs: ModelSpec) -> None:
        """Register models with the gateway, now or as soon as it is started.

        Raises:
            ModelError: the gateway is gone and cannot be restarted.
        """
        with self._lock:
            new = {spec.name: spec for spec in specs if spec.name not in self._specs}
            self._specs |= new
            running = self._client is not None
        if new and running:
            self._call(lambda client: client.register(new))

    def complete(self, request: Request) -> Reply:
        """Answer one request; its model must have been added.

        Raises:
            CassetteMiss: the mode only replays, and no recording fits.
            ModelError: the call failed, was refused because of the cost cap, or the gateway
                cannot be started.
        """
        return self._call(lambda client: client.complete(request))

    def check(self, models: Sequence[str]) -> tuple[ModelCheck, ...]:
        """Tell for each model whether it can be called."""
        return self._call(lambda client: client.check(models))

    def prices(self, names: Sequence[str]) -> dict[str, Price | None]:
        """Return the price of each added model's tokens, or None where it is unknown."""
        return self._call(lambda client: client.prices(names))

    def stats(self) -> Stats:
        """Return what the whole session has used so far."""
        return self._call(lambda client: client.stats()) if self.is_started else Stats()

    def _call(self, ask: Callable[[GatewayClient], _Answer]) -> _Answer:
        client = self._connected(None)
        try:
            return ask(client)
        # The request was not sent, so asking again cannot bill it twice.
        except GatewayUnreached:
            return ask(self._connected(client))

    def _connected(self, lost: GatewayClient | None) -> GatewayClient:
        """Return a client of the running gateway, which then knows this process's models."""
        with self._lock:
            if self._client is None or self._client is lost:
                client = GatewayClient(self._found_or_started())
                client.register(self._specs)
                self._client = client
            return self._client

    def _found_or_started(self) -> GatewayAddress:
        # All processes of the session take this lock, so only one of them starts a gateway.
        with FileLock(f"{self._file}.lock"):
            known = read_address(self._file.parent)
            if known is not None and _answers(known):
                return known
            address = self._start()
            _write_private(self._file, json.dumps({"address": str(address)}))
            return address


def stop_shared_gateway(folder: Path) -> None:
    """Stop the session's gateway, if one was started."""
    if (address := read_address(folder)) is not None:
        stop_gateway(address)
        (folder / ADDRESS_FILE).unlink(missing_ok=True)


@contextmanager
def temporary_gateway(max_cost: float | None = None) -> Iterator[SharedGateway]:
    """Yield a gateway that belongs to no session and uses no cassettes.

    The gateway starts with the first request.

    Args:
        max_cost: limit in US dollars on what its calls may cost together.
    """
    with tempfile.TemporaryDirectory(prefix="autoweb-gateway-") as name:
        folder = Path(name)

        def start() -> GatewayAddress:
            return start_gateway(
                {},
                record_mode="off",
                cassettes=folder,
                run_dir=folder,
                lasting=True,
                max_cost=max_cost,
            )

        try:
            yield SharedGateway(folder, start)
        finally:
            stop_shared_gateway(folder)


def read_address(folder: Path) -> GatewayAddress | None:
    """Read the address of the session's gateway, or return None if none was started."""
    try:
        saved = json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return GatewayAddress.parse(saved["address"])


def _answers(address: GatewayAddress) -> bool:
    with suppress(ModelError):
        GatewayClient(address).stats()
        return True
    return False


def _write_private(path: Path, text: str) -> None:
    """Write a file that only the user can read, since it holds the gateway's token."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    # Created with its final permissions, so that nobody else can ever read the token.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
