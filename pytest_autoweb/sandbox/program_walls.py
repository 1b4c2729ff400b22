"""Raises the kernel's walls around this process, and then becomes somebody else's program.

It is run by its path with a bare interpreter, so it imports only the standard library and the
worker's walls. Whatever the program starts is inside the same walls.

A program of somebody else makes nearly any call, so the files, ports, signals and sockets that it
may reach are listed for Landlock, and kinds of sockets for the filter; the filter also refuses the
calls that lead around Landlock.
"""

import json
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    # A bare interpreter finds this package by nothing else.
    sys.path.append(sys.argv[1])

from pytest_autoweb.sandbox.confine import (
    ALLOW,
    FAIL,
    HAS_BIT,
    IS,
    LOAD,
    MACHINES,
    Machine,
    SystemCall,
    argument,
    branch,
    calls_of,
    choice,
    die_with_parent,
    file_rights,
    forbid_new_rights,
    instruction,
    numbers_of_calls,
    raise_landlock,
    raise_seccomp,
    system_call,
    verdict,
)

NOT_HELD = 78
"""The exit status if a wall did not stand that was to stand."""

_ADD_RULE, _BENEATH_A_PATH, _PORT = 445, 1, 2
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICES, _TRUNCATE, _CONTROL = 1 << 6 | 1 << 11, 1 << 14, 1 << 15
_BIND_AND_CONNECT = 0b11
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _CONTROL

# Each is a name, its number on x86-64 and on ARM64. They lead around what Landlock holds: sockets
# by io_uring, memory and keys that processes of a user share.
_REFUSED = """
    io_uring_setup 425 425 | io_uring_enter 426 426 | io_uring_register 427 427
    ptrace 101 117 | process_vm_readv 310 270 | process_vm_writev 311 271 | kcmp 312 272
    pidfd_getfd 438 438 | add_key 248 217 | request_key 249 218 | keyctl 250 219
    shmget 29 194 | shmat 30 196 | semget 64 190 | msgget 68 186 | mq_open 240 180
    bpf 321 280 | perf_event_open 298 241 | userfaultfd 323 282 | open_by_handle_at 304 265
    setns 308 268 | kexec_load 246 104 | init_module 175 105 | finit_module 313 273
"""
_LOOKED_AT = "socket 41 198 | sendto 44 206 | sendmsg 46 211 | sendmmsg 307 269"
_AND = 0x54
_UNIX, _IPV4, _IPV6, _NETLINK = 1, 2, 10, 16
_STREAM, _KIND = 1, 0xF
_TCP = 6
# Connects without being asked for by `connect`, which Landlock watches.
_FAST_OPEN = 0x2000_0000

_RLIMIT_PROCESSES = "RLIMIT_NPROC"
_CAPABILITIES = range(64)
# Where root is no owner, as in containers, it could not read otherwise. Landlock decides which.
_OVERRIDES_FILE_MODES = 1
_DROP_FROM_BOUNDS = 24
_PRCTL, _CAPSET = {"x86_64": 157, "aarch64": 167}, {"x86_64": 126, "aarch64": 91}
_UNSHARE, _MOUNT = {"x86_64": 272, "aarch64": 97}, {"x86_64": 165, "aarch64": 40}
_NEW_MOUNTS, _NEW_USER = 0x2_0000, 0x1000_0000
_BIND, _PRIVATE = 0x1000, 0x4_4000
_CAPABILITIES_V3 = 0x2008_0522


class ProgramWalls(NamedTuple):
    """The walls of the kernel around a program of somebody else."""

    landlock: int
    """Landlock's ABI, or 0 if it is missing."""
    seccomp: bool
    hidden: bool
    """Whether Unix sockets that have a file are out of sight."""


_HIDDEN = ProgramWalls._fields.index("hidden")


def program_filter(machine: Machine) -> bytes:
    """Return the filter in the kernel's format."""
    column = 1 if machine is MACHINES["x86_64"] else 2
    looked_at, refused = numbers_of_calls(_LOOKED_AT, column), numbers_of_calls(_REFUSED, column)
    lines = [*calls_of(machine), *branch(IS, looked_at["socket"], _sockets(), [])]
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        fast = [instruction(LOAD, argument(flags)), *choice(HAS_BIT, _FAST_OPEN, FAIL, ALLOW)]
        lines += branch(IS, looked_at[name], fast, [])
    for number in refused.values():
        lines += branch(IS, number, [verdict(FAIL)], [])
    return b"".join([*lines, verdict(ALLOW)])


def _sockets() -> list[bytes]:
    """Return the lines that allow TCP, Unix sockets, and asking for the machine's addresses."""
    protocol = instruction(LOAD, argument(2))
    by_default = [protocol, *branch(IS, 0, [verdict(ALLOW)], []), *choice(IS, _TCP, ALLOW, FAIL)]
    kind = [instruction(LOAD, argument(1)), instruction(_AND, _KIND)]
    tcp = [*kind, *branch(IS, _STREAM, by_default, []), verdict(FAIL)]
    routes = [protocol, *choice(IS, 0, ALLOW, FAIL)]
    return [
        instruction(LOAD, argument(0)),
        *branch(IS, _UNIX, [verdict(ALLOW)], []),
        *branch(IS, _IPV4, tcp, []),
        *branch(IS, _IPV6, tcp, []),
        *branch(IS, _NETLINK, routes, []),
        verdict(FAIL),
    ]


