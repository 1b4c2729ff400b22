"""The confinement that a worker imposes on itself before any generated code runs.

This runs in the worker, just before it reports `ready`. Three walls stand one behind the other:
limits enforced by the operating system (memory, processor time, no further file descriptor, no
file growth), the kernel's walls where it has them (Landlock, seccomp), and an audit hook that ends
the process at the first attempt to get anything from the operating system (opening a file, a
socket, a process). The hook can name what was tried and in which line; the kernel's walls hold
even if Python itself is broken.
"""

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pytest_autoweb.sandbox import kernel

EXIT_DENIED = 78

_HARMLESS_EVENTS = frozenset(
    {
        "builtins.id",
        "compile",
        "exec",
        "object.__getattr__",
        "sys._getframe",
        "sys.excepthook",
        "sys.unraisablehook",
    }
)


def confine(limits: dict[str, Any], out_fd: int) -> dict[str, Any]:
    """Give up everything that computing does not need, and return which walls stand.

    Args:
        limits: `memory_mb` of address space, `cpu_s` of processor time for the life of the
            process, and whether to raise the walls `kernel` and `audit`.
        out_fd: the highest descriptor in use, the pipe to the host.
    """
    # The time zone stays, because `datetime` reads it when the code asks for local time.
    for name in set(os.environ) - {"TZ"}:
        del os.environ[name]
    _install_line_reports(out_fd)
    resource = _resource()  # imported now, as nothing can be imported once a wall stands
    call = kernel.system_call() if limits["kernel"] else None
    # The order matters: Landlock opens a descriptor, which the limits forbid afterwards, and
    # setting limits takes a system call that seccomp forbids.
    landlock, seccomp = 0, False
    if call:
        kernel.die_with_parent(call)
        kernel.forbid_new_rights(call)
        landlock = kernel.raise_landlock(call)
    if resource:
        _limit(resource, limits["memory_mb"], limits["cpu_s"], out_fd)
    if call:
        seccomp = kernel.raise_seccomp(call)
    if limits["audit"]:
        sys.addaudithook(_denying_hook(out_fd))
    return {"landlock": landlock, "seccomp": seccomp, "audit": limits["audit"]}


def _install_line_reports(out_fd: int) -> None:
    """Install signal handlers that write the running lines to the pipe.

    The host sends SIGUSR1 to ask for them; SIGXCPU comes when processor time is used up. The
    handlers are written in C, so they answer even in a loop that never returns to the interpreter.
    """
    for name in ("SIGUSR1", "SIGXCPU"):
        if hasattr(faulthandler, "register") and hasattr(signal, name):
            faulthandler.register(getattr(signal, name), file=out_fd, all_threads=False)


def _resource() -> Any:
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource


def _limit(resource: Any, memory_mb: int, cpu_s: float, out_fd: int) -> None:
    cpu = max(1, int(cpu_s))
    wanted = {
        "RLIMIT_AS": memory_mb * 1_000_000,
        "RLIMIT_CPU": cpu,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        # All descriptors below this number are in use, so none can be opened.
        "RLIMIT_NOFILE": out_fd + 1,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # Only the soft limit of processor time sends the signal whose handler names the line.
        spare = 1 if name == "RLIMIT_CPU" and value != hard else 0
        try:
            resource.setrlimit(kind, (value, value + spare))
        except (ValueError, OSError):  # macOS refuses some limits; the host's deadline remains
            continue


def _denying_hook(out_fd: int) -> Callable[[str, tuple[Any, ...]], None]:
    # Everything the hook needs is bound as a default argument, so that hostile code cannot
    # replace a global or a builtin on which the exit depends.
    def hook(
        event: str,
        _args: tuple[Any, ...],
        harmless: frozenset[str] = _HARMLESS_EVENTS,
        refuse: type[Exception] = ImportError,
        write: Callable[[int, bytes], int] = os.write,
        leave: Callable[[int], Any] = os._exit,
        frame_of: Callable[[int], Any] = sys._getframe,
        out: int = out_fd,
    ) -> None:
        if event in harmless:
            return
        if event == "import":
            # Codecs and locale data are looked up by importing them; a failed lookup is harmless.
            raise refuse("no module can be imported here")
        try:
            frame, line = frame_of(1), 0
            while frame is not None and not line:
                line = frame.f_lineno if frame.f_code.co_filename[:6] == "<step " else 0
                frame = frame.f_back
            name = event.encode("ascii")
            write(out, b'{"op":"denied","event":"%b","line":%d}\n' % (name, line))
        finally:
            leave(78)

    return hook
