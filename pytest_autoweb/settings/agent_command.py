"""The command of an outside agent, as case files, settings of models and adapters declare it."""

from typing import Annotated

from pydantic import Field

from pytest_autoweb.base.specs import Seconds, Spec

COMMAND = "command"
"""The name of an agent that a case file or a model's settings declare themselves."""


class AgentCommand(Spec):
    """An outside agent: a program of its own that drives the cell's browser (docs/agents.md)."""

    command: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """The program with its arguments, started in the rootdir without a shell; `{python}` is the
    interpreter that runs pytest."""
    timeout: Seconds | None = None
    """Wall-clock seconds for an attempt, apart from waiting for the model; the default is the
    case's `timeout`, but at least 120. Then the program is killed."""
    max_calls: Annotated[int, Field(ge=1)] = 100
    """The most calls of the model in an attempt."""
    secrets: bool = False
    """Whether it is told the values of the case's secrets; otherwise it skips cases that have
    some."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables for it, besides the few that every program needs."""
    version: str = ""
    """Which version of the agent it is, for the report; results of two versions are told apart."""
