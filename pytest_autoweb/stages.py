"""What strategies and correction arms of your own are made of: stages, and how to write one.

A stage takes the attempt so far and the tools it may use, and returns the attempt with more in it::

    from pytest_autoweb import Message
    from pytest_autoweb.stages import Attempt, NamedStage, Tools, ask, take_code

    def write_at_once(attempt: Attempt, tools: Tools) -> Attempt:
        message = Message(role="user", content=tools.case.user_task)
        attempt, reply = ask(attempt, tools, "generate", (message,))
        return attempt if attempt.failure else take_code(attempt, tools, reply)

    WRITE_AT_ONCE = NamedStage("generate", write_at_once)

The names in capital letters are the stages of the built-in strategy `codegen`, ready to be put into
a `Strategy`. This module is a part of the public interface (docs/api.md) and holds no code of its
own: the stages live in `attempt` and `codegen`, and nothing in the package imports it.
"""

from pytest_autoweb.agents.attempt.tools import NamedStage, Stage, Tools, ask, change, fail
from pytest_autoweb.agents.codegen.generate import take_code
from pytest_autoweb.cell.strategies import (
    CAPTURE,
    EXECUTE,
    GENERATE,
    JUDGE,
    LINT,
    OPEN,
    PLAN,
    PLAN_AS_TASK,
    REPAIR,
)
from pytest_autoweb.results.records import Attempt

__all__ = [
    "CAPTURE",
    "EXECUTE",
    "GENERATE",
    "JUDGE",
    "LINT",
    "OPEN",
    "PLAN",
    "PLAN_AS_TASK",
    "REPAIR",
    "Attempt",
    "NamedStage",
    "Stage",
    "Tools",
    "ask",
    "change",
    "fail",
    "take_code",
]
