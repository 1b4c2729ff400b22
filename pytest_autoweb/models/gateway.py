"""The gateway seen from outside: how a session starts, shares, calls and stops it."""

import http.client
import json
import os
import secrets
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from pytest_autoweb.base.child_process import StartFailed, start_owned, stop_owned
from pytest_autoweb.base.errors import CassetteMiss, ModelError
from pytest_autoweb.base.files import PRIVATE, replace_text
from pytest_autoweb.models.gateway_ahead import LOG_NAME, PROCESS
from pytest_autoweb.models.gateway_messages import (
    MODELS_PATH,
    Acknowledgement,
    CallFailed,
    CheckReply,
    CheckRequest,
    ModelCheck,
    NewModels,
    Prices,
    StartConfig,
    Started,
    Stats,
    write_specs,
)
from pytest_autoweb.models.key_file import KEY_FILE
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.spending import Ledger, Price
from pytest_autoweb.settings.record_modes import RecordMode

_START_TIMEOUT_S = 120.0
_Answer = TypeVar("_Answer", bound=BaseModel)

_running: dict[str, subprocess.Popen[bytes]] = {}
_running_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """The gateway's address and token; `str(address)` and `parse` carry them to xdist workers."""

    host: str
    port: int
    token: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}:{self.token}"

    @classmethod
    def parse(cls, text: str) -> "GatewayAddress":
        """Read an address from the text that `str` gives."""
        host, port, token = text.split(":", 2)
        return cls(host, int(port), token)


def start_gateway(
    specs: Mapping[str, ModelSpec],
    *,
    record_mode: RecordMode,
    cassettes: Path,
    run_dir: Path,
    owner_pid: int | None = None,
    live: Collection[str] = (),
    backoff_s: float = 1.0,
    lasting: bool = False,
    max_cost: float | None = None,
    allow_unpriced: bool = False,
    ledger: Ledger | None = None,
    key_file: Path = Path(KEY_FILE),
) -> GatewayAddress:
    """Start a gateway process; it loads litellm only for live calls that need it.

    Args:
        specs: the models of the session, by name.
        record_mode: how cassettes are used.
        cassettes: folder of the cassettes.
        run_dir: folder for the logs of the gateway and the embedded engines.
        owner_pid: the process it must not outlive, besides the one that started it.
        live: models that are never recorded or replayed.
        backoff_s: seconds to wait before the second try of a failed call.
        lasting: let it outlive the process that starts it, though not its owner.
        max_cost: limit in US dollars on what its live calls may cost together.
        allow_unpriced: with `max_cost`, let models without a known price run, uncounted.
        ledger: where the money spent is recorded; by default in `run_dir`.
        key_file: a file like `.env`, whose keys only the gateway gets; it need not exist.

    Raises:
        ModelError: the process did not start.
    """
    token = secrets.token_urlsafe(32)
    config = StartConfig(
        token=token,
        specs=write_specs(specs),
        record_mode=record_mode,
        cassettes=cassettes.absolute(),
        run_dir=run_dir.absolute(),
        owner_pid=owner_pid or os.getpid(),
        live=tuple(live),
        backoff_s=backoff_s,
        lasting=lasting,
        max_cost=max_cost,
        allow_unpriced=allow_unpriced,
        ledger=ledger,
        key_file=key_file.absolute(),
    )
    process, port = _started(config)
    with _running_lock:
        _running[token] = process
    return GatewayAddress("127.0.0.1", port, token)


