"""The gateway from the outside: starting it, calling it and stopping it."""

import http.client
import os
import secrets
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pytest_autoweb.errors import CassetteMiss, ModelError
from pytest_autoweb.llm.cassettes import RecordMode
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.llm.owned_process import StartFailed, start_owned, stop_owned
from pytest_autoweb.llm.price import Price
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.llm.wire import (
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

LOG_NAME = "gateway.log"

_PROCESS = "pytest_autoweb.llm.gateway_process"
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
) -> GatewayAddress:
    """Start a gateway process; it imports litellm only at the first live call.

    Args:
        specs: the models of the session, by name.
        record_mode: what cassettes are used for.
        cassettes: folder of the cassettes.
        run_dir: folder for the logs of the gateway and the embedded engines.
        owner_pid: the process it must not outlive, besides the one that started it.
        live: models that are never recorded or replayed.
        backoff_s: seconds to wait before the second try of a failed call.
        lasting: let it outlive the process that starts it, though not its owner.
        max_cost: limit in US dollars on what its live calls may cost together.
        allow_unpriced: with `max_cost`, let models without a known price run, uncounted.

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
    )
    try:
        process, answer = start_owned(
            _PROCESS,
            config.model_dump(mode="json"),
            environ=os.environ,
            log=run_dir / LOG_NAME,
            timeout=_START_TIMEOUT_S,
        )
    except StartFailed as error:
        raise ModelError("unavailable", "gateway", f"it did not start: {error}") from None
    with _running_lock:
        _running[token] = process
    return GatewayAddress("127.0.0.1", Started.model_validate(answer).port, token)


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
        status, body = self._post("/complete", request, request.model)
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
        """Return what all test processes together have used so far."""
        return self._ask("/stats", CheckRequest(models=()), Stats)

    def register(self, specs: Mapping[str, ModelSpec]) -> None:
        """Make more models known to the gateway."""
        self._ask("/models", NewModels(specs=write_specs(specs)), Acknowledgement)

    def prices(self, names: Sequence[str]) -> dict[str, Price | None]:
        """Return the price of each model's tokens in US dollars, or None where it is unknown.

        Controls and embedded models cost 0. A price that is neither set nor implied by the name is
        looked up in litellm's table, for which the gateway then loads litellm.
        """
        return self._ask("/prices", CheckRequest(models=tuple(names)), Prices).prices

    def stop(self) -> None:
        """Stop the gateway and its engines."""
        self._ask("/stop", Acknowledgement(), Acknowledgement)

    def _ask(self, path: str, body: BaseModel, kind: type[_Answer]) -> _Answer:
        status, data = self._post(path, body, "gateway")
        if status == 422:
            failed = self._read(CallFailed, data, "gateway")
            raise ModelError(failed.cause, "gateway", failed.detail)
        if status != 200:
            raise ModelError("unavailable", "gateway", f"it answered {status} to {path}")
        return self._read(kind, data, "gateway")

    def _post(self, path: str, body: BaseModel, model: str) -> tuple[int, bytes]:
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
            connection.request("POST", path, body.model_dump_json().encode(), headers)
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


def _gone(error: Exception) -> str:
    return f"the gateway process is gone ({error!r}); see {LOG_NAME} in the run folder"
