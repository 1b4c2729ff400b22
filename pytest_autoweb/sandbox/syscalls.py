"""The system calls that a worker may make, as a program for the kernel's seccomp filter.

This runs in the worker. Computing and using the two pipes take about thirty calls. Any other call
fails with EPERM, because a C library on some machine may try an unforeseen call in passing and
can live without it. The calls that no library makes in passing (a new process, another process's
memory, io_uring …) end the process, because code that makes them has broken out of Python.
"""

import struct
from typing import NamedTuple

EPERM = 1
KILL, FAIL, ALLOW = 0x8000_0000, 0x0005_0000 | EPERM, 0x7FFF_0000
"""Verdicts of the filter: end the process, answer EPERM, let the call through."""

# The filter instructions in use: load a word, three comparisons, return the verdict.
_LOAD, _IS, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in the kernel's description of a call; an argument is eight bytes, low word first.
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_PROT_EXEC = 4
# From this number on, x86-64 numbers mean the x32 variant of a call.
_X32 = 0x4000_0000

_COMPUTING = """
    read 0 63 | write 1 64 | close 3 57 | mmap 9 222 | mprotect 10 226 | munmap 11 215
    mremap 25 216 | brk 12 214 | madvise 28 233 | futex 202 98 | sched_yield 24 124
    getpid 39 172 | gettid 186 178 | getrandom 318 278 | clock_gettime 228 113
    clock_getres 229 114 | clock_nanosleep 230 115 | nanosleep 35 101 | gettimeofday 96 169
    rt_sigprocmask 14 135 | rt_sigreturn 15 139 | sigaltstack 131 132
    restart_syscall 219 128 | exit 60 93 | exit_group 231 94 | tgkill 234 131
"""
# Each entry is a name, its number on x86-64 and its number on ARM64 (`-` if there is none).
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


def _numbers(table: str, column: int) -> dict[str, int]:
    rows = [row.split() for row in table.replace("\n", " | ").split(" | ") if row.strip()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _machine(arch: int, column: int) -> Machine:
    return Machine(arch, _numbers(_COMPUTING, column), _numbers(_BREAKING_OUT, column))


MACHINES: dict[str, Machine] = {
    "x86_64": _machine(0xC000_003E, 1),
    "aarch64": _machine(0xC000_00B7, 2),
}
"""The machines by the name that `os.uname()` gives them."""


def filter_program(machine: Machine, pid: int) -> bytes:
    """Return the filter in the kernel's format, for the process with this id."""
    lines = [_line(_LOAD, _ARCH), *_if(_IS, machine.arch, [], [_verdict(KILL)])]
    lines += [_line(_LOAD, _NUMBER), *_if(_AT_LEAST, _X32, [_verdict(KILL)], [])]
    # An interpreter that is already loaded needs no further executable memory.
    executable = [_line(_LOAD, _argument(2)), *_choice(_HAS_BIT, _PROT_EXEC, FAIL, ALLOW)]
    # `abort` sends a signal to its own process, which is the only permitted target.
    own = [_line(_LOAD, _argument(0)), *_choice(_IS, pid, ALLOW, KILL)]
    looked_at = {"mmap": executable, "mprotect": executable, "tgkill": own}
    for name, number in machine.computing.items():
        lines += _if(_IS, number, looked_at.get(name, [_verdict(ALLOW)]), [])
    for number in machine.breaking_out.values():
        lines += _if(_IS, number, [_verdict(KILL)], [])
    return b"".join([*lines, _verdict(FAIL)])


def _line(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def _verdict(value: int) -> bytes:
    return _line(_RETURN, value)


def _argument(number: int) -> int:
    return _ARGUMENTS + 8 * number


def _if(test: int, value: int, then: list[bytes], otherwise: list[bytes]) -> list[bytes]:
    """Return a comparison with its branches, of which only one may have lines.

    That branch must end in a verdict, as jumps only skip what follows.
    """
    return [_line(test, value, len(otherwise), len(then)), *then, *otherwise]


def _choice(test: int, value: int, then: int, otherwise: int) -> list[bytes]:
    return [_line(test, value, 0, 1), _verdict(then), _verdict(otherwise)]
