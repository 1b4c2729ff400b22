"""Runs a program on a kernel that refuses Landlock, seccomp or both, as containers do.

    python refusing_kernel.py landlock,seccomp PROGRAM ARGUMENT...

It is no pretence: a seccomp filter answers for the calls, for the program and all its children.
"""

import os
import struct
import sys
from array import array

from pytest_autoweb.sandbox import confine

_NUMBERS = {"x86_64": (317, 157), "aarch64": (277, 167)}
_ENOSYS, _EPERM, _SET_SECCOMP = 38, 1, 22


def _line(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def _refuse(number: int, error: int) -> bytes:
    return _line(0x15, number, 0, 1) + _line(0x06, 0x0005_0000 | error)


def refusing(walls: set[str]) -> bytes:
    """A filter that lets everything through but the calls that raise these walls."""
    seccomp, prctl = _NUMBERS[os.uname().machine]
    program = _line(0x20, 0)
    if "landlock" in walls:
        program += b"".join(_refuse(number, _ENOSYS) for number in (444, 445, 446))
    if "seccomp" in walls:
        program += _refuse(seccomp, _EPERM)
        program += _line(0x15, prctl, 0, 3) + _line(0x20, 16)
        program += _refuse(_SET_SECCOMP, _EPERM)
    return program + _line(0x06, 0x7FFF_0000)


def main() -> None:
    """Raise the filter and become the program."""
    call = confine.system_call()
    assert call is not None
    confine.forbid_new_rights(call)
    program = array("B", refusing(set(sys.argv[1].split(","))))
    address, length = program.buffer_info()
    seccomp, _ = _NUMBERS[os.uname().machine]
    assert call(seccomp, 1, 0, struct.pack("HP", length // 8, address)) == 0
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
