"""A program of somebody else that runs inside walls of the kernel, and what those hold.

The built-in worker gives up everything (`confine`); such a program keeps the files and ports that
it needs. `program_walls` raises the walls inside its process.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest_autoweb
from pytest_autoweb.base.errors import SandboxError
from pytest_autoweb.sandbox import program_walls
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.program_walls import ProgramWalls

_START_S = 30.0
NO_WALLS = ProgramWalls(0, False, False)
# The ABI of Landlock from which on it holds something as a whole.
_FILES, _TCP, _SIGNALS = 3, 4, 6


class ProgramReach(NamedTuple):
    """What a program may reach; everything else is out of its reach where the kernel has walls."""

    read: tuple[str, ...]
    """Files and folders that it may read and run."""
    write: tuple[str, ...]
    """Files and folders that it may also change."""
    ports: tuple[int, ...]
    """TCP ports that it may connect to, whatever the host, since Landlock knows ports alone."""
    processes: int
    """Processes and threads that its user may have more than there are now."""


@cache
def walls_here() -> ProgramWalls:
    """Return the walls that this machine has, found out by a process that raises them."""
    if sys.platform != "linux":
        return NO_WALLS
    try:
        told = subprocess.run(_command({}), capture_output=True, timeout=_START_S, check=True)
        return ProgramWalls(*json.loads(told.stdout))
    except (OSError, ValueError, TypeError, subprocess.SubprocessError):
        return NO_WALLS


def _command(reach: dict[str, object]) -> list[str]:
    package = Path(pytest_autoweb.__file__).parents[1]
    return [
        *(sys.executable, "-I", "-S", "-B", program_walls.__file__),
        *(str(package), json.dumps(reach)),
    ]


def confined(command: Sequence[str], reach: ProgramReach) -> list[str]:
    """Return the command line that runs a command inside the walls of this machine.

    If a wall does not stand after all, it ends with the status `program_walls.NOT_HELD`.
    """
    walls = walls_here()
    if walls == NO_WALLS:
        return [*command]
    return [*_command({**reach._asdict(), "walls": walls}), *command]


LACKS = "NOT held"
"""How the words of a hold begin to say what is missing."""


class Hold(NamedTuple):
    """What holds a program of somebody else, in words."""

    by: tuple[str, ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        by = f"held: {', '.join(self.by)}" if self.by else ""
        lacks = f"{LACKS}: {', '.join(self.missing)}" if self.missing else ""
        return "; ".join(filter(None, (by, lacks)))


def hold_of(level: Level) -> Hold:
    """Return what holds a program at a level on this machine, and what does not.

    With all that it starts it always ends with its session.
    """
    off = level == "off"
    walls = NO_WALLS if off else walls_here()
    abi = walls.landlock
    rows = (
        ("files", abi >= _FILES),
        ("TCP ports", abi >= _TCP),
        ("other processes", abi >= _SIGNALS and walls.seccomp),
        ("UDP", walls.seccomp),
        ("Unix sockets", abi >= _SIGNALS and walls.hidden),
        ("memory and processes", not off),
    )
    by = tuple(name for name, stands in rows if stands)
    return Hold(by, tuple(name for name, stands in rows if not stands))


def refuse_gaps(level: Level, name: str) -> None:
    """Refuse to run a program at `strict` unless all is held.

    Raises:
        SandboxError: something is not; the message names it.
    """
    missing = hold_of(level).missing
    if level == "strict" and missing:
        raise SandboxError(
            f"the agent {name!r} is to be held strictly, and this machine does not hold its "
            f"{', '.join(missing)}, which takes Linux 6.12 or newer with Landlock, seccomp and "
            "namespaces; sandbox = auto holds what can be held"
        )
