"""A Ray cluster as the session sees it: starting workers, their streams and their requests."""

import contextlib
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_autoweb.base.child_process import StartFailed, start_owned, stop_owned
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.base.tokens import is_token
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.session.cluster.frame_stream import Frame, FrameStream
from pytest_autoweb.session.cluster.ray_process import BridgeConfig
from pytest_autoweb.session.cluster.session_server import SessionServer

_MODULE = "pytest_autoweb.session.cluster.ray_process"
_START_S, _END_S = 300.0, 10.0
_LEFT_OUT = (
    ".git/",
    ".venv/",
    "venv/",
    "node_modules/",
    "__pycache__/",
    "*.pyc",
    ".env",
    ".env.*",
    ".autoweb/",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    "test-results/",
)
"""Files that no node needs, besides those matched by `.gitignore`."""
_PASSED_ON = ("AUTOWEB_", "PYTEST_", "LC_")
_PASSED_ON_TOO = ("CI", "LANG", "TZ", "NO_COLOR")


class Room(NamedTuple):
    """The cluster's free resources when the session began."""

    ray: str
    nodes: int
    cores: float
    memory: float
    places: int


class WorkerStream:
    """A byte stream from and to a worker, with the interface that execnet expects.

    Args:
        send: sends bytes to the worker.
        end: gives up the worker.
        execmodel: execnet's execution model.
    """

    def __init__(
        self, send: Callable[[bytes], None], end: Callable[[], None], execmodel: Any
    ) -> None:
        self._send, self._end, self.execmodel = send, end, execmodel
        self._buffer = bytearray()
        self._closed = False
        self._news = threading.Condition()
        self.why = ""
        """The reason why the worker is gone."""

    def feed(self, data: bytes) -> None:
        """Accept bytes that the worker sent."""
        with self._news:
            self._buffer += data
            self._news.notify_all()

    def close(self, why: str = "") -> None:
        """Note that the worker will send nothing more."""
        with self._news:
            self._closed, self.why = True, self.why or why
            self._news.notify_all()

    def read(self, numbytes: int) -> bytes:
        """Return exactly that many bytes, once they have arrived.

        Raises:
            EOFError: the worker is gone.
        """
        with self._news:
            self._news.wait_for(lambda: self._closed or len(self._buffer) >= numbytes)
            if len(self._buffer) < numbytes:
                raise EOFError(self.why or "the worker is gone")
            data = bytes(self._buffer[:numbytes])
            del self._buffer[:numbytes]
            return data

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            OSError: the worker, or the cluster, is gone.
        """
        if self._closed:
            raise OSError(self.why or "the worker is gone")
        self._send(data)

    def close_read(self) -> None:
        """Do nothing: any further bytes are ignored."""

    def close_write(self) -> None:
        """Do nothing: execnet has already sent its termination message."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the worker has ended, or the given number of seconds has passed."""
        with self._news:
            self._news.wait_for(lambda: self._closed, timeout)
        return 0

    def kill(self) -> None:
        """End the worker."""
        self.why = "ended by the session"
        self._end()


class RayCluster:
    """The connection to a cluster, through the bridge.

    Args:
        process: the bridge.
        stream: the stream to the bridge.
        room: the cluster's free resources.
        home: answers the workers' requests.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        stream: FrameStream,
        room: Room,
        home: SessionServer,
    ) -> None:
        self._process, self._stream, self._home = process, stream, home
        self.room = room
        self.home = home
        self.workers = room.places
        """The initial number of workers."""
        self.lost = ""
        """The reason why the whole cluster is gone; empty while it is there."""
        self.hosts: dict[str, str] = {}
        """The machine of each worker that has been placed."""
        self._streams: dict[str, WorkerStream] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, name="autoweb-cluster", daemon=True).start()

    def start(self, worker: str, execmodel: Any) -> WorkerStream:
        """Request a worker, placed as soon as there is room, and return its stream immediately."""

        def send(data: bytes) -> None:
            self._stream.send(Frame("input", worker, body=data))

        def end() -> None:
            with contextlib.suppress(OSError):
                self._stream.send(Frame("end", worker))

        stream = WorkerStream(send, end, execmodel)
        with self._lock:
            self._streams[worker] = stream
        try:
            self._stream.send(Frame("start", worker))
        except OSError:
            stream.close(self.lost or "the cluster is gone")
        return stream

    def told(self) -> str:
        """Return a line for the header and the report."""
        room = self.room
        return (
            f"Ray {room.ray}, {count_of(room.nodes, 'node')} with {room.cores:g} free cores and "
            f"{room.memory / 2**30:.1f} GiB: {count_of(self.workers, 'worker')}"
        )

    def why_lost(self, worker: str) -> str:
        """Return the reason why a worker is gone."""
        stream = self._streams.get(worker)
        return stream.why if stream else ""

    def close(self, why: str) -> None:
        """Disconnect from the cluster.

        Args:
            why: the note on cells that have begun but not ended.
        """
        self._home.close(why)
        deadline = time.monotonic() + _END_S
        for stream in list(self._streams.values()):
            stream.wait(max(0.0, deadline - time.monotonic()))
        self._stream.close()
        stop_owned(self._process)

    def _read(self) -> None:
        while (frame := self._stream.read()) is not None:
            self._take(frame)
        self.lost = "the connection with the Ray cluster is lost"
        with self._lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.close(self.lost)

    def _take(self, frame: Frame) -> None:
        stream = self._streams.get(frame.worker)
        if stream is None:
            return
        if frame.kind == "output":
            stream.feed(frame.body)
        elif frame.kind == "ask":
            threading.Thread(target=self._answer, args=(frame,), daemon=True).start()
        elif frame.kind == "placed":
            self.hosts[frame.worker] = frame.text
        elif frame.kind == "down":
            last = frame.body.decode(errors="replace").strip().splitlines()[-1:]
            stream.close(": ".join([frame.text, *last]))
        else:
            try:
                self._home.take(frame)
            except OSError:
                # The request that follows the file finds it corrupt and reports that.
                return

    def _answer(self, frame: Frame) -> None:
        status, body = self._home.answer(frame)
        try:
            self._stream.send(Frame("answer", frame.worker, frame.number, str(status), body))
        except OSError:
            return


class RuntimeEnv(NamedTuple):
    """The data that is sent to the nodes."""

    project: Path
    """The folder with code and cases."""
    invoked: Path
    """The folder in which pytest was started."""
    left_out: tuple[str, ...]
    """Parts of the project to leave out, besides those that no node needs."""
    variable: str
    """The environment variable with a test process's folder on the node."""
    environ: Mapping[str, str]
    """The session's environment variables, of which only settings are sent."""


