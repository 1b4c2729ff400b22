"""The time that a whole call may take, whatever the library below it is waiting for."""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

Outcome = TypeVar("Outcome")


class CallOverdue(Exception):
    """Raised when a call was given up at its time limit."""


class _Abandoned(BaseException):
    """Raised inside an abandoned call; no library mistakes it for an error of its own."""


def within(seconds: float, call: Callable[[], Outcome]) -> Outcome:
    """Return a call's result, or abandon it after that many seconds, whatever it is doing.

    HTTP libraries limit the time of single reads, so a server that sends an occasional byte could
    hold a call for ever. Which library holds the socket depends on the service (litellm's handlers,
    boto3, our own client), so there is no one place to close it; and a thread that is merely left
    alone would keep its connection for as long as the server likes.

    Raises:
        CallOverdue: the time limit was reached.
    """
    results: list[Outcome] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except _Abandoned:
            return
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="model-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        _abandon(thread)
        raise CallOverdue(f"no end after {seconds:g} s")
    return results[0]


def _abandon(thread: threading.Thread) -> None:
    """Make a thread end at its next instruction, which closes its connection.

    A thread blocked in a read ends at the next byte, or when that read times out.
    """
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned)
        )
