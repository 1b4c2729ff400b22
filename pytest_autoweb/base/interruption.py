"""SIGTERM and SIGHUP as one Ctrl-C, so that whoever ends a process leaves it time to finish.

CI services, containers and schedulers send SIGTERM, a terminal that closes sends SIGHUP, and Python
would end at once. Some send a signal to a process and to its group, so that it arrives twice.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

AGAIN_S = 1.0
"""Signals that arrive within this time of the first belong to it."""
_END_S = 60.0
_SOON_S = 0.01
# An error that is raised while these run is printed, and then ignored.
_FINALIZER = "__del__"
_CALLED_BACK = frozenset(
    (sys.modules[kind.__module__].__file__, name)
    for kind, name in {
        weakref.WeakSet: "_remove",
        weakref.WeakKeyDictionary: "remove",
        weakref.WeakValueDictionary: "remove",
        weakref.finalize: "__call__",
    }.items()
)
# On Windows, a console that closes sends SIGBREAK in place of SIGHUP.
_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]


class Interruption:
    """Turns the first signal to end into a KeyboardInterrupt; the next one ends the process.

    A signal that the process was started to ignore, as `nohup` does, stays ignored.

    Args:
        heeds: tells, when a signal comes, whether there is anything to finish.
    """

    def __init__(self, heeds: Callable[[], bool] = lambda: True) -> None:
        self._heeds = heeds
        self._since: float | None = None
        self._before: dict[int, Any] = {}
        self._put_off: Callable[[], None] | None = None
        self._again: threading.Timer | None = None
        """Sends a signal again that fell where its error would have been ignored."""
        self.sent = ""
        """The name of the signal that interrupted, unless it was Ctrl-C."""
        self.on_first: Callable[[], None] = lambda: None
        """Is called before the first signal interrupts."""

    def install(self) -> None:
        """Begin to handle signals; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            # Something outside Python has set it if it is None.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._on_signal)
        # A process in the background ignores it, or a debugger has taken it.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._on_ctrl_c)

    def restore(self) -> None:
        """Give the signals back to whom they belonged."""
        own = (self._on_signal, self._on_ctrl_c)
        for number, handler in self._before.items():
            # A handler that somebody has set since stays.
            if signal.getsignal(number) in own:
                signal.signal(number, handler)
        self._before.clear()

    @contextmanager
    def first_waits(self, tell: Callable[[], None]) -> Iterator[None]:
        """Tell of a first signal within the block instead of interrupting it."""
        if not self._before:
            yield
            return
        self._put_off = tell
        try:
            yield
        finally:
            self._put_off = None

    def _on_ctrl_c(self, number: int, frame: FrameType | None) -> None:
        if self._since is None:
            self._since = time.monotonic()
            self.on_first()
        self._interrupt(number, frame)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._since is None and self._heeds():
            self._since, self.sent = time.monotonic(), signal.Signals(number).name
            self.on_first()
            self._interrupt(number, frame)
        elif self._again is not None:
            self._interrupt(number, frame)
        elif self._since is None or time.monotonic() - self._since > AGAIN_S:
            signal.signal(number, self._before[number])
            os.kill(os.getpid(), number)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._again is not None:
            # It may be another signal that came now.
            self._again.cancel()
            self._again = None
        if _ignores_errors(frame):
            self._again = threading.Timer(_SOON_S, _signal_main, (number,))
            self._again.daemon = True
            self._again.start()
        elif (tell := self._put_off) is not None:
            self._put_off = None
            tell()
        else:
            signal.default_int_handler(signal.SIGINT, frame)


def _signal_main(number: int) -> None:
    """Send a signal to the main thread, whatever it waits for."""
    if sys.platform == "win32":
        interrupt_main(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def _ignores_errors(frame: FrameType | None) -> bool:
    """Tell whether Python would ignore an error that is raised in a frame."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == _FINALIZER or (code.co_filename, code.co_name) in _CALLED_BACK:
            return True
        frame = frame.f_back
    return False


def run_pytest(command: Sequence[str], **options: Any) -> int:
    """Run a session of pytest in a process of its own, and return its exit status.

    If this process is interrupted, so is the session, which first writes its report. The terminal
    may have told it as well; it takes both for one.

    Args:
        command: what to run.
        options: those of `subprocess.Popen`.
    """
    process = subprocess.Popen(command, **options)
    try:
        return process.wait()
    finally:
        end_pytest(process)


def end_pytest(process: "subprocess.Popen[Any]") -> None:
    """Terminate a session that nobody waits for any more; kill it if that takes too long."""
    if process.poll() is None:
        # Windows could only end it at once; there the console has told it as well.
        if sys.platform != "win32":
            process.terminate()
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
        finally:
            # It hangs, or this process was interrupted again.
            process.kill()
            process.wait()


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let the block end on SIGTERM and SIGHUP as it does on Ctrl-C."""
    interruption = Interruption()
    interruption.install()
    try:
        yield
    finally:
        interruption.restore()
