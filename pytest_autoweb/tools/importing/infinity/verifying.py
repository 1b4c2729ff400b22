"""Runs the board's verifiers and solutions on states, in a process of their own.

They are Python files that others wrote. The program that runs them (`templates/infinity/verify.py`)
sees the standard library alone, is given states in place of a server, and is ended when it takes
too long.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.tools.importing.infinity.board import Task

State = Mapping[str, Any]
"""What a page reports of its application, as a JSON object."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a verifier says of one state."""

    passed: bool
    words: str


@dataclass(frozen=True, slots=True)
class Solution:
    """What the board's solution of a task makes of a state, and what the verifier says of that."""

    state: State
    ruling: Ruling


class VerifierHangs(AutowebError):
    """Raised when verifiers do not end in time."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of a task: of each state that was given, and of the board's own solution."""

    rulings: tuple[Ruling, ...]
    solution: Solution | None
    """What the solution makes of the first state; None if the board has none."""


def ruling_on(verifier: Path, state: State, seconds: float) -> Ruling:
    """Return what a verifier says of a state. One that raises has refused.

    Raises:
        VerifierHangs: it did not end within `seconds`.
    """
    (found,) = _run([{"verifier": str(verifier)}], [state], seconds)
    return _ruling(found["rulings"][0])


def judged(tasks: Sequence[Task], states: Sequence[State], seconds: float) -> list[Judgement]:
    """Return what is said of each task on these states, with the board's solution of the first.

    Raises:
        VerifierHangs: they did not all end within `seconds`.
    """
    jobs = [
        {"verifier": str(t.verifier), "solutions": str(t.solutions or ""), "name": t.name}
        for t in tasks
    ]
    return [
        Judgement(
            tuple(map(_ruling, found["rulings"])),
            None
            if found["solution"] is None
            else Solution(found["solution"], _ruling(found["solved"])),
        )
        for found in _run(jobs, states, seconds)
    ]


def _ruling(found: Sequence[Any]) -> Ruling:
    passed, words = found
    return Ruling(passed is True, str(words))


def _run(
    jobs: Sequence[Mapping[str, str]], states: Sequence[State], seconds: float
) -> list[dict[str, Any]]:
    program = asset_dir("templates") / "infinity" / "verify.py"
    try:
        ran = subprocess.run(
            # Isolated: no variables, no user's packages, not even the working folder on the path.
            [sys.executable, "-I", "-S", str(program)],
            input=json.dumps({"jobs": list(jobs), "states": list(states)}),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise VerifierHangs(f"no verdict within {seconds:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"the verifiers' process ended: {error.stderr[-300:]}") from None
    answers: list[dict[str, Any]] = json.loads(ran.stdout)
    return answers
