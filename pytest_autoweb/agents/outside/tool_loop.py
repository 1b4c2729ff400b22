"""The agents that are declared as tools: which command runs the loop that lets a model call them.

The loop is a program of its own, `templates/agents/tool_agent.py`. All that it is told stands in
its arguments, so the identity of such an agent is made like that of any other program.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.settings.agent_command import AgentCommand, CommandLineTools

_PYTHON = "{python}"


def with_loop(settings: AgentCommand) -> AgentCommand:
    """Return the settings as those of a program: for tools, the loop that lets a model call them.

    Args:
        settings: the settings of an agent.
    """
    if settings.tools is None:
        return settings
    script = asset_dir("templates") / "agents" / "tool_agent.py"
    command = (_PYTHON, "-I", str(script), *_arguments(settings))
    return settings.model_copy(update={"command": command, "mcp": None, "cli": None})


def _arguments(settings: AgentCommand) -> Iterator[str]:
    tools = settings.tools
    assert tools is not None
    yield "cli" if isinstance(tools, CommandLineTools) else "mcp"
    if tools.disabled:
        yield f"--disabled={','.join(tools.disabled)}"
    if tools.vision:
        yield f"--vision={','.join(tools.vision)}"
    yield f"--call-timeout={tools.call_timeout:g}"
    if isinstance(tools, CommandLineTools):
        # A word of its own, so that its content belongs to the agent's identity.
        yield from ("--skill", tools.skill)
        if tools.name:
            yield f"--name={tools.name}"
        if tools.start:
            yield f"--start={json.dumps(tools.start)}"
    elif tools.url is not None:
        yield f"--url={tools.url}"
    yield from ("--", *(tools.command or ()))


def check_skill(name: str, settings: AgentCommand, folder: Path) -> None:
    """Reject a command line whose skill does not exist.

    Args:
        name: the agent's name.
        settings: its settings.
        folder: the rootdir.

    Raises:
        SettingsError: there is no such file.
    """
    if settings.cli is not None and not (folder / settings.cli.skill).is_file():
        raise SettingsError(
            f"the skill of the agent {name!r} is not there: {folder / settings.cli.skill}"
        )
