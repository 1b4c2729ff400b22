"""A command and every process that comes from it, all of which end when their owner does.

A process may leave its parent, its group and its session (`setsid`, a double fork, the usual ways
to become a daemon), and would then outlive whoever started it. So the command runs below a keeper,
a small process that adopts whatever lost its parent, and ends everything together. On Linux the
kernel does the adopting; elsewhere the keeper looks at short intervals who descends from it.

The keeper is run by its path with a bare interpreter, which starts in hundredths of a second. So
this module imports only the standard library and psutil.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

if __name__ == "__main__":
    # A bare interpreter finds no installed package by itself.
    sys.path.extend(sys.argv[1].split(os.pathsep))

import psutil

LEAST_URGENT = 19
"""The niceness of a process that only takes the processor time that others leave, on Unix."""
POLL_S = 0.1
GRACE_S = 3.0
"""Time between asking processes to end and killing them."""
_KILL_S = 5.0
_KEEPER_S = GRACE_S + _KILL_S + 2.0
_LOOK_S = 1.0
_MISSED_S = 1.0
"""Limit on the looks for a process that is there and was not seen."""
_ADOPTS = sys.platform == "linux"
_PR_SET_CHILD_SUBREAPER = 36
# Windows has neither SIGHUP nor SIGKILL; there a console that closes sends SIGBREAK.
_ASKS_TO_END = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
]


class TreeLimits(NamedTuple):
    """What a command and all that comes from it may use together; 0 means no limit."""

    memory_mb: int = 0
    """Megabytes of memory in use, apart from what is shared with files. Reserved addresses do not
    count, because Node and browsers reserve far more than they use."""
    processes: int = 0
    """Processes and their threads."""


NO_LIMITS = TreeLimits()
OVER_MEMORY, OVER_PROCESSES = 121, 122
"""The exit status of a keeper that ended its command because of a limit."""
_WEIGH_S = 0.4
# Rows of the kernel's summary: anonymous memory, and that which processes share without a file.
_UNSHARED = ("Pss_Anon:", "Pss_Shmem:")

OWN_GROUP: dict[str, Any]
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    OWN_GROUP = {"start_new_session": True}
"""Arguments of `Popen` for a process that Ctrl-C is not to reach, because its owner ends it."""


class ProcessTree:
    """A command and whatever comes from it; only for a process that starts nothing else."""

    def __init__(
        self, command: Sequence[str], *, cwd: str | None = None, stdin: int | None = None
    ) -> None:
        if _ADOPTS:
            _adopt_orphans()
        self._process = subprocess.Popen(_named(command), cwd=cwd, stdin=stdin, **OWN_GROUP)
        self.pid = self._process.pid
        self._seen: set[psutil.Process] = set()
        self._looked = 0.0

    @property
    def status(self) -> int | None:
        """Return the command's exit status, or None while it runs."""
        return self._process.poll()

    def watch(self) -> None:
        """Reap adopted processes, or note who descends from this one; call it often."""
        if _ADOPTS:
            self._reap()
        elif time.monotonic() - self._looked > _LOOK_S:
            self.living()

    def living(self) -> set[psutil.Process]:
        """Return the processes that still run, the command's own among them."""
        self._looked = time.monotonic()
        self._look()
        # Who lost its parent during the look was missed, and is a child of this process by now.
        while not self._seen and self._reap() and time.monotonic() < self._looked + _MISSED_S:
            self._look()
        return self._seen

    def excess(self, limits: TreeLimits) -> int:
        """Return the exit status for a limit that is exceeded, or 0."""
        if not any(limits) or time.monotonic() - self._looked < _WEIGH_S:
            return 0
        self._looked = time.monotonic()
        self._look()
        if limits.processes and sum(map(_threads, self._seen)) > limits.processes:
            return OVER_PROCESSES
        for weigh in (_about_megabytes, _megabytes) if limits.memory_mb else ():
            if sum(map(weigh, self._seen)) <= limits.memory_mb:
                return 0
        return OVER_MEMORY if limits.memory_mb else 0

    def _look(self) -> None:
        if not self._reap() and _ADOPTS:
            # Looking through all processes of the machine takes much longer than this answer.
            self._seen = set()
            return
        found = set(_descendants(os.getpid()))
        if not _ADOPTS:
            found |= self._seen.union(*map(_children, self._seen))
        self._seen = {process for process in found if _runs(process)}

    def end(self, grace_s: float = GRACE_S) -> int:
        """End everything, first by asking, and return the command's exit status."""
        for ask, patience in ((psutil.Process.terminate, grace_s), (psutil.Process.kill, _KILL_S)):
            deadline, asked = time.monotonic() + patience, set[psutil.Process]()
            while (living := self.living()) and time.monotonic() < deadline:
                for process in living - asked:
                    _tell(process, ask)
                asked |= living
                time.sleep(POLL_S / 5)
        return self._process.wait()

    def _reap(self) -> bool:
        """Take the exit status of adopted processes, which would stay as zombies.

        Returns:
            Whether any process is left, so far as the system tells.
        """
        self._process.poll()
        if sys.platform != "linux":
            return False
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            # The command's own status is Popen's to take.
            while (ended := os.waitid(os.P_ALL, 0, how)) and ended.si_pid != self.pid:
                os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return False
        return True


def _named(command: Sequence[str]) -> list[str]:
    """Return a command with the file of its program.

    By its bare name, Windows finds only programs whose file ends with `.exe`, such as no `npm`.
    """
    program = shutil.which(command[0]) if sys.platform == "win32" else None
    return [program or command[0], *command[1:]]


