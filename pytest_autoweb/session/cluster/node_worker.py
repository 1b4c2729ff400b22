"""One test process on a node of the cluster, and its messages to and from the session.

A Ray actor holds a `NodeWorker`. It starts the test process and gives it a loopback address through
which it reaches the session's machine ("home"). It relays the traffic between xdist's controller
and the test process, and the test process's requests to the session's machine: model calls, and
storing the files of completed cells. Everything travels in small frames of bytes; a cell's files
are sent as one zip file.
"""

import contextlib
import json
import os
import queue
import re
import secrets
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_autoweb import __version__
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.models.gateway import GatewayAddress, write_address
from pytest_autoweb.results.runs.saving import CELL_FILE, STARTED_FILE, files_below, suspicion

PART_BYTES = 1024 * 1024
"""Maximum number of bytes of a file in one frame."""
MOST_BYTES = 64 * 1024 * 1024
"""The largest body of a frame; requests for a model may hold pictures."""
CELL_PATH = "/cell"
"""The request that delivers a cell's files."""
_LENGTHS = struct.Struct("!II")
_MOST_HEADER = 64 * 1024

MOST_CELL_BYTES = 512 * 1024 * 1024
"""Maximum total size of a cell's files; files beyond it stay on the node."""
MOST_FILES = 5_000
_CELL = re.compile(r"cells/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")

SENT_FILES = ("progress.jsonl", "resumed.jsonl", "browsers", "browser-sandbox")
"""Files in the session's folder that all processes append to and that are sent home."""
_PULL_S = 5.0
_PULL_BYTES = 4 * PART_BYTES
_FULL = 64
"""Maximum number of frames waiting to be fetched; a sender with more blocks."""
_POLL_S = 0.5
_TAIL = 2000
_SERVE = (
    "from execnet.gateway_base import serve, init_popen_io, get_execmodel; import sys; "
    "serve(init_popen_io(get_execmodel('main_thread_only')), id=sys.argv[1] + '-worker')"
)


class Frame(NamedTuple):
    """One message.

    A worker receives `start`, `input` (bytes for its standard input), `answer` and `end`; it sends
    `placed`, `output` (bytes of its standard output), `lines` (of a file that all processes of a
    session append to), `part` (of a file), `ask` and `down`.
    """

    kind: str
    worker: str
    number: int = 0
    """The number of the request that is made or answered, or that a part belongs to."""
    text: str = ""
    """A requested path, a status, a file name, or a sentence."""
    body: bytes = b""


class FrameStream:
    """Frames over a connected socket; several threads may send, and one may read.

    Args:
        connection: the socket; `close` closes it.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._file = connection.makefile("rb")
        self._lock = threading.Lock()

    def send(self, frame: Frame) -> None:
        """Send a frame as a whole.

        Raises:
            OSError: the other side is gone.
        """
        header = json.dumps(frame[:4]).encode()
        with self._lock:
            self._socket.sendall(_LENGTHS.pack(len(header), len(frame.body)) + header + frame.body)

    def read(self) -> Frame | None:
        """Read the next frame; None when the other side is gone."""
        try:
            lengths = self._file.read(_LENGTHS.size)
            if len(lengths) < _LENGTHS.size:
                return None
            head, body = _LENGTHS.unpack(lengths)
            if head > _MOST_HEADER or body > MOST_BYTES:
                return None
            header, content = self._file.read(head), self._file.read(body)
        except (OSError, ValueError):
            return None
        if len(header) < head or len(content) < body:
            return None
        kind, worker, number, text = json.loads(header)
        return Frame(kind, worker, number, text, content)

    def close(self) -> None:
        """End the connection, which wakes readers on both sides."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def is_cell_folder(text: str) -> bool:
    """Return whether a text is a cell's folder within a run."""
    return bool(_CELL.fullmatch(text)) and not {".", ".."} & set(text.split("/"))


def pack_cell(run: Path, cell: str, target: Path) -> None:
    """Pack a cell's files, small ones first; files beyond the limit are left out.

    Args:
        run: the run folder on this node.
        cell: the cell's folder in it.
        target: the file to write.
    """
    left = MOST_CELL_BYTES
    with zipfile.ZipFile(
        target, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
    ) as packed:
        found = sorted(files_below(run / cell), key=lambda file: file.stat().st_size)
        first = [file for file in found if file.name in (CELL_FILE, STARTED_FILE)]
        for file in [*first, *(file for file in found if file not in first)][:MOST_FILES]:
            left -= file.stat().st_size
            if left >= 0:
                packed.write(file, file.relative_to(run).as_posix())


def unpack_cell(packed: Path, cell: str, folder: Path) -> None:
    """Unpack the files of a cell below a folder.

    Raises:
        SettingsError: the file is corrupt, or holds entries that no cell has.
    """
    try:
        with zipfile.ZipFile(packed) as source:
            entries = source.infolist()
            size = sum(entry.file_size for entry in entries)
            bad = [entry.filename for entry in entries if not _belongs(entry, cell)]
            if bad or size > MOST_CELL_BYTES or len(entries) > MOST_FILES:
                raise SettingsError(f"the files of {cell} are refused: {bad[:1] or size}")
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source.open(entry) as file, target.open("wb") as out:
                    shutil.copyfileobj(file, out, 1 << 20)
    except (EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise SettingsError(f"the files of {cell} arrived broken: {error}") from None


def _belongs(entry: zipfile.ZipInfo, cell: str) -> bool:
    regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    inside = entry.filename.startswith(f"{cell}/") and not entry.is_dir()
    return regular and inside and not suspicion(entry)


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
        shutil.rmtree(self._folder, ignore_errors=True)
        self._out.put(Frame("down", self._worker, status, f"exit status {status}", log))

    def _follow_lines(self) -> None:
        assert self._process is not None
        while self._process.poll() is None:
            time.sleep(_POLL_S)
            self._send_lines()

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
