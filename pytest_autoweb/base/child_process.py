"""Python child processes that read a JSON line, answer with one, and die with their owner."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_autoweb.base.process_tree import OWN_GROUP, is_process_alive, start_mark

_TAIL = 1500
_POLL_S = 2.0


class StartFailed(Exception):
    """Raised when a child process ended or timed out before it was ready."""


class _Begun(NamedTuple):
    """A child process that loads its modules, and waits for its configuration."""

    process: subprocess.Popen[bytes]
    environ: dict[str, str]


_begun: dict[tuple[str, Path], _Begun] = {}
"""What was begun and is not used yet, by module and log."""


def begin_owned(module: str, *, environ: Mapping[str, str], log: Path) -> None:
    """Let a child load its modules, before its configuration is known.

    `start_owned` then uses it, if it is asked for the same one; `drop_begun` stops it if it is not
    needed.

    Raises:
        OSError: the process, or its log, cannot be made.
    """
    _begun[module, log] = _Begun(_open(module, (), environ, log), dict(environ))


def drop_begun(module: str, log: Path) -> None:
    """Stop a child that was begun and is not used; without one, do nothing."""
    if begun := _begun.pop((module, log), None):
        # It has no configuration and so nothing to tidy up.
        begun.process.kill()
        stop_owned(begun.process)
        _close_output(begun.process)


def start_owned(
    module: str,
    config: Mapping[str, Any],
    *,
    arguments: tuple[str, ...] = (),
    environ: Mapping[str, str],
    log: Path,
    timeout: float,
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start `python -m module`, hand it its configuration and wait for its answer.

    The configuration goes through standard input, where no process list shows it. The child's
    standard error goes to `log`.

    Raises:
        StartFailed: the child did not answer; the message is the end of its log.
    """
    begun = _begun.get((module, log))
    if begun is not None and not arguments and begun.environ == dict(environ):
        del _begun[module, log]
        process = begun.process
    else:
        drop_begun(module, log)
        process = _open(module, arguments, environ, log)
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    # Reading a pipe has no timeout, so a timer kills a child that does not answer.
    waiting = threading.Timer(timeout, process.kill)
    waiting.start()
    try:
        stdin.write(json.dumps(dict(config)).encode() + b"\n")
        stdin.flush()
        answer = json.loads(stdout.readline() or b"null")
    except (OSError, ValueError):
        answer = None
    finally:
        waiting.cancel()
        stdout.close()
    if isinstance(answer, dict):
        return process, answer
    stop_owned(process, patience=0.5)
    tail = log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
    raise StartFailed(tail or f"exit status {process.returncode}, no message")


def _open(
    module: str, arguments: tuple[str, ...], environ: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as errors:
        return subprocess.Popen(
            # `-P`: modules in the current folder must not shadow installed ones.
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Pydantic would look for plugins in all that is installed, and hand them our messages.
            env={**environ, "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            # Ctrl-C must reach only the owner, which then stops the child properly.
            **OWN_GROUP,
        )


def _close_output(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.close()


def stop_owned(process: subprocess.Popen[bytes], *, patience: float = 5.0) -> None:
    """Stop a child: close its standard input, and kill it if it does not end in time."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_config() -> dict[str, Any]:
    """Read, in the child, the configuration that the owner sent."""
    line = sys.stdin.buffer.readline()
    if not line:
        # The owner has ended before it knew what it needs.
        raise SystemExit
    config: dict[str, Any] = json.loads(line)
    return config


def answer_owner(message: Mapping[str, Any]) -> None:
    """Report to the owner, from the child, that everything is ready.

    Standard output becomes standard error afterwards, so that a stray print reaches the log.
    """
    os.write(1, json.dumps(dict(message)).encode() + b"\n")
    os.dup2(2, 1)


def die_with_owner(
    owner_pid: int, at_end: Callable[[], None], *, with_starter: bool = True
) -> None:
    """Clean up and exit, in the child, as soon as the owner is gone.

    Args:
        owner_pid: the process to watch.
        at_end: what to clean up.
        with_starter: also exit when standard input closes, as it does when the starter ends.
    """
    ended = threading.Lock()
    mark = start_mark(owner_pid)

    def end() -> None:
        ended.acquire()  # never released: the other thread must not clean up a second time
        try:
            at_end()
        finally:
            os._exit(0)

    def wait_for_close() -> None:
        while os.read(0, 4096):
            pass
        end()

    def wait_for_owner() -> None:
        while is_process_alive(owner_pid, mark):
            time.sleep(_POLL_S)
        end()

    for wait in (wait_for_close, wait_for_owner) if with_starter else (wait_for_owner,):
        threading.Thread(target=wait, daemon=True).start()
