"""Let the package see another system than this one, in every Python that has this on its path.

`PRETENDED_SYSTEM` names the system, as `sys.platform` does. What the package imports by the names
of the standard library then lacks what that system lacks, and `sys.platform` says so. Only the
package is deceived: what it rests on (Playwright, pytest, xdist, psutil) is known to run there, and
here it needs this system's own.
"""

import builtins
import os
import runpy
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

PACKAGE = "pytest_autoweb"
NO_MODULES = {
    "win32": {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog"},
    "darwin": set[str](),
}
_ON_LINUX_ONLY = {
    "os": """eventfd memfd_create pidfd_open sched_getaffinity sched_setaffinity splice
        copy_file_range posix_fadvise getrandom setns unshare O_PATH O_TMPFILE O_DIRECT""",
    "signal": "pidfd_send_signal sigtimedwait sigwaitinfo SIGPOLL SIGPWR SIGRTMIN SIGRTMAX",
    "select": "epoll",
    "socket": "AF_NETLINK AF_PACKET AF_VSOCK SO_PEERCRED",
}
LACKS = {
    "win32": {
        "os": _ON_LINUX_ONLY["os"]
        + """ fork forkpty getuid geteuid getgid getegid getgroups setuid setgid setsid getsid
        getpgid setpgid getpgrp killpg wait wait3 wait4 waitid P_ALL P_PID WNOHANG WEXITED WNOWAIT
        WIFEXITED WIFSIGNALED WTERMSIG WEXITSTATUS chown lchown fchown mkfifo mknod sysconf
        sysconf_names pathconf confstr statvfs fstatvfs uname getloadavg nice getpriority
        setpriority ttyname openpty posix_spawn register_at_fork pread pwrite sendfile sync
        O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_NOCTTY O_SYNC O_ASYNC chroot ctermid
        sched_yield setxattr getxattr listxattr lockf F_LOCK initgroups""",
        "signal": _ON_LINUX_ONLY["signal"]
        + """ SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN
        SIGTTOU SIGPIPE SIGQUIT SIGXCPU SIGXFSZ SIGWINCH SIGPROF SIGVTALRM SIGSYS SIGBUS SIGIO
        SIGURG SIGTRAP ITIMER_REAL ITIMER_PROF ITIMER_VIRTUAL ItimerError setitimer getitimer alarm
        pause pthread_kill pthread_sigmask sigpending sigwait siginterrupt SIG_BLOCK""",
        "select": "poll epoll kqueue POLLIN POLLOUT POLLHUP",
        "socket": _ON_LINUX_ONLY["socket"]
        + " AF_UNIX SCM_RIGHTS send_fds recv_fds CMSG_LEN SO_REUSEPORT MSG_DONTWAIT MSG_NOSIGNAL",
    },
    "darwin": _ON_LINUX_ONLY,
}
_LOCK, _UNLOCK = 2, 0


class _Lacking(types.ModuleType):
    """A module of this system without what the other one lacks, and with what it has instead."""

    def __init__(self, real: types.ModuleType, lacks: str, instead: Mapping[str, Any]) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(instead)
        self._real, self._lacks = real, frozenset(lacks.split()) - set(instead)

    def __getattr__(self, name: str) -> Any:
        if name in self._lacks:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._real, name)

    @property
    def __all__(self) -> list[str]:
        return [name for name in dir(self._real) if name not in self._lacks]


def _locking(descriptor: int, mode: int, _bytes: int) -> None:
    import fcntl

    how = fcntl.LOCK_UN if mode == _UNLOCK else fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        # What Windows says.
        raise PermissionError(13, "Permission denied") from None


def _kill(pid: int, number: int) -> None:
    # There, 0 is the number of Ctrl-C, and any other ends the process at once.
    assert number, "os.kill(pid, 0) does not look whether a process is alive"
    os.kill(pid, number)


def _deceived(command: Any, system: str) -> Any:
    """Return a command whose bare interpreter, which loads no `sitecustomize`, begins here."""
    if isinstance(command, str | bytes) or command[0] != sys.executable or "-I" not in command:
        return command
    words, at = list(command), 1
    while words[at].startswith("-") and words[at] != "-c":
        at += 2 if words[at] == "-W" else 1
    if words[at] != "-c":
        return [*words[:at], __file__, system, *words[at:]]
    first = f"import runpy\nrunpy.run_path({__file__!r})['pretend']({system!r})\n"
    return [*words[: at + 1], first + words[at + 1], *words[at + 2 :]]


def _subprocess(real: types.ModuleType, system: str) -> dict[str, Any]:
    class Popen(real.Popen):  # type: ignore[misc,name-defined]
        def __init__(self, args: Any, *more: Any, **options: Any) -> None:
            super().__init__(_deceived(args, system), *more, **options)

    def run(args: Any, **options: Any) -> Any:
        return real.run(_deceived(args, system), **options)

    # What a process is started with on Windows means nothing here.
    flags = {"CREATE_NEW_PROCESS_GROUP": 0} if system == "win32" else {}
    return {"Popen": Popen, "run": run, **flags}


def _windows() -> dict[str, types.ModuleType]:
    msvcrt = types.ModuleType("msvcrt")
    vars(msvcrt).update(LK_NBLCK=_LOCK, LK_UNLCK=_UNLOCK, locking=_locking, kbhit=lambda: False)
    return {"msvcrt": msvcrt}


def _pretended(system: str) -> dict[str, types.ModuleType]:
    import select
    import signal
    import socket
    import subprocess

    windows = system == "win32"
    instead: dict[str, dict[str, Any]] = {
        "os": {"name": "nt", "kill": _kill} if windows else {},
        "subprocess": _subprocess(subprocess, system),
        "sys": {"platform": system},
    }
    found = {
        real.__name__: _Lacking(
            real, LACKS[system].get(real.__name__, ""), instead.get(real.__name__, {})
        )
        for real in (os, select, signal, socket, subprocess, sys)
    }
    return {**found, **(_windows() if windows else {})}


def pretend(system: str) -> None:
    """Deceive whatever the package imports from now on.

    Raises:
        KeyError: the system is not known.
    """
    missing, really = NO_MODULES[system], builtins.__import__
    shown = _pretended(system)

    def imported(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        importer = str((globals or {}).get("__name__", ""))
        # A module of the package that is run by its path is called so.
        file = str((globals or {}).get("__file__", ""))
        ours = importer.partition(".")[0] == PACKAGE or f"{os.sep}{PACKAGE}{os.sep}" in file
        if ours and not level:
            if name in missing:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name in shown:
                return shown[name]
        return really(name, globals, locals, fromlist, level)

    builtins.__import__ = imported


if __name__ == "__main__":
    # A bare interpreter: the system's name, the script, its arguments.
    pretend(sys.argv[1])
    del sys.argv[:2]
    runpy.run_path(sys.argv[0], run_name="__main__")
elif __name__ == "sitecustomize" and (asked := os.environ.get("PRETENDED_SYSTEM")):
    pretend(asked)
