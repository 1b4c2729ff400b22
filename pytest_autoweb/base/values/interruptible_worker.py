"""The process behind `interruptible`: it carries out what may have to be ended at any moment.

It reads requests as JSON lines and answers each with one.
"""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

from pytest_autoweb.base.values.schemas import first_problem

if sys.platform == "win32":
    ITIMER_PROF = 0

    def setitimer(_which: int, _seconds: float) -> None:
        """Leave the time to the owner, which alone can end this process there."""

else:
    from signal import ITIMER_PROF, setitimer

_MOST_CPU_S = 2.0
"""Processor time for one request. Then the system ends the process, even if its owner is gone."""


def _search(pattern: str, text: str, flags: int) -> str | None:
    found = re.compile(pattern, flags).search(text)
    return None if found is None else found.group()


_TASKS: dict[str, Callable[..., Any]] = {"search": _search, "first_problem": first_problem}


def main() -> None:
    """Answer until the owner closes standard input."""
    for line in sys.stdin.buffer:
        name, arguments = json.loads(line)
        setitimer(ITIMER_PROF, _MOST_CPU_S)
        try:
            said = {"result": _TASKS[name](*arguments)}
        except Exception as error:
            # The owner raises it again; here it would end the process.
            said = {"error": f"{type(error).__name__}: {error}"}
        setitimer(ITIMER_PROF, 0)
        # As ASCII, half of an emoji passes as an escape.
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
