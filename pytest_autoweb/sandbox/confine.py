"""What the worker gives up before any generated code runs in it.

Runs in the worker, last thing before it says `ready`. Three walls, each behind the one before:
limits that the operating system keeps (memory, processor time, no further file descriptor, no file
growth), the kernel's own walls where it has them (Landlock, seccomp), and an audit hook that ends
the process at the first thing only the operating system can grant (opening a file, a socket, a
process). The hook names what was tried and in which line; the kernel holds even if Python itself is
broken.
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
    """Give up everything that computing does not need; which walls stand then.

    Args:
        limits: `memory_mb` of address space, `cpu_s` of processor time over the life of the
            process, and whether to raise the walls `kernel` and `audit`.
        out_fd: the highest descriptor in use, the pipe to the host.
    """
    for name in set(os.environ) - {"TZ"}:
        del os.environ[name]
    _tell_where(out_fd)
    resource = _resource()  # nothing can be imported once a wall stands
    call = kernel.system_call() if limits["kernel"] else None
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


def _tell_where(out_fd: int) -> None:
    """Write the running lines to the pipe when the host asks, and when processor time is over.

    A handler in C: it answers in the middle of a loop that never comes back to Python.
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
        "RLIMIT_NOFILE": out_fd + 1,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # The signal that names the line comes at the soft limit of processor time only.
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
        frame_of: Callable[[int], Any] = sys._getframe,
        out: int = out_fd,
    ) -> None:
        if event in harmless:
            return
        if event == "import":
            # Codecs and locale data are looked up by importing them; not finding one is fine.
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
