"""What travels between the session, its bridge to Ray and the nodes: small frames of bytes.

A cell's files travel as one zip file.
"""

import contextlib
import json
import re
import shutil
import socket
import stat
import struct
import threading
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.runs.blob import files_below, suspicion
from pytest_autoweb.runs.saving import CELL_FILE, STARTED_FILE

PART_BYTES = 1024 * 1024
"""The most bytes of a file in one frame."""
MOST_BYTES = 64 * 1024 * 1024
"""The largest body of a frame; requests for a model may hold pictures."""
CELL_PATH = "/cell"
"""The question that brings the files of a cell."""
_LENGTHS = struct.Struct("!II")
_MOST_HEADER = 64 * 1024

MOST_CELL_BYTES = 512 * 1024 * 1024
"""The most that the files of one cell may take up; larger ones are left on the node."""
MOST_FILES = 5_000
_CELL = re.compile(r"cells/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


class Frame(NamedTuple):
    """One message.

    To a worker go `start`, `input` (bytes for its standard input), `answer` and `end`; from it come
    `placed`, `output` (bytes of its standard output), `lines` (of a file that all processes of a
    session append to), `part` (of a file), `ask` and `down`.
    """

    kind: str
    worker: str
    number: int = 0
    """Which question is asked or answered, or to which one a part belongs."""
    text: str = ""
    """A path that is asked, a status, the name of a file, or a sentence."""
    body: bytes = b""


class FrameStream:
    """Frames over a connected socket; several threads may send, and one may read.

    Args:
        connection: the socket, which this closes.
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
        """End the connection, which wakes whoever reads on either side."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def is_cell_folder(text: str) -> bool:
    """Tell whether a text is the folder of a cell as it stands in a run."""
    return bool(_CELL.fullmatch(text)) and not {".", ".."} & set(text.split("/"))


def pack_cell(run: Path, cell: str, target: Path) -> None:
    """Pack the files of a cell, the small ones first; what exceeds the limit is left out.

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
        SettingsError: the file is broken, or holds what no cell has.
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
