"""Landlock and seccomp, the kernel's walls, which the worker raises around itself.

This runs in the worker before any generated code. It needs neither root nor a package: `_ctypes`
is part of Python, and its bare functions suffice (the package `ctypes` around it would leave
ready-made pointers to `memmove` behind). The return code of each call tells whether a wall stands,
not a version, because containers refuse what the kernel itself could do.
"""

import os
import struct
import sys
from array import array
from collections.abc import Callable
from typing import Any

from pytest_autoweb.sandbox.syscalls import MACHINES, filter_program

SystemCall = Callable[..., int]
"""Function that takes a call's number and arguments; ints must fit 31 bits, bytes are pointers."""

# Landlock's calls, whose numbers are the same on all machines.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1
# Number of kinds of file access that Landlock knows from an ABI on; each kind is one bit.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
_TCP_BIND_AND_CONNECT = _SOCKETS_AND_SIGNALS = 0b11

_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVS, _SET_SECCOMP = 1, 38, 22
_FILTER_BY_PRCTL, _FILTER_BY_SECCOMP = 2, 1
_PRCTL_AND_SECCOMP = {"x86_64": (157, 317), "aarch64": (167, 277)}
_SIGKILL = 9


def system_call() -> SystemCall | None:
    """Return the C library's `syscall`, or None where these walls do not exist."""
    if sys.platform != "linux" or _machine() not in MACHINES:
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

    A parent that has ended already is noticed by its closed pipe, as no code runs yet.
    """
    call(_PRCTL_AND_SECCOMP[_machine()][0], _SET_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)


def forbid_new_rights(call: SystemCall) -> None:
    """Forbid this process ever to gain rights, which the kernel demands before the walls below."""
    call(_PRCTL_AND_SECCOMP[_machine()][0], _SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def raise_landlock(call: SystemCall) -> int:
    """Give up files, TCP and whatever else Landlock covers; return its ABI, or 0 if missing."""
    abi = call(_CREATE_RULESET, None, 0, _VERSION)
    if abi < 1:
        return 0
    bits = next(count for since, count in reversed(_FILE_RIGHTS.items()) if abi >= since)
    rights = struct.pack("<Q", (1 << bits) - 1)
    if abi >= 4:
        rights += struct.pack("<Q", _TCP_BIND_AND_CONNECT)
    if abi >= 6:
        rights += struct.pack("<Q", _SOCKETS_AND_SIGNALS)
    # A ruleset that handles these rights and grants none of them denies them all.
    ruleset = call(_CREATE_RULESET, rights, len(rights), 0)
    if ruleset < 0:
        return 0
    refused = call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return 0 if refused else abi


def raise_seccomp(call: SystemCall) -> bool:
    """Give up every system call that computing does not need; return whether this worked."""
    machine = _machine()
    prctl, seccomp = _PRCTL_AND_SECCOMP[machine]
    program = array("B", filter_program(MACHINES[machine], os.getpid()))
    address, length = program.buffer_info()
    described = struct.pack("HP", length // 8, address)
    # A container may refuse one of these two calls and allow the other.
    return (
        call(seccomp, _FILTER_BY_SECCOMP, 0, described) == 0
        or call(prctl, _SET_SECCOMP, _FILTER_BY_PRCTL, described, 0, 0) == 0
    )


def _machine() -> str:
    uname: Any = getattr(os, "uname", None)
    return uname().machine if uname and sys.maxsize > 1 << 32 else ""