class Wanted(NamedTuple):
    """The requested workers."""

    workers: int
    """Their number; 0 means as many as there is room for."""
    memory: int
    """Bytes of memory for each."""


def connect(
    address: str, home: SessionServer, runtime_env: RuntimeEnv, wanted: Wanted, session_folder: Path
) -> RayCluster:
    """Connect to a cluster.

    Args:
        address: `auto`, or an address of a cluster.
        home: answers the workers' requests.
        runtime_env: the data sent to the nodes.
        wanted: the requested workers.
        session_folder: the folder for the bridge's log.

    Raises:
        SettingsError: there is no cluster, no room, or the project cannot be sent.
    """
    inside = runtime_env.invoked.is_relative_to(runtime_env.project)
    where = runtime_env.invoked.relative_to(runtime_env.project) if inside else Path()
    listener = socket.create_server(("127.0.0.1", 0))
    config = BridgeConfig(
        address=address,
        port=listener.getsockname()[1],
        token=secrets.token_urlsafe(32),
        owner_pid=os.getpid(),
        project=str(runtime_env.project),
        excludes=(*_LEFT_OUT, *runtime_env.left_out),
        where=where.as_posix(),
        variable=runtime_env.variable,
        environ=passed_on(runtime_env.environ),
        cores=1,
        memory=wanted.memory,
    )
    with listener:
        process, room = _start_bridge(config, runtime_env.environ, session_folder)
        stream = _welcome(listener, config.token)
    cluster = RayCluster(process, stream, room, home)
    cluster.workers = wanted.workers or room.places
    if not cluster.workers:
        cluster.close("")
        raise SettingsError(
            f"--autoweb-cluster={address}: there is no room for a worker, which needs one core and "
            f"{wanted.memory / 2**30:.1f} GiB; free are {room.cores:g} cores and "
            f"{room.memory / 2**30:.1f} GiB on {room.nodes} nodes (-n N waits for room instead)"
        )
    return cluster


def _start_bridge(
    config: BridgeConfig, environ: Mapping[str, str], session_folder: Path
) -> "tuple[subprocess.Popen[bytes], Room]":
    try:
        process, answer = start_owned(
            _MODULE,
            config.model_dump(mode="json"),
            environ=without_secrets(environ) | _of_ray(environ),
            log=session_folder / "cluster.log",
            timeout=_START_S,
        )
    except StartFailed as error:
        raise SettingsError(f"--autoweb-cluster={config.address}: {error}") from None
    if "error" in answer:
        stop_owned(process)
        raise SettingsError(f"--autoweb-cluster={config.address}: {answer['error']}")
    return process, Room(**answer)


def _welcome(listener: socket.socket, token: str) -> FrameStream:
    """Accept the bridge's connection, which it made before reporting that it is ready."""
    listener.settimeout(10)
    while True:
        stream = FrameStream(listener.accept()[0])
        hello = stream.read()
        if hello is not None and is_token(hello.text, token):
            return stream
        stream.close()


def _of_ray(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that configure Ray itself, including its token."""
    return {name: value for name, value in environ.items() if name.startswith("RAY_")}


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for test processes on nodes: settings, but no secrets."""
    return {
        name: value
        for name, value in without_secrets(environ).items()
        if name.startswith(_PASSED_ON) or name in _PASSED_ON_TOO
    }
