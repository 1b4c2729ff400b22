"""One test process on a node of the cluster, and its messages to and from the session.

A Ray actor holds a `NodeWorker`. It starts the test process and gives it a loopback address through
which it reaches the session's machine ("home"). It relays the traffic between xdist's controller
and the test process, and the test process's requests to the session's machine: model calls, and
storing the files of completed cells. Everything travels in small frames of bytes; a cell's files
are sent as one zip file.
"""

import json
import os
import queue
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pytest_autoweb import __version__
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.models.gateway import GatewayAddress, write_address
from pytest_autoweb.session.cluster.cells_so_far import SoFarOfCells
from pytest_autoweb.session.cluster.frame_stream import MOST_BYTES, Frame
from pytest_autoweb.session.cluster.node_messages import WATCHED_PATH, NodeMessage, WatchedKnown
from pytest_autoweb.session.cluster.packed_cell import pack_cell
from pytest_autoweb.session.servers.webservers import stop_all
from pytest_autoweb.session.shared_run import PROGRESS_FILE

PART_BYTES = 1024 * 1024
"""Maximum number of bytes of a file in one frame."""
CELL_PATH = "/cell"
"""The request that delivers a cell's files."""

SENT_FILES = (PROGRESS_FILE, "resumed.jsonl", "browsers", "browser-sandbox")
"""Files in the session's folder that all processes append to and that are sent home."""
_PULL_S = 5.0
_PULL_BYTES = 4 * PART_BYTES
_FULL = 64
"""Maximum number of frames waiting to be fetched; a sender with more blocks."""
_POLL_S = 0.5
_WATCHED_EACH_S = 5.0
"""How often the session's machine is asked whether somebody watches."""
_TAIL = 2000
_SERVE = (
    "from execnet.gateway_base import serve, init_popen_io, get_execmodel; import sys; "
    "serve(init_popen_io(get_execmodel('main_thread_only')), id=sys.argv[1] + '-worker')"
)


