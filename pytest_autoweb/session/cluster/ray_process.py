"""The process that talks to Ray, so that pytest survives the end of the cluster.

Ray ends a process whose cluster is lost, prints freely, takes over signals, and takes seconds to
import. So the session starts this process, and sees a lost cluster as a closed socket.
"""

import os
import queue
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb import __version__
from pytest_autoweb.base.child_process import answer_owner, die_with_owner, read_config
from pytest_autoweb.session.cluster.frame_stream import Frame, FrameStream
from pytest_autoweb.session.cluster.node_worker import NodeWorker

SILENT_S = 60.0
"""Seconds without a sign of life after which a node counts as lost."""
_END_S = 5.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}


class BridgeConfig(BaseModel):
    """What the bridge is started with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    """`auto`, or an address of a cluster."""
    port: int
    """Where the session listens, on loopback."""
    token: str
    owner_pid: int
    project: str
    """The folder that is sent to the nodes."""
    excludes: tuple[str, ...]
    where: str
    """The folder in which the session was started, relative to the project."""
    variable: str
    """The variable that tells a test process its folder on the node."""
    environ: dict[str, str]
    """Variables for the test processes."""
    cores: float
    """Cores that a worker takes up."""
    memory: int
    """Bytes of memory that a worker takes up."""


class WorkerRelay(threading.Thread):
    """One worker: has Ray place it, and relays frames in both directions.

    Args:
        ray: the module, which is imported only once the address is known.
        config: the bridge's configuration.
        worker: the name of the worker.
        stream: the stream to the session.
    """

    def __init__(self, ray: Any, config: BridgeConfig, worker: str, stream: FrameStream) -> None:
        super().__init__(name=f"autoweb-{worker}", daemon=True)
        self._ray, self._config, self._worker, self._stream = ray, config, worker, stream
        self._inbox: queue.Queue[Frame | None] = queue.Queue()
        self._actor: Any = None
        self._placed = False

    def put(self, frame: Frame) -> None:
        """Queue a frame for the worker."""
        self._inbox.put(frame)

    def end(self) -> None:
        """Give up the worker and its resources, even in the middle of a task."""
        self._inbox.put(None)
        if self._actor is None:
            return
        if self._placed:
            # A lost node cannot clean up, and a busy one need not.
            with suppress(Exception):
                self._ray.get(self._actor.end.remote(), timeout=_END_S)
        with suppress(Exception):
            self._ray.kill(self._actor)

    def run(self) -> None:
        """Follow the worker until it has ended or is lost."""
        try:
            frame = self._follow()
        except Exception as error:
            # Ray has dozens of errors that all mean the same here: the worker is gone.
            frame = Frame("down", self._worker, -1, _first_line(error))
        self._inbox.put(None)
        self.end()
        with suppress(OSError):
            self._stream.send(frame)

    def _follow(self) -> Frame:
        config, ray = self._config, self._ray
        # Three concurrent calls: one that waits for frames, one that delivers some, and one spare.
        placed = ray.remote(NodeWorker).options(
            num_cpus=config.cores,
            memory=config.memory,
            max_concurrency=3,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        self._actor = placed.remote(self._worker, config.where, config.variable)
        facts = ray.get(self._actor.begin.remote(config.environ))
        self._placed = True
        if facts["version"] != __version__:
            why = f"{facts['host']} has pytest-autoweb {facts['version']}, not {__version__}"
            return Frame("down", self._worker, -1, why)
        self._stream.send(Frame("placed", self._worker, 0, facts["host"]))
        threading.Thread(target=self._push, daemon=True).start()
        while True:
            for frame in ray.get(self._actor.pull.remote(), timeout=SILENT_S):
                if frame.kind == "down":
                    return Frame(*frame)
                self._stream.send(frame)

    def _push(self) -> None:
        while (frame := self._inbox.get()) is not None:
            try:
                self._ray.get(self._actor.push.remote([frame]), timeout=SILENT_S)
            except Exception:
                # The thread that waits for the worker's frames also notices its end.
                return


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Errors from a node begin with its traceback and end with the actual message.
    told = lines[-1] if lines and "Traceback" in str(error) else " ".join(lines[:1])
    return f"{type(error).__name__}: {told}"[:500]


def places(ray: Any, config: BridgeConfig) -> int:
    """Return the number of workers that there is room for now."""
    free = ray.available_resources()
    by_cores = free.get("CPU", 0.0) / config.cores
    by_memory = free.get("memory", 0.0) / config.memory
    return int(min(by_cores, by_memory))


def _connect(config: BridgeConfig) -> tuple[Any, dict[str, Any]]:
    os.environ.update(_QUIET)
    # Late, because it takes seconds and its variables have to be set first.
    import ray

    ray.init(
        address=config.address,
        runtime_env={"working_dir": config.project, "excludes": list(config.excludes)},
        logging_level="error",
        log_to_driver=False,
        namespace=f"autoweb-{config.token[:8]}",
    )
    nodes = [node for node in ray.nodes() if node["Alive"]]
    free = ray.available_resources()
    return ray, {
        "ray": ray.__version__,
        "nodes": len(nodes),
        "cores": free.get("CPU", 0.0),
        "memory": free.get("memory", 0.0),
        "places": places(ray, config),
    }


def main() -> None:
    """Connect to the cluster, and relay frames until the session ends."""
    config = BridgeConfig.model_validate(read_config())
    try:
        ray, facts = _connect(config)
    except Exception as error:
        # Any exception from Ray becomes a sentence for the user, not a traceback.
        answer_owner({"error": _first_line(error)})
        sys.exit(1)
    connection = socket.create_connection(("127.0.0.1", config.port))
    stream = FrameStream(connection)
    stream.send(Frame("hello", "", 0, config.token))
    answer_owner(facts)
    die_with_owner(config.owner_pid, ray.shutdown)
    relays: dict[str, WorkerRelay] = {}
    while (frame := stream.read()) is not None:
        if frame.kind == "start":
            relays[frame.worker] = WorkerRelay(ray, config, frame.worker, stream)
            relays[frame.worker].start()
        elif (relay := relays.get(frame.worker)) is not None:
            if frame.kind == "end":
                threading.Thread(target=relay.end, daemon=True).start()
            else:
                relay.put(frame)
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
