"""The one gateway of a session: whoever needs it first starts it, all processes use it.

Its address lies in the session's folder, readable by the user alone. A gateway that died is
started again by the next call, and goes on from the money that was spent.
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
    """The session's gateway as one test process uses it; a `Client`, and safe for threads."""

    def __init__(self, folder: Path, start: Callable[[], GatewayAddress]) -> None:
        """Remember where the address lies, and how a gateway is started."""
        self._file, self._start = folder / ADDRESS_FILE, start
        self._lock = threading.Lock()
        self._specs: dict[str, ModelSpec] = {}
        self._client: GatewayClient | None = None

    @property
    def is_started(self) -> bool:
        """Whether any process of the session has needed it yet."""
        return self._file.exists()

    def add(self, *specs: ModelSpec) -> None:
        """Make models known to the gateway, now or when it is started.

        Raises:
            ModelError: the gateway is gone and does not start again.
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
            CassetteMiss: replay only, and no recording fits.
            ModelError: the call failed, was refused because of the cost cap, or the gateway
                cannot be started.
        """
        return self._call(lambda client: client.complete(request))

    def check(self, models: Sequence[str]) -> tuple[ModelCheck, ...]:
        """Whether each model can be called."""
        return self._call(lambda client: client.check(models))

    def prices(self, names: Sequence[str]) -> dict[str, Price | None]:
        """US dollars per token of each added model; None where nobody knows."""
        return self._call(lambda client: client.prices(names))

    def stats(self) -> Stats:
        """What the whole session used so far."""
        return self._call(lambda client: client.stats()) if self.is_started else Stats()

    def _call(self, ask: Callable[[GatewayClient], _Answer]) -> _Answer:
        client = self._connected(None)
        try:
            return ask(client)
        except GatewayUnreached:
            return ask(self._connected(client))

    def _connected(self, lost: GatewayClient | None) -> GatewayClient:
        """The client of the running gateway, which then knows this process's models."""
        with self._lock:
            if self._client is None or self._client is lost:
                client = GatewayClient(self._found_or_started())
                client.register(self._specs)
                self._client = client
            return self._client

    def _found_or_started(self) -> GatewayAddress:
        with FileLock(f"{self._file}.lock"):
            known = read_address(self._file.parent)
            if known is not None and _answers(known):
                return known
            address = self._start()
            _write_private(self._file, json.dumps({"address": str(address)}))
            return address


def stop_shared_gateway(folder: Path) -> None:
    """End the session's gateway, if one was started."""
    if (address := read_address(folder)) is not None:
        stop_gateway(address)
        (folder / ADDRESS_FILE).unlink(missing_ok=True)


@contextmanager
def temporary_gateway(max_cost: float | None = None) -> Iterator[SharedGateway]:
    """A gateway outside of any session, without cassettes; the first question starts it.

    Args:
        max_cost: most US dollars that its calls may cost together.
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
    """Where the session's gateway listens; None before anybody needed it."""
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
    """Replace a file that only the user may read."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
