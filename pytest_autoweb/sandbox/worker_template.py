"""A process with the workers' modules that never runs generated code: workers are its forks.

A fork takes a few milliseconds, compared with a tenth of a second for an interpreter, and shares
most of its memory with its siblings. The template has no secrets, because it is started like a
worker, and each fork raises its own walls before it runs anything. This works only on Linux;
elsewhere, and where a container forbids it, each worker is a separate interpreter.
"""

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import IO

_ANSWER_S = 30.0
_SIGKILL = 9
_ELSEWHERE = "forks of a template exist on Linux only"


class TemplateGoneError(Exception):
    """Raised when the template died or does not answer."""


class WorkerTemplate:
    """The template of this process's workers.

    It ends as soon as the pipe to it closes, however this process ends. The kernel then ends its
    forks.

    Args:
        command: starts an interpreter that reads `boot`.
        environ: its environment.
        boot: makes it load its modules and wait for orders.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], boot: bytes) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environ,
            cwd=os.sep,
            close_fds=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._send(boot)

    def fork(self, into: int, out: int) -> int:
        """Fork a worker that reads from one pipe of this process and writes to another.

        Returns:
            Its process id; 0 if the template may not open the pipes.

        Raises:
            TemplateGoneError: the template died.
        """
        return self._ask(f"fork {os.getpid()} {into} {out}\n")

    def reap(self, pid: int) -> int:
        """Return the exit status of a fork that has ended; its process id is free afterwards.

        Raises:
            TemplateGoneError: the template died.
        """
        return self._ask(f"reap {pid}\n")

    def close(self) -> None:
        """End the template, and with it all its workers."""
        with self._lock:
            self._orders.close()
            self._answers.close()
            # It has no pending work to finish.
            self._process.kill()
            self._process.wait()

    def _ask(self, order: str) -> int:
        with self._lock:
            self._send(order.encode("ascii"))
            said, answers = b"", self._answers.fileno()
            while not said.endswith(b"\n"):
                chunk = os.read(answers, 64) if _tells(answers, _ANSWER_S * 1000) else b""
                if not chunk:
                    raise TemplateGoneError
                said += chunk
        return int(said)

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._orders.fileno(), view) :]
        except (OSError, ValueError):
            raise TemplateGoneError from None


class ForkedProcess:
    """A fork of the template, used like a `subprocess.Popen`.

    Its process id is not reused until its exit status has been read.
    """

    def __init__(self, template: WorkerTemplate) -> None:
        self._template = template
        self.returncode: int | None = None
        into, to_worker = os.pipe()
        from_worker, out = os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(to_worker, "wb", 0)
        self.stdout: IO[bytes] | None = os.fdopen(from_worker, "rb", 0)
        try:
            self.pid = template.fork(into, out)
            if not self.pid:
                raise OSError("the template may not open the pipes")
            self._handle = _handle_of(self.pid)
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(into)
            os.close(out)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status.

        Raises:
            TimeoutExpired: it is still running.
        """
        status = self._ended(None if timeout is None else timeout * 1000)
        if status is None:
            raise subprocess.TimeoutExpired("a sandbox worker", timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if sys.platform != "linux":
            raise NotImplementedError(_ELSEWHERE)
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        self.send_signal(_SIGKILL)

    def _ended(self, milliseconds: float | None) -> int | None:
        if self.returncode is None:
            if not _tells(self._handle, milliseconds):
                return None
            try:
                status = self._template.reap(self.pid)
            except TemplateGoneError:
                # The kernel has ended it together with the template.
                status = -_SIGKILL
            # Another thread may have read it in the meantime.
            if self.returncode is None:
                self.returncode = status
                os.close(self._handle)
        return self.returncode


def _tells(descriptor: int, milliseconds: float | None) -> bool:
    """Wait for a pipe that can be read, or a process that has ended."""
    if sys.platform == "win32":
        raise NotImplementedError(_ELSEWHERE)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(milliseconds))


def _handle_of(pid: int) -> int:
    if sys.platform != "linux":
        raise NotImplementedError(_ELSEWHERE)
    return os.pidfd_open(pid)


_templates: dict[tuple[object, ...], WorkerTemplate] = {}


def begin_template(
    command: Sequence[str], environ: Mapping[str, str], boot: Callable[[], bytes]
) -> None:
    """Start this process's template, unless it is there, without waiting for it.

    Args:
        command: as for `fork_worker`, like the others.
        environ: its environment.
        boot: returns the code that turns an interpreter into a template.
    """
    if _supported():
        # `fork_worker` meets the same, and tells.
        with suppress(OSError, TemplateGoneError):
            _template(command, environ, boot)


def _template(
    command: Sequence[str], environ: Mapping[str, str], boot: Callable[[], bytes]
) -> WorkerTemplate:
    key = _key(environ)
    if key not in _templates:
        _templates[key] = WorkerTemplate(command, environ, boot())
    return _templates[key]


def _key(environ: Mapping[str, str]) -> tuple[object, ...]:
    # After a fork of this process the template still belongs to the parent.
    return (os.getpid(), *sorted(environ.items()))


def fork_worker(
    command: Sequence[str], environ: Mapping[str, str], boot: Callable[[], bytes]
) -> ForkedProcess | None:
    """Return a new fork of this process's template, starting the template if necessary.

    Args:
        command: starts an interpreter.
        environ: its environment; each has a template of its own, because of the time zone.
        boot: returns the code that turns an interpreter into a template.

    Returns:
        None where workers cannot be forked.
    """
    if not _supported():
        return None
    for _ in range(2):
        try:
            return ForkedProcess(_template(command, environ, boot))
        except TemplateGoneError:
            if template := _templates.pop(_key(environ), None):
                template.close()
        except OSError:
            return None
    return None


@cache
def _supported() -> bool:
    if sys.platform != "linux" or not hasattr(signal, "pidfd_send_signal"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _close_all() -> None:
    for (owner, *_), template in _templates.items():
        if owner == os.getpid():
            template.close()


atexit.register(_close_all)