def _adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants(pid: int) -> Iterator[psutil.Process]:
    """Yield the processes that descend from one, so far as they are seen in passing.

    Linux lists the children of each thread; psutil looks through all processes of the machine.
    """
    try:
        lists = [
            (task / "children").read_text("ascii") for task in Path(f"/proc/{pid}/task").iterdir()
        ]
    except OSError:
        # It has just ended, or the system has no such lists.
        with suppress(psutil.Error):
            yield from psutil.Process(pid).children(recursive=True)
        return
    for child in map(int, " ".join(lists).split()):
        with suppress(psutil.Error):
            yield psutil.Process(child)
        yield from _descendants(child)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _about_megabytes(process: psutil.Process) -> float:
    """Return about what a process uses; what a fork shares with its parent counts in both."""
    try:
        used = process.memory_info()
    except psutil.Error:
        return 0
    return float(used.rss - getattr(used, "shared", 0)) / 1e6


def _megabytes(process: psutil.Process) -> float:
    """Return the share of a process in the memory that is not of files.

    That takes the kernel milliseconds for a large process.
    """
    if sys.platform != "linux":
        return _about_megabytes(process)
    try:
        rows = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    counted = [row.split() for row in rows.splitlines() if row.startswith(_UNSHARED)]
    return sum(int(row[1]) for row in counted) * 1024 / 1e6


def _threads(process: psutil.Process) -> int:
    try:
        return int(process.num_threads())
    except psutil.Error:
        return 0


def _tell(process: psutil.Process, ask: Callable[[psutil.Process], None]) -> None:
    try:
        ask(process)
    except psutil.Error:
        # It has just ended, or belongs to another user.
        return


def start_mark(pid: int) -> str:
    """Return a mark that distinguishes a process from a later one with its id; empty if unknown.

    This is when it started, as the system notes it.
    """
    if sys.platform != "linux":
        try:
            process = psutil.Process(pid)
            ended = process.status() == psutil.STATUS_ZOMBIE
            return "" if ended else repr(process.create_time())
        except psutil.Error:
            return ""
    # Quicker than psutil, and asked several times a second.
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field, the program's name, may hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def is_process_alive(pid: int, mark: str) -> bool:
    return start_mark(pid) == mark if mark else psutil.pid_exists(pid)


class EndConditions:
    """The conditions under which a keeper ends: its owners are gone, or it is told to.

    Args:
        owners: process ids with their start marks.
        stop: tells of any other reason.
    """

    def __init__(
        self, owners: Sequence[tuple[int, str]], stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._owners, self._stop = owners, stop
        self._end_asked = False
        for number in _ASKS_TO_END:
            signal.signal(number, self._on_signal)
        self._woken: int | None = None
        if sys.platform != "win32":
            self._woken, wakes = os.pipe()
            os.set_blocking(wakes, False)
            signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
            # Without a handler nothing would wake this process when its command ends.
            signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._end_asked = True

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than until a signal or the end of a child."""
        if self._woken is None:
            time.sleep(seconds)
        elif select.select([self._woken], [], [], seconds)[0]:
            os.read(self._woken, 4096)

    def is_over(self) -> bool:
        gone = not all(is_process_alive(pid, mark) for pid, mark in self._owners)
        return self._end_asked or gone or self._stop()


def import_folders() -> list[str]:
    """Return the folders that a bare interpreter needs on its path to import this module."""
    return list(
        dict.fromkeys(
            str(folder) for folder in (Path(__file__).parents[2], Path(psutil.__file__).parents[1])
        )
    )


def kept(command: Sequence[str], owner: int, limits: TreeLimits = NO_LIMITS) -> list[str]:
    """Return the command line that runs a command below a keeper.

    The keeper hands its standard streams, folder and environment on, and exits with the command's
    status after everything that comes from the command was ended. It does so when the command ends,
    when the owner is gone, on SIGTERM, and when a limit is exceeded, with a status that tells so;
    after SIGKILL it can end nothing. End it by `end_kept`,
    since Windows knows no way of asking a process to end.
    """
    bare = [sys.executable, "-I", "-S", __file__]
    bounds = f"{limits.memory_mb}:{limits.processes}"
    owned = f"{owner}:{start_mark(owner)}"
    return [*bare, os.pathsep.join(import_folders()), owned, bounds, *command]


def end_kept(keeper: "subprocess.Popen[bytes]") -> None:
    """End a command that runs below a keeper with all that came from it, and wait for that."""
    if sys.platform == "win32":
        _kill_all(keeper.pid)
    else:
        keeper.terminate()
    try:
        keeper.wait(_KEEPER_S)
    except subprocess.TimeoutExpired:
        # A process that stops its own keeper is killed all the same.
        _kill_all(keeper.pid)
        with suppress(subprocess.TimeoutExpired):
            keeper.wait(_KEEPER_S)


def _kill_all(pid: int) -> None:
    with suppress(psutil.Error):
        keeper = psutil.Process(pid)
        for process in (*keeper.children(recursive=True), keeper):
            _tell(process, psutil.Process.kill)


def main() -> None:
    """Keep one command, as `kept` asks for it."""
    pid, _, mark = sys.argv[2].partition(":")
    over = EndConditions([(int(pid), mark)])
    limits = TreeLimits(*map(int, sys.argv[3].split(":")))
    try:
        tree = ProcessTree(sys.argv[4:])
    except OSError as error:
        sys.exit(str(error))
    excess = 0
    while tree.status is None and not over.is_over() and not excess:
        tree.watch()
        excess = tree.excess(limits)
        over.wait(POLL_S)
    # What takes too much is not asked first.
    code = tree.end(0 if excess else GRACE_S)
    sys.exit(excess or (128 - code if code < 0 else code))


if __name__ == "__main__":
    main()
