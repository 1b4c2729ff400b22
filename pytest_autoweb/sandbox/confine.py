"""What the worker gives up before any generated code runs in it.

Runs in the worker, last thing before it says `ready`. Two walls: limits that the operating system
keeps (memory, processor time, no further file descriptor, no file growth), and an audit hook that
ends the process at the first thing only the operating system can grant (opening a file, a socket,
a process). A kernel wall (Landlock, seccomp) belongs into `confine`, after the limits.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

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


def confine(*, memory_mb: int, cpu_s: float, out_fd: int) -> None:
    """Give up everything that computing does not need.

    Args:
        memory_mb: address space of the process.
        cpu_s: processor time over the life of the process.
        out_fd: the highest descriptor in use, the pipe to the host.
    """
    os.environ.clear()
    _limit(memory_mb, cpu_s, out_fd)
    sys.addaudithook(_denying_hook(out_fd))


def _limit(memory_mb: int, cpu_s: float, out_fd: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    cpu = max(1, int(cpu_s))
    wanted = {
        "RLIMIT_AS": memory_mb * 1_000_000,
        "RLIMIT_CPU": cpu,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": out_fd + 1,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # The signal that names the reason comes at the soft limit of processor time only.
        spare = 1 if name == "RLIMIT_CPU" and value != hard else 0
        try:
            resource.setrlimit(kind, (value, value + spare))
        except (ValueError, OSError):  # macOS refuses some; the host's own deadline remains
            continue


def _denying_hook(out_fd: int) -> Callable[[str, tuple[Any, ...]], None]:
    # Everything the hook needs is a default argument: neither a global nor a builtin that
    # hostile code could replace stands between it and the exit.
    def hook(
        event: str,
        _args: tuple[Any, ...],
        harmless: frozenset[str] = _HARMLESS_EVENTS,
        refuse: type[Exception] = ImportError,
        write: Callable[[int, bytes], int] = os.write,
        leave: Callable[[int], Any] = os._exit,
        out: int = out_fd,
    ) -> None:
        if event in harmless:
            return
        if event == "import":
            # Codecs and locale data are looked up by importing them; not finding one is fine.
            raise refuse("no module can be imported here")
        try:
            write(out, b'{"op":"denied","event":"' + event.encode("ascii") + b'"}\n')
        finally:
            leave(78)

    return hook
