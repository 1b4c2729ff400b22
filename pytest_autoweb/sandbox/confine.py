"""Restricts the worker before it runs any generated code: Landlock, seccomp and limits."""

import faulthandler
import os
import signal
import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

# Late imports: these modules exist on some systems only.

EPERM = 1
KILL, FAIL, ALLOW = 0x8000_0000, 0x0005_0000 | EPERM, 0x7FFF_0000
"""Verdicts of the filter: end the process, answer EPERM, let the call through."""

# The filter instructions in use: load a word, three comparisons, return the verdict.
LOAD, IS, _AT_LEAST, HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in the kernel's description of a call; an argument is eight bytes, low word first.
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_PROT_EXEC = 4
# From this number on, x86-64 numbers mean the x32 variant of a call.
_X32 = 0x4000_0000

# In both tables an entry is a name, its number on x86-64 and its number on ARM64 (`-` if it has
# none). Calls that neither lists fail with EPERM, because a C library may try them harmlessly.
_COMPUTING = """
    read 0 63 | write 1 64 | close 3 57 | mmap 9 222 | mprotect 10 226 | munmap 11 215
    mremap 25 216 | brk 12 214 | madvise 28 233 | futex 202 98 | sched_yield 24 124
    getpid 39 172 | gettid 186 178 | getrandom 318 278 | clock_gettime 228 113
    clock_getres 229 114 | clock_nanosleep 230 115 | nanosleep 35 101 | gettimeofday 96 169
    rt_sigprocmask 14 135 | rt_sigreturn 15 139 | sigaltstack 131 132
    restart_syscall 219 128 | exit 60 93 | exit_group 231 94 | tgkill 234 131
"""
# No library makes these calls harmlessly, so they end the process, and the step fails with AW508.
_BREAKING_OUT = """
    execve 59 221 | execveat 322 281 | fork 57 - | vfork 58 - | clone 56 220
    clone3 435 435 | ptrace 101 117 | process_vm_readv 310 270 | process_vm_writev 311 271
    kill 62 129 | tkill 200 130 | rt_sigqueueinfo 129 138 | rt_tgsigqueueinfo 297 240
    pidfd_open 434 434 | pidfd_getfd 438 438 | pidfd_send_signal 424 424
    memfd_create 319 279 | io_uring_setup 425 425 | io_uring_enter 426 426
    io_uring_register 427 427 | bpf 321 280 | perf_event_open 298 241 | userfaultfd 323 282
    unshare 272 97 | setns 308 268 | mount 165 40 | umount2 166 39 | chroot 161 51
    pivot_root 155 41 | keyctl 250 219 | add_key 248 217 | init_module 175 105
    finit_module 313 273 | kexec_load 246 104 | open_by_handle_at 304 265
"""


class Machine(NamedTuple):
    """The kernel's numbers for one processor architecture."""

    arch: int
    computing: dict[str, int]
    breaking_out: dict[str, int]


