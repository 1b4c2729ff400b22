"""What runs an outside agent, as case files, settings of models and adapters declare it.

It is a program of its own, or tools that a loop of this package lets the model call: those of an
MCP server, or a command line.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from pytest_autoweb.base.errors import near_miss
from pytest_autoweb.base.specs import HttpUrl, Seconds, Spec

COMMAND = "command"
"""The name of an agent that a case file or a model's settings declare themselves."""
PLACEHOLDERS: Mapping[str, str] = {
    "cdp_url": "where the cell's browser listens, as http://127.0.0.1:PORT",
    "cdp_port": "the port of that address",
    "cdp_ws": "the address of its WebSocket",
    "target_id": "the page that the checks inspect",
    "entry_url": "its address",
    "folder": "an empty folder for this attempt, in which the tools work",
    "session": "a name that no other attempt has",
    "sockets": "a folder with a short path, as sockets need",
    "model_url": "the base URL of the cell's model, in OpenAI's form",
    "model_key": "its key",
    "model": "its name",
    "python": "the interpreter that runs pytest",
}
"""What a tool's command and environment may name in braces, as `{cdp_url}`, and what that is."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

Words = tuple[Annotated[str, Field(min_length=1)], ...]
Command = Annotated[Words, Field(min_length=1)]


class McpTools(Spec):
    """The tools of an MCP server."""

    command: Command | None = None
    """The server with its arguments, started without a shell and spoken to over its standard
    streams; `{cdp_url}` and others stand for what each attempt has."""
    url: HttpUrl | None = None
    """The address of a server that runs already, spoken to over streamable HTTP."""
    disabled: Words = ()
    """Tools that the model is not offered."""
    vision: Words = ()
    """Tools that answer with a picture, offered only to models with vision."""
    call_timeout: Seconds = 60.0
    """Seconds for a call of a tool."""

    @model_validator(mode="after")
    def _one_server(self) -> "McpTools":
        if (self.command is None) == (self.url is None):
            raise ValueError("takes one of command, url")
        return self


class CommandLineTools(Spec):
    """A command line that the model calls with arguments of its own, and a text about it."""

    command: Command
    """The program, with the arguments that the model does not choose; started without a shell."""
    skill: str = Field(min_length=1)
    """The file that tells a model how to use it, from the rootdir."""
    name: str = ""
    """What the skill calls the program; by default the name of its file."""
    start: tuple[Command, ...] = ()
    """Arguments of calls that come before the first of the model, to connect to the browser."""
    disabled: Words = ()
    """First arguments, and options, that the model must not use."""
    vision: Words = ()
    """First arguments that make a picture, only for models with vision."""
    call_timeout: Seconds = 60.0
    """Seconds for a call."""


PYTHON = "{python}"
"""The word of a command that stands for the interpreter that runs pytest."""

AgentPath = Annotated[str, Field(min_length=1)]


class AgentCommand(Spec):
    """An outside agent: a program of its own, or tools that a loop lets the model call."""

    command: Command = ()
    """The program with its arguments, started in the rootdir without a shell; `{python}` is the
    interpreter that runs pytest."""
    mcp: McpTools | None = None
    """An MCP server whose tools the model calls, in place of a program."""
    cli: CommandLineTools | None = None
    """A command line that the model calls, in place of a program."""
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

    @model_validator(mode="after")
    def _one_kind(self) -> "AgentCommand":
        kinds = [bool(self.command), self.mcp is not None, self.cli is not None]
        if sum(kinds) != 1:
            raise ValueError(
                "takes one of command (a program such as ['node', 'agent.mjs']), mcp, cli"
            )
        if self.tools is not None:
            _check_placeholders(self._texts())
        return self

    @property
    def tools(self) -> McpTools | CommandLineTools | None:
        """Return the tools that the loop lets the model call; None for a program."""
        return self.mcp or self.cli

    @property
    def programs(self) -> tuple[str, ...]:
        """Return the programs that it starts, as written."""
        first = (self.tools or self).command
        return first[:1] if first else ()

    @property
    def summary(self) -> str:
        """Return what it is, for help texts."""
        if self.mcp is not None and self.mcp.url is not None:
            return f"the tools of {self.mcp.url}"
        return self.programs[0] if self.tools is None else f"the tools of {self.programs[0]}"

    def _texts(self) -> Iterable[str]:
        yield from (self.tools and self.tools.command) or ()
        yield from self.env.values()
        if self.cli is not None:
            yield from (word for call in self.cli.start for word in call)
        if self.mcp is not None and self.mcp.url is not None:
            yield self.mcp.url


_LATER = {"mcp", "cli", "sandbox", "read", "write", "ports", "memory_mb", "processes"}
"""The settings that earlier versions did not know."""


def _check_placeholders(texts: Iterable[str]) -> None:
    for text in texts:
        for name in _PLACEHOLDER.findall(text):
            if name not in PLACEHOLDERS:
                raise ValueError(
                    f"unknown placeholder {{{name}}} in {text!r}{near_miss(name, PLACEHOLDERS)}"
                )
