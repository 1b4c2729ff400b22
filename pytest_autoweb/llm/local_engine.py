"""The process of an embedded engine: llama.cpp's own HTTP server, from the wheel `xllamacpp`.

It runs as `python -m pytest_autoweb.llm.local_engine MODEL.gguf` with one JSON line on standard
input (`EngineConfig`), answers `{"url": …}` once the model is loaded, and ends with its owner.
xllamacpp is imported only in this file, and only in this process.
"""

import os
import sys
import time
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.llm.child_process import answer_owner, die_with_owner, read_config

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
    # No page may call the server, not even from this machine's browser.
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


if __name__ == "__main__":
    main()