def hide_sockets(call: SystemCall, machine: str, own: Iterable[str]) -> bool:
    """Put something else in the place of each Unix socket that there is, for this process alone.

    Landlock watches only sockets without a file. Those of services (Docker's, the session's, an
    agent of keys) have one, and exist before the program does.

    Args:
        call: the system call.
        machine: the name of the processor's architecture.
        own: folders of the program, whose sockets stay.

    Returns:
        Whether the kernel gave this process a view of its own.
    """
    user, group = os.geteuid(), os.getegid()
    if call(_UNSHARE[machine], _NEW_MOUNTS) and not _become_own_user(call, machine, user, group):
        return False
    if call(_MOUNT[machine], None, b"/", None, _PRIVATE, None):
        return False
    rows = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
    for row in rows.splitlines():
        path = row.split(None, 7)[-1]
        kept = any(Path(path).is_relative_to(folder) for folder in own)
        if path.startswith("/") and not kept:
            # Those of other containers are not here.
            call(_MOUNT[machine], b"/dev/null", os.fsencode(path), None, _BIND, None)
    return True


def _become_own_user(call: SystemCall, machine: str, user: int, group: int) -> bool:
    """Enter a namespace in which an ordinary user may change what this process sees."""
    if call(_UNSHARE[machine], _NEW_USER | _NEW_MOUNTS):
        return False
    itself = Path("/proc/self")
    try:
        (itself / "setgroups").write_text("deny", encoding="ascii")
        (itself / "uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        (itself / "gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    except OSError:
        return False
    return True


def grant_reach(call: SystemCall, ruleset: int, abi: int, reach: dict[str, Any]) -> None:
    """Add the files and ports to a ruleset that the program may reach.

    Args:
        call: the system call.
        ruleset: the descriptor of the ruleset.
        abi: Landlock's ABI.
        reach: `read` and `write`, each a list of paths, and `ports`; see `ProgramReach`.
    """
    reads = _EXECUTE | _READ_FILE | _READ_FOLDER
    writes = file_rights(abi) & ~_MAKE_DEVICES
    for rights, paths in ((reads, reach["read"]), (writes, reach["write"])):
        for path in paths:
            _grant_path(call, ruleset, path, rights & file_rights(abi))
    for port in reach["ports"] if abi >= 4 else ():
        call(_ADD_RULE, ruleset, _PORT, struct.pack("<QQ", _BIND_AND_CONNECT, port), 0)


def _grant_path(call: SystemCall, ruleset: int, path: str, rights: int) -> None:
    # What this machine does not have needs no rule.
    with suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not Path(path).is_dir():
            rights &= _OF_FILES
        call(_ADD_RULE, ruleset, _BENEATH_A_PATH, struct.pack("<Qi", rights, opened), 0)
        os.close(opened)


def drop_capabilities(call: SystemCall, machine: str) -> None:
    """Give up what root may do beyond files; Landlock holds the files."""
    for number in _CAPABILITIES:
        if number != _OVERRIDES_FILE_MODES:
            call(_PRCTL[machine], _DROP_FROM_BOUNDS, number, 0, 0, 0)
    kept = 1 << _OVERRIDES_FILE_MODES if os.geteuid() == 0 else 0
    # Effective and permitted ones, of which each word has 32; none are inherited.
    sets = struct.pack("<6I", kept, kept, 0, 0, 0, 0)
    call(_CAPSET[machine], struct.pack("<Ii", _CAPABILITIES_V3, 0), sets)


def limit_processes(most: int) -> None:
    """Let the user have only so many more processes; the kernel never counts those of root."""
    # Late, because Windows has no such module.
    import resource

    kind = getattr(resource, _RLIMIT_PROCESSES)
    hard = resource.getrlimit(kind)[1]
    wanted = _tasks_of(os.getuid()) + most
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (wanted, wanted))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _tasks_of(user: int) -> int:
    """Return the number of processes and threads of a user, as the kernel counts them."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        # It may end while it is looked at.
        with suppress(OSError):
            if process.stat().st_uid == user:
                count += sum(1 for _ in (process / "task").iterdir())
    return count


def raise_walls(reach: dict[str, Any]) -> ProgramWalls:
    """Raise the walls that this machine has, and return which stand."""
    call = system_call()
    if call is None:
        return ProgramWalls(0, False, False)
    machine = os.uname().machine
    # This imports something, which is out of reach once the walls stand.
    limit_processes(reach["processes"])
    # Where the kernel gives half of a namespace, this process would lose its user in it. So it is
    # tried only by the process that finds out.
    tried = reach["walls"][_HIDDEN] if "walls" in reach else True
    hidden = tried and hide_sockets(call, machine, reach["write"])
    # The kernel forgets the signal where a process gains rights, as it does in a namespace.
    die_with_parent(call)
    forbid_new_rights(call)
    landlock = raise_landlock(call, lambda ruleset, abi: grant_reach(call, ruleset, abi, reach))
    drop_capabilities(call, machine)
    return ProgramWalls(landlock, raise_seccomp(call, program_filter(MACHINES[machine])), hidden)


def offered() -> ProgramWalls:
    """Return the walls that stand after they were raised, which is how it is found out."""
    nothing: dict[str, Iterable[Any]] = {"read": (), "write": (), "ports": ()}
    return raise_walls({**nothing, "processes": 100})


def main() -> None:
    """Raise the walls and become the program; without a program, tell which walls stood."""
    reach, command = json.loads(sys.argv[2]), sys.argv[3:]
    if not command:
        print(json.dumps(offered()))
        return
    walls = raise_walls(reach)
    if list(walls) != reach["walls"]:
        sys.stderr.write(f"autoweb: not held as asked for: {walls}; the agent was not started\n")
        sys.exit(NOT_HELD)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
