"""Runs the board's verifiers and solutions on states, in a process of their own.

They are Python files that others wrote. The program that runs them (`templates/infinity/verify.py`)
sees the standard library alone, is given states in place of a server, and is ended when it takes
too long.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.tools.importing.infinity.board import Task

State = Mapping[str, Any]
"""What a page reports of its application, as a JSON object."""


class Ruling(Struct, frozen=True):
    """What a verifier says of one state."""

    passed: bool
    words: str


class Solution(Struct, frozen=True):
    """What the board's solution of a task makes of a state, and what the verifier says of that."""

    state: State
    ruling: Ruling


class VerifierHangs(AutowebError):
    """Raised when verifiers do not end in time."""


class Judgement(Struct, frozen=True):
    """What is said of a task: of a state, and of what the board's own solution makes of it."""

    ruling: Ruling
    solution: Solution | None
    """None if the board has no solution of the task."""


def ruling_on(verifier: Path, state: State, seconds: float) -> Ruling:
    """Return what a verifier says of a state. One that raises has refused.

    Raises:
        VerifierHangs: it did not end within `seconds`.
    """
    (found,) = _run([{"verifier": str(verifier)}], state, seconds)
    return _ruling(found["ruling"])


def solution_of(
    verifier: Path, solutions: Path, name: str, state: State, seconds: float
) -> Solution | None:
    """Return what the board's solution of a task makes of a state; None if it has none.

    Args:
        verifier: the task's.
        solutions: the file that holds the solutions of its suite.
        name: the task's name, such as `task_e1`.
        state: the state before.
        seconds: how long both may take.

    Raises:
        VerifierHangs: they did not end within `seconds`.
    """
    (found,) = _run([_job(verifier, solutions, name)], state, seconds)
    return _solution(found)


def judged(tasks: Sequence[Task], state: State, seconds: float) -> list[Judgement]:
    """Return what is said of each task on a state.

    Raises:
        VerifierHangs: the verifiers and solutions did not all end within `seconds`.
    """
    jobs = [_job(task.verifier, task.solutions, task.name) for task in tasks]
    return [
        Judgement(_ruling(found["ruling"]), _solution(found))
        for found in _run(jobs, state, seconds)
    ]


def _job(verifier: Path, solutions: Path | None, name: str) -> dict[str, str]:
    return {"verifier": str(verifier), "solutions": str(solutions or ""), "name": name}


def _ruling(found: Sequence[Any]) -> Ruling:
    passed, words = found
    return Ruling(passed is True, str(words))


def _solution(found: Mapping[str, Any]) -> Solution | None:
    if found["solution"] is None:
        return None
    return Solution(found["solution"], _ruling(found["solved"]))


def _run(jobs: Sequence[Mapping[str, str]], state: State, seconds: float) -> list[dict[str, Any]]:
    program = asset_dir("templates") / "infinity" / "verify.py"
    try:
        ran = subprocess.run(
            # Isolated: no variables, no user's packages, not even the working folder on the path.
            [sys.executable, "-I", "-S", str(program)],
            input=json.dumps({"jobs": list(jobs), "state": state}),
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
