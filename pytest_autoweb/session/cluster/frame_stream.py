"""Frames of bytes over a socket: all that travels between the session and its nodes."""

import contextlib
import json
import socket
import struct
import threading
from typing import NamedTuple

MOST_BYTES = 64 * 1024 * 1024
"""The largest body of a frame; requests for a model may hold pictures."""
_LENGTHS = struct.Struct("!II")
_MOST_HEADER = 64 * 1024


class Frame(NamedTuple):
    """One message.

    A worker receives `start`, `input` (bytes for its standard input), `answer` and `end`; it sends
    `placed`, `output` (bytes of its standard output), `lines` (of a file that all processes of a
    session append to), `part` (of a file), `so-far` (files of a cell that goes on), `ask` and
    `down`.
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
