"""Reading a worker's pipe, in both ways: as POSIX can, and as Windows must."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

import pytest

from pytest_autoweb.sandbox.worker_process import TOO_LONG, LineReader, PolledLines, ThreadedLines


class PipeEnd:
    """The writing end of a pipe, and who reads the other one."""

    def __init__(self, kind: Callable[[IO[bytes], int], LineReader]) -> None:
        reading, self.fd = os.pipe()
        self.pipe = os.fdopen(reading, "rb", buffering=0)
        self.lines = kind(self.pipe, 100)

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    def next(self, seconds: float = 5) -> bytes | None:
        return self.lines.next(time.monotonic() + seconds)

    def hang_up(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


@pytest.fixture(params=[PolledLines, ThreadedLines])
def end(request: pytest.FixtureRequest) -> Iterator[PipeEnd]:
    kind: Any = request.param
    end = PipeEnd(kind)
    yield end
    end.hang_up()
    end.lines.close()
    end.pipe.close()


def test_lines_come_whole_however_they_were_written(end: PipeEnd) -> None:
    end.write(b"one\ntw")
    assert end.next() == b"one"
    end.write(b"o\n\nthree\n")

    assert [end.next(), end.next(), end.next()] == [b"two", b"", b"three"]


def test_nothing_is_waited_for_longer_than_asked(end: PipeEnd) -> None:
    end.write(b"half a line")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        end.next(0.05)

    assert time.monotonic() - began < 2
    end.write(b"\n")
    assert end.next() == b"half a line"


def test_the_end_of_the_pipe_is_the_end_of_the_lines(end: PipeEnd) -> None:
    end.write(b"last\nunfinished")
    end.hang_up()

    assert [end.next(), end.next()] == [b"last", None]


def test_a_line_beyond_the_limit_is_the_last_one(end: PipeEnd) -> None:
    end.write(b"fine\n" + b"x" * 200)

    assert [end.next(), end.next(), end.next()] == [b"fine", TOO_LONG, None]


def test_a_reader_that_is_closed_leaves_no_thread() -> None:
    end = PipeEnd(ThreadedLines)
    end.write(b"x\n" * 50)
    end.hang_up()
    end.lines.close()
    end.pipe.close()

    assert "autoweb-sandbox" not in [thread.name for thread in threading.enumerate()]
