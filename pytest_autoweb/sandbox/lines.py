"""Reading of a worker's lines with a deadline.

On POSIX the caller's own thread polls the pipe, because a thread in between would cost another
context switch for each call. Windows cannot poll a pipe, so there a thread reads and the caller
waits for a queue. The tests run that variant on POSIX; it has never been run on Windows.
"""

import os
import queue
import select
import sys
import threading
import time
from collections import deque
from typing import IO, Protocol

_CHUNK = 1 << 16
TOO_LONG = b"oversized"
"""Stands for a line beyond the limit; it is not a valid frame, so it ends the worker."""


class LineReader(Protocol):
    """A reader of a pipe's lines."""

    def next(self, deadline: float) -> bytes | None:
        """Return the next line, or None at the end.

        Raises:
            TimeoutError: no line came before `deadline`, a `time.monotonic()` value.
        """
        ...

    def close(self) -> None:
        """Stop reading; the process at the other end is gone."""
        ...


class _Splitter:
    """A splitter of the bytes read into lines of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self._rest = limit, bytearray()
        self.broken = False

    def feed(self, chunk: bytes) -> list[bytes]:
        self._rest += chunk
        lines: list[bytes] = []
        if b"\n" in chunk:
            *whole, tail = self._rest.split(b"\n")
            lines = [bytes(line) for line in whole]
            self._rest = bytearray(tail)
        # A line without end would otherwise fill the memory of the test process.
        if len(self._rest) > self._limit:
            self.broken = True
            lines.append(TOO_LONG)
        return lines


class PolledLines:
    """A reader that polls the pipe itself."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._fd = pipe.fileno()
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._splitter = _Splitter(limit)
        self._lines: deque[bytes] = deque()
        self._over = False

    def next(self, deadline: float) -> bytes | None:
        """Return the next line, or None at the end."""
        while not self._lines:
            if self._over:
                return None
            left = deadline - time.monotonic()
            if not self._poll.poll(max(0.0, left) * 1000):
                raise TimeoutError
            chunk = os.read(self._fd, _CHUNK)
            self._lines += self._splitter.feed(chunk)
            self._over = not chunk or self._splitter.broken
        return self._lines.popleft()

    def close(self) -> None:
        """Do nothing, as no thread has to be stopped."""


class ThreadedLines:
    """A reader that waits for a queue, which a thread fills."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._fd = pipe.fileno()
        self._splitter = _Splitter(limit)
        # A short queue slows down a worker that floods the pipe.
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
        self._reader = threading.Thread(target=self._read, name="autoweb-sandbox", daemon=True)
        self._reader.start()

    def next(self, deadline: float) -> bytes | None:
        """Return the next line, or None at the end."""
        try:
            return self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None

    def close(self) -> None:
        """Let the thread end, discarding whatever it still holds."""
        while self._reader.is_alive():
            try:
                self._lines.get(timeout=0.01)
            except queue.Empty:
                self._reader.join(0.01)

    def _read(self) -> None:
        while not self._splitter.broken and (chunk := os.read(self._fd, _CHUNK)):
            for line in self._splitter.feed(chunk):
                self._lines.put(line)
        self._lines.put(None)


def line_reader(pipe: IO[bytes], limit: int) -> LineReader:
    """Return a reader of a worker's pipe that accepts no line longer than `limit` bytes."""
    if sys.platform == "win32":
        return ThreadedLines(pipe, limit)
    return PolledLines(pipe, limit)