class NodeWorker:
    """A test process on this node; its methods are called through Ray.

    Args:
        worker: its name, as assigned by xdist.
        where: the folder to start it in, relative to the project folder.
        variable: the environment variable with the test process's folder on this node.
    """

    def __init__(self, worker: str, where: str, variable: str) -> None:
        self._worker, self._where, self._variable = worker, where, variable
        self._folder = Path(tempfile.mkdtemp(prefix="autoweb-node-"))
        self._out: queue.Queue[Frame] = queue.Queue(_FULL)
        self._answers: dict[int, queue.Queue[Frame]] = {}
        self._lock, self._numbers = threading.Lock(), 0
        self._offsets = dict.fromkeys(SENT_FILES, 0)
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Start the test process, and return a description of this node.

        Args:
            variables: its environment variables; passed here because Ray stores and shows an
                actor's constructor arguments.
        """
        session = self._folder / "session"
        session.mkdir()
        (self._folder / "run").mkdir()
        token = secrets.token_urlsafe(32)
        server = _Relay(self, token)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        write_address(session, GatewayAddress("127.0.0.1", server.server_port, token))
        own = {self._variable: str(self._folder)}
        environ = without_secrets(os.environ) | dict(variables) | own
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-u", "-c", _SERVE, self._worker],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=Path.cwd() / self._where,
                env=environ,
            )
        threading.Thread(target=self._read_output, daemon=True).start()
        threading.Thread(target=self._follow_lines, daemon=True).start()
        threading.Thread(target=self._follow_cells, daemon=True).start()
        return {"host": socket.gethostname(), "version": __version__, "root": str(Path.cwd())}

    def push(self, frames: list[Frame]) -> None:
        """Accept frames from home."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        for frame in frames:
            if frame.kind == "answer":
                if (waiting := self._answers.get(frame.number)) is not None:
                    waiting.put(frame)
            elif frame.kind == "input":
                # A dead test process is detected by the end of its output.
                with suppress(OSError):
                    process.stdin.write(frame.body)
                    process.stdin.flush()

    def pull(self) -> list[Frame]:
        """Return the frames for home as soon as there are any; empty after a few seconds."""
        try:
            frames = [self._out.get(timeout=_PULL_S)]
        except queue.Empty:
            return []
        while sum(len(frame.body) for frame in frames) < _PULL_BYTES:
            try:
                frames.append(self._out.get_nowait())
            except queue.Empty:
                break
        return frames

    def end(self) -> None:
        """End the test process, and remove everything from this node."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._remove_folder()

    def _remove_folder(self) -> None:
        # At their end, web servers write into it.
        with suppress(OSError):
            stop_all(self._folder / "session")
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request home, and wait for the answer."""
        with self._lock:
            self._numbers += 1
            number = self._numbers
        self._answers[number] = queue.Queue()
        try:
            if path == CELL_PATH:
                self._send_cell(number, json.loads(body)["folder"])
            self._send_lines()
            self._out.put(Frame("ask", self._worker, number, path, body))
            answer = self._answers[number].get()
        finally:
            del self._answers[number]
        return int(answer.text), answer.body

    def _send_cell(self, number: int, cell: str) -> None:
        packed = self._folder / f"cell-{number}.zip"
        pack_cell(self._folder / "run", cell, packed)
        with packed.open("rb") as file:
            while part := file.read(PART_BYTES):
                self._out.put(Frame("part", self._worker, number, "", part))
        packed.unlink()

    def _read_output(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        while data := os.read(process.stdout.fileno(), PART_BYTES):
            self._out.put(Frame("output", self._worker, body=data))
        status = process.wait()
        self._send_lines()
        log = (self._folder / "log").read_bytes()[-_TAIL:]
        self._remove_folder()
        self._out.put(Frame("down", self._worker, status, f"exit status {status}", log))

    def _follow_lines(self) -> None:
        assert self._process is not None
        while self._process.poll() is None:
            time.sleep(_POLL_S)
            self._send_lines()

    def _follow_cells(self) -> None:
        """Send home what going cells tell of themselves, while somebody watches the run."""
        assert self._process is not None
        cells = SoFarOfCells(self._folder / "run", self._folder / "session")
        question, asked = NodeMessage().model_dump_json().encode(), -_WATCHED_EACH_S
        while self._process.poll() is None:
            time.sleep(_POLL_S)
            if time.monotonic() - asked >= _WATCHED_EACH_S:
                asked = time.monotonic()
                status, answer = self.ask(WATCHED_PATH, question)
                if status == 200 and WatchedKnown.model_validate_json(answer).watched:
                    cells.ask_for_more()
            for cell, packed in cells.news():
                self._out.put(Frame("so-far", self._worker, 0, cell, packed))

    def _send_lines(self) -> None:
        """Send home the lines appended to the session's files."""
        with self._lock:
            for name in SENT_FILES:
                with suppress(OSError), (self._folder / "session" / name).open("rb") as file:
                    file.seek(self._offsets[name])
                    data = file.read(PART_BYTES)
                    whole = data[: data.rfind(b"\n") + 1]
                    if whole:
                        self._offsets[name] += len(whole)
                        self._out.put(Frame("lines", self._worker, 0, name, whole))


class _Relay(LocalServer):
    """The loopback address at which the test process reaches home."""

    def __init__(self, node: NodeWorker, token: str) -> None:
        self.node = node
        super().__init__(token, _Asked)


class _Asked(LocalHandler):
    server: _Relay

    def do_POST(self) -> None:  # the name comes from http.server
        """Pass on a request, and return its answer."""
        try:
            self.check_token()
            body = self.read_body(MOST_BYTES)
        except RequestRefused as error:
            self.send_error(error.status, error.reason)
        else:
            self.send(*self.server.node.ask(self.path, body))