def numbers_of_calls(table: str, column: int) -> dict[str, int]:
    rows = [row.split() for row in table.replace("\n", " | ").split(" | ") if row.strip()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _machine(arch: int, column: int) -> Machine:
    computing, breaking_out = _COMPUTING, _BREAKING_OUT
    return Machine(
        arch, numbers_of_calls(computing, column), numbers_of_calls(breaking_out, column)
    )


MACHINES: dict[str, Machine] = {
    "x86_64": _machine(0xC000_003E, 1),
    "aarch64": _machine(0xC000_00B7, 2),
}
"""The machines by the name that `os.uname()` gives them."""


def filter_program(machine: Machine, pid: int) -> bytes:
    """Return the filter in the kernel's format, for the process with this id."""
    lines = calls_of(machine)
    # An interpreter that is already loaded needs no further executable memory.
    executable = [instruction(LOAD, argument(2)), *choice(HAS_BIT, _PROT_EXEC, FAIL, ALLOW)]
    # `abort` sends a signal to its own process, which is the only permitted target.
    own = [instruction(LOAD, argument(0)), *choice(IS, pid, ALLOW, KILL)]
    looked_at = {"mmap": executable, "mprotect": executable, "tgkill": own}
    for name, number in machine.computing.items():
        lines += branch(IS, number, looked_at.get(name, [verdict(ALLOW)]), [])
    for number in machine.breaking_out.values():
        lines += branch(IS, number, [verdict(KILL)], [])
    return b"".join([*lines, verdict(FAIL)])


def calls_of(machine: Machine) -> list[bytes]:
    """Return how a filter begins: it loads a call's number, and ends what is of no such machine."""
    return [
        *(instruction(LOAD, _ARCH), *branch(IS, machine.arch, [], [verdict(KILL)])),
        *(instruction(LOAD, _NUMBER), *branch(_AT_LEAST, _X32, [verdict(KILL)], [])),
    ]


def instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def verdict(value: int) -> bytes:
    return instruction(_RETURN, value)


def argument(number: int) -> int:
    return _ARGUMENTS + 8 * number


def branch(test: int, value: int, then: list[bytes], otherwise: list[bytes]) -> list[bytes]:
    """Return a comparison with its branches, of which only one may have lines.

    That branch must end in a verdict, as jumps only skip what follows.
    """
    return [instruction(test, value, len(otherwise), len(then)), *then, *otherwise]


def choice(test: int, value: int, then: int, otherwise: int) -> list[bytes]:
    return [instruction(test, value, 0, 1), verdict(then), verdict(otherwise)]


SystemCall = Callable[..., int]
"""Function that takes a call's number and arguments; ints must fit 31 bits, bytes are pointers."""

# Landlock's calls, whose numbers are the same on all machines.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1
# Number of kinds of file access that Landlock knows from an ABI on; each kind is one bit.
# ABI 2 added moving files between folders, 3 truncating, and 5 control calls on devices. A bit that
# the running kernel does not know would make it refuse the whole ruleset.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
_TCP_BIND_AND_CONNECT = _SOCKETS_AND_SIGNALS = 0b11

_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVS, _SET_SECCOMP = 1, 38, 22
_FILTER_BY_PRCTL, _FILTER_BY_SECCOMP = 2, 1
_PRCTL_AND_SECCOMP = {"x86_64": (157, 317), "aarch64": (167, 277)}
_SIGKILL = 9


def system_call() -> SystemCall | None:
    """Return the C library's `syscall`, or None on systems without these walls."""
    if sys.platform != "linux" or _kernel_machine() not in MACHINES:
        return None
    try:
        import _ctypes
    except ImportError:
        return None
    try:
        everything: Any = None  # a handle of the process itself, which typeshed does not declare
        address = _ctypes.dlsym(_ctypes.dlopen(everything, 0), "syscall")
    except OSError:
        return None
    finally:
        # Generated code must not find the module.
        sys.modules.pop("_ctypes", None)
    call = _ctypes.call_cdeclfunction
    return lambda *args: call(address, args)


def die_with_parent(call: SystemCall) -> None:
    """Have the kernel kill this process when its parent ends, however that happens.

    A parent that has already ended is noticed by its closed pipe, because no code runs yet.
    """
    call(_PRCTL_AND_SECCOMP[_kernel_machine()][0], _SET_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)


def forbid_new_rights(call: SystemCall) -> None:
    """Forbid this process ever to gain rights, which the kernel requires before the walls below."""
    call(_PRCTL_AND_SECCOMP[_kernel_machine()][0], _SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def landlock_abi(call: SystemCall) -> int:
    """Return the version of Landlock's interface that the kernel has, or 0 if it has none."""
    return max(0, call(_CREATE_RULESET, None, 0, _VERSION))


def file_rights(abi: int) -> int:
    """Return the kinds of file access that Landlock knows, as bits."""
    bits = next(count for since, count in reversed(_FILE_RIGHTS.items()) if abi >= since)
    return (1 << bits) - 1


def raise_landlock(
    call: SystemCall, grant: Callable[[int, int], None] = lambda ruleset, abi: None
) -> int:
    """Give up files, TCP and everything else Landlock covers; return its ABI, or 0 if missing.

    Args:
        call: the system call.
        grant: adds rules to the ruleset for what is allowed all the same; it is given the
            ruleset's descriptor and the ABI.
    """
    abi = landlock_abi(call)
    if abi < 1:
        return 0
    rights = struct.pack("<Q", file_rights(abi))
    if abi >= 4:
        rights += struct.pack("<Q", _TCP_BIND_AND_CONNECT)
    if abi >= 6:
        rights += struct.pack("<Q", _SOCKETS_AND_SIGNALS)
    # A ruleset that handles these rights and grants none of them denies them all.
    ruleset = call(_CREATE_RULESET, rights, len(rights), 0)
    if ruleset < 0:
        return 0
    grant(ruleset, abi)
    refused = call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return 0 if refused else abi


def raise_seccomp(call: SystemCall, program: bytes = b"") -> bool:
    """Give up every system call that a filter refuses; return whether this worked.

    Args:
        call: the system call.
        program: the filter; by default that of the worker, which leaves what computing needs.
    """
    machine = _kernel_machine()
    prctl, seccomp = _PRCTL_AND_SECCOMP[machine]
    lines = array("B", program or filter_program(MACHINES[machine], os.getpid()))
    address, length = lines.buffer_info()
    # The kernel's `struct sock_fprog`: how many instructions of eight bytes there are, and where.
    described = struct.pack("HP", length // 8, address)
    # A container may refuse one of these two calls and allow the other.
    return (
        call(seccomp, _FILTER_BY_SECCOMP, 0, described) == 0
        or call(prctl, _SET_SECCOMP, _FILTER_BY_PRCTL, described, 0, 0) == 0
    )


def _kernel_machine() -> str:
    uname: Any = getattr(os, "uname", None)
    return uname().machine if uname and sys.maxsize > 1 << 32 else ""


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
    resource = _resource()  # imported now, because nothing can be imported once a wall stands
    call = system_call() if limits["kernel"] else None
    # The order matters: Landlock opens a descriptor, which the limits forbid afterwards, and
    # setting limits takes a system call that seccomp forbids.
    landlock, seccomp = 0, False
    if call:
        die_with_parent(call)
        forbid_new_rights(call)
        landlock = raise_landlock(call)
    if resource:
        _limit(resource, limits["memory_mb"], limits["cpu_s"], out_fd)
    if call:
        seccomp = raise_seccomp(call)
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
    # Set in the worker and never by the test process: Chromium would inherit the limit of address
    # space from there, and V8 reserves far more than it uses, so the browser would not start.
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
            # This is EXIT_DENIED. It is in `finally`, because the event must not pass if reporting
            # it to the host fails.
            leave(78)

    return hook
