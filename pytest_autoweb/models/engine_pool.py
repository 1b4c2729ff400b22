"""The engine processes of a session: each starts at its model's first call and then stays.

The engine is llama.cpp's own HTTP server, from the wheel `xllamacpp`.
"""

import importlib.metadata
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from pytest_autoweb.base.child_process import (
    StartFailed,
    answer_owner,
    die_with_owner,
    read_config,
    start_owned,
    stop_owned,
)
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.installation import missing_extras
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.models.local_models import (
    LocalModel,
    is_present,
    is_verified,
    local_model,
    model_path,
)
from pytest_autoweb.models.model_spec import Endpoint, ModelSpec

SLOTS = 2
"""Number of requests that one engine answers at the same time."""

_ENGINE = "pytest_autoweb.models.engine_pool"
_LOAD_TIMEOUT_S = 300.0
# OpenMP threads that spin while they wait for a token would take CPU time from the browser.
_QUIET_THREADS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


# Late imports: xllamacpp is an extra, and only the engine's process has it.


class EngineConfig(BaseModel):
    """The configuration that the gateway gives to an engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name under which the engine serves the model."""
    api_key: str
    """Key that every request must carry, so that a page under test cannot use the model."""
    owner_pid: int
    slots: int = 2
    """Number of parallel requests; each slot caches the beginning of its last prompt."""
    context_tokens: int = 8192
    """Context size of one slot."""
    prompt_cache_mib: int = 256
    """Memory for cached prompt beginnings that no slot holds any more."""


def main() -> None:
    """Load the model and serve until the owner is gone."""
    config = EngineConfig.model_validate(read_config())
    server = _serve(sys.argv[1], config)
    die_with_owner(config.owner_pid, lambda: None)
    answer_owner({"url": str(server.listening_address)})
    while True:
        time.sleep(3600)


def _serve(path: str, config: EngineConfig) -> Any:
    import xllamacpp

    threads = os.cpu_count() or 1
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {config.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config.api_key]
    # No web page may call the server, not even from this machine's browser.
    params.cors_origins = ""
    params.offline = True
    params.ui = False
    params.endpoint_metrics = False
    params.endpoint_slots = False
    params.n_parallel = config.slots
    # llama.cpp divides the context among its slots.
    params.n_ctx = config.context_tokens * config.slots
    params.cache_prompt = True
    params.cache_ram_mib = config.prompt_cache_mib
    params.n_threads_http = config.slots + 2
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = threads
        # Threads that spin while they wait would take CPU time from the browser.
        pool.poll = 0
    params.verbosity = 1
    return xllamacpp.Server(params)


class _Engine(Struct, frozen=True):
    process: subprocess.Popen[bytes]
    url: str
    api_key: str


class EnginePool:
    """The running engines of a session, one for each embedded model."""

    def __init__(self, run_dir: Path, environ: Mapping[str, str]) -> None:
        self._run_dir, self._environ = run_dir, environ
        self._lock = threading.Lock()
        self._starting: dict[str, threading.Lock] = {}
        self._engines: dict[str, _Engine] = {}

    @property
    def loaded(self) -> tuple[str, ...]:
        return tuple(sorted(self._engines))

    def target(self, spec: ModelSpec) -> Endpoint:
        """Return the address of a model's engine, starting the engine if necessary.

        Raises:
            ModelError: the engine or the model's file is missing, or the engine did not start.
        """
        model = local_model(spec.litellm_model)
        # One lock per model: loading one must not keep another one waiting.
        with self._lock:
            own_lock = self._starting.setdefault(model.name, threading.Lock())
        with own_lock:
            engine = self._engines.get(model.name)
            if engine is None or engine.process.poll() is not None:
                engine = self._start(model, spec)
                self._engines[model.name] = engine
        return Endpoint(f"openai/{model.name}", f"{engine.url}/v1", engine.api_key)

    def stop(self) -> None:
        """End all engines."""
        for engine in list(self._engines.values()):
            stop_owned(engine.process, patience=1.0)

    def _start(self, model: LocalModel, spec: ModelSpec) -> _Engine:
        if problem := engine_problem(model):
            raise ModelError("unavailable", spec.name, problem)
        if not is_verified(model, model_path(model)):
            detail = f"{model_path(model)} is damaged: delete it, then autoweb models pull"
            raise ModelError("unavailable", spec.name, f"{detail} {model.full_name}")
        key = secrets.token_urlsafe(24)
        config = EngineConfig(
            name=model.name,
            api_key=key,
            owner_pid=os.getpid(),
            slots=SLOTS,
            context_tokens=model.context_tokens,
        )
        log = self._run_dir / f"engine-{model.name}.log"
        try:
            process, answer = start_owned(
                _ENGINE,
                config.model_dump(),
                arguments=(str(model_path(model)),),
                # The engine calls no provider, so it gets no keys.
                environ=without_secrets(self._environ) | _QUIET_THREADS,
                log=log,
                timeout=_LOAD_TIMEOUT_S,
            )
        except StartFailed as error:
            detail = f"the embedded engine did not start: {error}"
            raise ModelError("unavailable", spec.name, detail) from None
        return _Engine(process, str(answer["url"]), key)


def engine_problem(model: LocalModel) -> str | None:
    """Return why a model cannot run on this machine and what to do about it, or None."""
    if problem := missing_extras(["local"]):
        return f"the embedded engine: {problem}"
    if not is_present(model):
        size = f"{model.size / 1e6:,.0f} MB"
        return f"the model's file is not here: autoweb models pull {model.full_name} ({size})"
    return None


def engine_version() -> str:
    """Return the engine's name and version, for the header of a cassette."""
    try:
        return f"llama.cpp (xllamacpp {importlib.metadata.version('xllamacpp')})"
    except importlib.metadata.PackageNotFoundError:
        return "llama.cpp (xllamacpp)"


if __name__ == "__main__":
    main()
