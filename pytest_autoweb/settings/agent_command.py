"""The command of an outside agent, as case files, settings of models and adapters declare it."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pytest_autoweb.base.specs import Seconds, Spec

COMMAND = "command"
"""The name of an agent that a case file or a model's settings declare themselves."""

PYTHON = "{python}"
"""The word of a command that stands for the interpreter that runs pytest."""

AgentPath = Annotated[str, Field(min_length=1)]


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
    sandbox: Literal["auto", "strict", "off"] | None = None
    """Whether it is held: `auto` by what the kernel offers, `strict` by all of it or it does not
    run, `off` not at all. The default is `--autoweb-sandbox`."""
    read: tuple[AgentPath, ...] = ()
    """Files and folders that it may read besides, relative to the rootdir; `~` is your home."""
    write: tuple[AgentPath, ...] = ()
    """Files and folders that it may change besides its own folder."""
    ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = ()
    """TCP ports that it may connect to, on any host, and listen on, besides its endpoint's and its
    browser's. Names are looked up over port 53."""
    memory_mb: Annotated[int, Field(ge=50)] = 4000
    """Megabytes that it may use with all that it starts, not counting what is only reserved."""
    processes: Annotated[int, Field(ge=10)] = 1000
    """Processes and threads that it may have with all that it starts."""

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what earlier versions did not know, so that checksums of runs stay as they are.

        Where such a setting is not the default, it counts like all others.
        """
        fields: dict[str, Any] = written(self)
        return {
            name: value
            for name, value in fields.items()
            if name not in _LATER or getattr(self, name) != type(self).model_fields[name].default
        }


_LATER = {"sandbox", "read", "write", "ports", "memory_mb", "processes"}