def _started(config: StartConfig) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the process, and return it with its port."""
    try:
        process, answer = start_owned(
            PROCESS,
            config.model_dump(mode="json"),
            environ=os.environ,
            log=config.run_dir / LOG_NAME,
            timeout=_START_TIMEOUT_S,
        )
    except StartFailed as error:
        raise ModelError("unavailable", "gateway", f"it did not start: {error}") from None
    return process, Started.model_validate(answer).port


def stop_gateway(address: GatewayAddress) -> None:
    """Stop a gateway and its engines, whichever process started it; a second call is harmless."""
    with suppress(ModelError):
        GatewayClient(address).stop()
    with _running_lock:
        process = _running.pop(address.token, None)
    if process is not None:
        stop_owned(process)


class GatewayUnreached(ModelError):
    """Raised when nothing listens at the address, so that the request was not even sent."""


class GatewayClient:
    """A `Client` that asks the gateway; it needs only the address, and threads may share it."""

    def __init__(self, address: GatewayAddress) -> None:
        self._address = address

    def complete(self, request: Request) -> Reply:
        """Answer one request through the gateway.

        Raises:
            CassetteMiss: the mode only replays, and no recording fits.
            ModelError: the call failed, or the gateway is gone.
        """
        status, body = self._post("/complete", _json(request), request.model)
        if status == 200:
            return self._read(Reply, body, request.model)
        if status != 422:
            raise ModelError("unavailable", request.model, f"the gateway answered {status}")
        failed = self._read(CallFailed, body, request.model)
        if failed.miss:
            raise CassetteMiss(request.model, failed.detail)
        raise ModelError(failed.cause, request.model, failed.detail, usage=failed.usage)

    def check(self, models: Sequence[str], case_ids: Sequence[str] = ()) -> tuple[ModelCheck, ...]:
        """Tell for each model whether it can be used, without sending it a request.

        If the record mode replays, a model with a cassette for every case needs no service.
        """
        asked = CheckRequest(models=tuple(models), case_ids=tuple(case_ids))
        return self._ask("/check", asked, CheckReply).checks

    def stats(self) -> Stats:
        """Return the usage of all test processes together so far."""
        return self._ask("/stats", CheckRequest(models=()), Stats)

    def register(self, specs: Mapping[str, ModelSpec]) -> None:
        self._ask(MODELS_PATH, NewModels(specs=write_specs(specs)), Acknowledgement)

    def prices(self, names: Sequence[str]) -> dict[str, Price | None]:
        """Return the price of each model's tokens in US dollars, or None where it is unknown.

        Controls and embedded models cost 0. A price that is not set and not implied by the name is
        looked up in litellm's table, which makes the gateway load litellm.
        """
        return self._ask("/prices", CheckRequest(models=tuple(names)), Prices).prices

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Forward a request from a process on another machine; return status and answer.

        Raises:
            ModelError: the gateway is gone.
        """
        return self._post(path, body, "gateway")

    def stop(self) -> None:
        self._ask("/stop", Acknowledgement(), Acknowledgement)

    def _ask(self, path: str, body: BaseModel, kind: type[_Answer]) -> _Answer:
        status, data = self._post(path, _json(body), "gateway")
        if status == 422:
            failed = self._read(CallFailed, data, "gateway")
            raise ModelError(failed.cause, "gateway", failed.detail)
        if status != 200:
            raise ModelError("unavailable", "gateway", f"it answered {status} to {path}")
        return self._read(kind, data, "gateway")

    def _post(self, path: str, body: bytes, model: str) -> tuple[int, bytes]:
        address = self._address
        # No timeout here: the gateway bounds each try, and its end closes the connection.
        connection = http.client.HTTPConnection(address.host, address.port)
        headers = {
            "Authorization": f"Bearer {address.token}",
            "Content-Type": "application/json",
        }
        try:
            # Done separately: if this fails, the request was not sent and can be repeated safely.
            connection.connect()
        except OSError as error:
            raise GatewayUnreached("unavailable", model, _gone(error)) from None
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ModelError("unavailable", model, _gone(error)) from None
        finally:
            connection.close()

    @staticmethod
    def _read(kind: type[_Answer], body: bytes, model: str) -> _Answer:
        try:
            return kind.model_validate_json(body)
        except ValidationError:
            raise ModelError("unavailable", model, "the gateway's answer is garbled") from None


def _json(body: BaseModel) -> bytes:
    return body.model_dump_json().encode()


def _gone(error: Exception) -> str:
    return f"the gateway process is gone ({error!r}); see {LOG_NAME} in the run folder"


ADDRESS_FILE = "gateway.json"

StartGateway = Callable[[Mapping[str, ModelSpec]], GatewayAddress]

_SharedGatewayAnswer = TypeVar("_SharedGatewayAnswer")


class SharedGateway:
    """A `Client` for the session's gateway; it starts the gateway if needed and is thread-safe."""

    def __init__(self, folder: Path, start: StartGateway) -> None:
        """Create a client for the gateway of that folder.

        Args:
            folder: the session's folder.
            start: starts a gateway that knows these models, and returns its address.
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

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Forward a request from a process on another machine to the gateway.

        Raises:
            ModelError: the gateway is gone, or the path is not for other machines.
        """
        if path in (MODELS_PATH, "/stop"):
            raise ModelError("unavailable", "gateway", f"{path} is not for other machines")
        return self._call(lambda client: client.forward(path, body))

    def check(self, models: Sequence[str]) -> tuple[ModelCheck, ...]:
        """Tell for each model whether it can be called."""
        return self._call(lambda client: client.check(models))

    def prices(self, names: Sequence[str]) -> dict[str, Price | None]:
        """Return the price of each added model's tokens, or None where it is unknown."""
        return self._call(lambda client: client.prices(names))

    def stats(self) -> Stats:
        """Return the whole session's usage so far."""
        return self._call(lambda client: client.stats()) if self.is_started else Stats()

    def _call(self, ask: Callable[[GatewayClient], _SharedGatewayAnswer]) -> _SharedGatewayAnswer:
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
                self._client = self._found_or_started()
            return self._client

    def _found_or_started(self) -> GatewayClient:
        # All processes of the session take this lock, so only one of them starts a gateway.
        with FileLock(f"{self._file}.lock"):
            known = read_address(self._file.parent)
            if known is not None and _answers(known):
                client = GatewayClient(known)
                client.register(self._specs)
                return client
            address = self._start(self._specs)
            write_address(self._file.parent, address)
            return GatewayClient(address)


def stop_shared_gateway(folder: Path) -> None:
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

        def start(specs: Mapping[str, ModelSpec]) -> GatewayAddress:
            return start_gateway(
                specs,
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


def write_address(folder: Path, address: GatewayAddress) -> None:
    """Write the session's gateway address where all its processes on this machine look for it."""
    # It holds the gateway's token.
    replace_text(folder / ADDRESS_FILE, json.dumps({"address": str(address)}), mode=PRIVATE)


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
