"""The agents that this package can install, and the identity of an outside agent.

Each lives in its own folder below the user's cache, with its own Python or Node packages. It runs a
script from `templates/agents/`, which imports nothing from this package; for tools, that is the
loop which lets a model call them.

One result can replace another only if both come from the same agent, wherever it is installed. So
an agent's checksum covers only the last part of each path, but the contents of files and installed
packages.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_autoweb.agents.outside.agent_reach import level_of
from pytest_autoweb.agents.outside.tool_loop import with_loop
from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.variant_names import STRATEGY_NAMES
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import OutsideAgent
from pytest_autoweb.sandbox.confined_program import hold_of
from pytest_autoweb.settings.agent_command import (
    COMMAND,
    AgentCommand,
    CommandLineTools,
    McpTools,
)
from pytest_autoweb.settings.run_settings import Settings as RunSettings

HOME = "AUTOWEB_AGENTS_DIR"
"""The variable that overrides the folder for agents in the user's cache."""

Settings = Callable[[], AgentCommand]
"""Returns the settings of an agent, or raises a `SettingsError` that says what is missing."""
_FILE_BYTES = 1_000_000
"""The size limit of a file that counts as part of the agent rather than as its interpreter."""


class Adapter(Struct, frozen=True):
    """An agent that is installed with `autoweb agents install`."""

    name: str
    script: str = ""
    """A file of `templates/agents/`; empty for tools, which the loop of this package drives."""
    arguments: tuple[str, ...] = ()
    """The script's arguments before the agent's folder."""
    tools: McpTools | CommandLineTools | None = None
    """Tools that the model calls; `{packages}` is the folder of its npm packages."""
    python: tuple[str, ...] = ()
    """Requirements for pip, installed in a dedicated virtual environment."""
    alone: tuple[str, ...] = ()
    """Requirements that pip installs without their dependencies."""
    node: tuple[str, ...] = ()
    """Packages for npm, installed in a dedicated folder."""
    node_needed: tuple[int, int] = (18, 0)
    """The lowest version of Node that they run on. Where there is an older one, a newer one is
    installed from npm too, for this agent alone."""
    env: Mapping[str, str] | None = None
    """Environment variables, such as those that turn off telemetry."""

    @property
    def summary(self) -> str:
        """Return one sentence for help texts."""
        return STRATEGY_NAMES[self.name].summary

    @property
    def folder(self) -> Path:
        """Return the folder in which it is, or would be, installed."""
        return agents_folder() / self.name

    @property
    def interpreter(self) -> Path:
        """Return the Python or Node interpreter that runs the script."""
        if self.script.endswith(".mjs"):
            return self.node_program
        if not self.python:
            return Path(sys.executable)
        windows = self.folder / "venv" / "Scripts" / "python.exe"
        return windows if os.name == "nt" else self.folder / "venv" / "bin" / "python"

    @property
    def node_program(self) -> Path:
        """Return the Node that runs its packages: its own one if it has one."""
        own = self.folder / "node_modules" / _NODE_PACKAGE / _NODE_FILE
        return own if own.is_file() else Path(shutil.which("node") or "node")

    @property
    def is_installed(self) -> bool:
        """Return whether all its requirements are installed in the required versions."""
        pins = {pin for pin in self.packages if _PIN.search(pin)}
        return self.interpreter.is_file() and pins <= set(self._installed())

    @property
    def packages(self) -> tuple[str, ...]:
        """Return all packages requested from pip and npm, the main one first."""
        return (*self.alone, *self.python, *self.node)

    @property
    def version(self) -> str:
        """Return the versions of its packages, the main one first."""
        return ", ".join(" ".join(_PIN.split(pin)) for pin in self.packages if _PIN.search(pin))

    def _installed(self) -> list[str]:
        """Return all packages in its folder, each with its version."""
        file = self.folder / INSTALLED
        return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []

    def settings(self) -> AgentCommand:
        """Return the settings that run it.

        Raises:
            SettingsError: it is not installed.
        """
        if not self.is_installed:
            raise SettingsError(
                f"the agent {self.name!r} is not installed; run: autoweb agents install {self.name}"
            )
        env = dict(self.env or {})
        if self.tools is not None:
            kind = "mcp" if isinstance(self.tools, McpTools) else "cli"
            tools = {kind: self._placed(self.tools)}
            return AgentCommand.model_validate({**tools, "env": env, "version": self.version})
        script = asset_dir("templates") / "agents" / self.script
        isolated = () if script.suffix == ".mjs" else ("-I",)
        run = (str(self.interpreter), *isolated, str(script))
        return AgentCommand(
            command=(*run, *self.arguments, str(self.folder)),
            env=env,
            version=self.version,
        )

    def _placed(self, tools: McpTools | CommandLineTools) -> dict[str, Any]:
        """Return the settings of its tools with the places of its packages and of Node."""
        text = tools.model_dump_json(exclude_unset=True)
        packages = str(self.folder / "node_modules")
        for placeholder, path in (("{packages}", packages), ("{node}", str(self.node_program))):
            text = text.replace(placeholder, json.dumps(path)[1:-1])
        placed: dict[str, Any] = json.loads(text)
        return placed

    def install(self, tell: Callable[[str], None]) -> None:
        """Install its requirements, replacing any earlier installation.

        Args:
            tell: called with one line before each step.

        Raises:
            SettingsError: a step failed; the message is the end of its output.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.python:
            tell(f"a virtual environment in {self.folder / 'venv'}")
            venv.create(self.folder / "venv", with_pip=True)
            tell(f"pip install {' '.join(self.python)}")
            pip = [str(self.interpreter), "-m", "pip"]
            _run([*pip, "install", "-q", *self.python], self.folder)
            if self.alone:
                tell(f"pip install --no-deps {' '.join(self.alone)}")
                _run([*pip, "install", "-q", "--no-deps", *self.alone], self.folder)
        if self.node:
            self._install_node(tell)
        (self.folder / INSTALLED).write_text("\n".join(self._packages()) + "\n", encoding="utf-8")

    def _install_node(self, tell: Callable[[str], None]) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise SettingsError(f"the agent {self.name!r} needs Node.js: npm was not found")
        packages = list(self.node)
        if _node_version() < self.node_needed:
            needed = ".".join(map(str, self.node_needed))
            tell(f"Node.js here is older than {needed}, so the agent gets its own")
            packages.append(f"{_NODE_PACKAGE}@{_NODE_OWN}")
        tell(f"npm install {' '.join(packages)}")
        # It uses the cell's browser, so none has to be downloaded.
        skip = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
        # Without a prefix, npm would install into the project around the folder, if any.
        here = ("--prefix", str(self.folder), "--no-fund", "--no-audit")
        _run([npm, "install", *here, *packages], self.folder, skip)

    def _packages(self) -> list[str]:
        found: list[str] = []
        if self.python:
            listing = [str(self.interpreter), "-m", "pip", "freeze", "--disable-pip-version-check"]
            found += _run(listing, self.folder).splitlines()
        lock = self.folder / "node_modules" / ".package-lock.json"
        if self.node:
            packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
            found += [
                f"{path.rpartition('node_modules/')[2]}@{package['version']}"
                for path, package in packages.items()
            ]
        return sorted(found)


INSTALLED = "installed.txt"
"""The file in an adapter's folder that lists the installed packages; written last."""
_TAIL = 1_500
_PIN = re.compile(r"==|(?<=.)@")
_PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83"
_CHROME_DEVTOOLS = "{packages}/chrome-devtools-mcp"
_NODE_OWN = "24.9.0"
_SYSTEM = {"win32": "win", "darwin": "darwin"}.get(sys.platform, "linux")
_CHIP = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
# npm has Node itself, under a name for each system.
_NODE_PACKAGE = f"node-{'bin-' if (_SYSTEM, _CHIP) == ('darwin', 'arm64') else ''}{_SYSTEM}-{_CHIP}"
_NODE_FILE = "bin/node.exe" if _SYSTEM == "win" else "bin/node"

ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            name="browser-use",
            script="browser_use_agent.py",
            python=("browser-use==0.13.14",),
            env={"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_CLOUD_SYNC": "false"},
        ),
        Adapter(
            name="browsergym",
            script="browsergym_agent.py",
            python=("browsergym-core==0.14.3",),
        ),
        Adapter(
            name="agentlab",
            script="agentlab_agent.py",
            # AgentLab requires Ray, PyTorch, Gradio and more for its studies; the agent uses none
            # of them.
            alone=("agentlab==0.4.2",),
            python=(
                "browsergym-core==0.14.3",
                "browsergym-experiments==0.14.3",
                "openai==1.109.1",
                "anthropic",
                "pandas",
                "pyyaml",
                "requests",
                "tiktoken",
            ),
        ),
        Adapter(
            name="claude-code",
            script="coding_agent.py",
            arguments=("claude-code",),
            node=("@anthropic-ai/claude-code@2.1.332", _PLAYWRIGHT_MCP),
        ),
        Adapter(
            name="codex",
            script="coding_agent.py",
            arguments=("codex",),
            node=("@openai/codex@0.171.0", _PLAYWRIGHT_MCP),
        ),
        Adapter(
            name="playwright-mcp",
            tools=McpTools(
                command=(
                    *("{node}", "{packages}/@playwright/mcp/cli.js", "--cdp-endpoint"),
                    # Otherwise actions answer with the name of a file, which no tool can read.
                    *("{cdp_url}", "--output-dir", "{folder}", "--snapshot-mode", "none"),
                ),
                # The browser is the cell's, and so is what is kept of it; code would run outside.
                disabled=(
                    *("browser_close", "browser_install", "browser_pdf_save"),
                    "browser_run_code_unsafe",
                ),
                vision=("browser_take_screenshot",),
            ),
            node=(_PLAYWRIGHT_MCP,),
        ),
        Adapter(
            name="chrome-devtools-mcp",
            tools=McpTools(
                command=(
                    *("{node}", f"{_CHROME_DEVTOOLS}/build/src/bin/chrome-devtools-mcp.js"),
                    *("--browserUrl", "{cdp_url}", "--workspace", "{folder}"),
                    *("--no-usage-statistics", "--no-performance-crux"),
                ),
                vision=("take_screenshot",),
            ),
            node=("chrome-devtools-mcp@1.11.0",),
            node_needed=(20, 19),
        ),
        Adapter(
            name="playwright-cli",
            tools=CommandLineTools(
                command=("{node}", "{packages}/@playwright/cli/playwright-cli.js"),
                skill="{packages}/@playwright/cli/skills/playwright-cli/SKILL.md",
                name="playwright-cli",
                start=(("attach", "--cdp={cdp_url}", "--session={session}"),),
                # These start or leave a browser, install something, or run code outside of it.
                disabled=(
                    *("open", "attach", "close", "detach", "close-all", "kill-all", "delete-data"),
                    *("install", "install-browser", "run-code", "show", "-s", "--session"),
                ),
                vision=("screenshot",),
            ),
            node=("@playwright/cli@0.1.22",),
            env={"PLAYWRIGHT_CLI_SESSION": "{session}"},
        ),
        Adapter(
            name="agent-browser",
            tools=CommandLineTools(
                command=(
                    *("{node}", "{packages}/agent-browser/bin/agent-browser.js"),
                    *("--session", "{session}", "--cdp", "{cdp_port}"),
                ),
                skill="{packages}/agent-browser/skill-data/core/SKILL.md",
                name="agent-browser",
                start=(("get", "url"),),
                disabled=(
                    *("close", "connect", "install", "upgrade", "doctor", "chat", "dashboard"),
                    *("mcp", "plugin", "--session", "--cdp", "--auto-connect", "--profile"),
                    *("--executable-path", "--provider", "-p"),
                ),
                vision=("screenshot",),
            ),
            node=("agent-browser@0.41.2",),
            env={"AGENT_BROWSER_SOCKET_DIR": "{sockets}"},
        ),
        Adapter(
            name="stagehand",
            script="stagehand_agent.mjs",
            node=("@browserbasehq/stagehand@3.7.3",),
        ),
    )
}
"""The agents that can be installed, by name."""


def agents_folder() -> Path:
    if given := os.environ.get(HOME):
        return Path(given)
    return cache_folder("agents")


def _node_version() -> tuple[int, int]:
    """Return the version of Node on the PATH; zeros if there is none."""
    node = shutil.which("node")
    found = re.search(r"v(\d+)\.(\d+)", _run([node, "--version"], Path.cwd())) if node else None
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _run(command: list[str], folder: Path, more: Mapping[str, str] | None = None) -> str:
    env = {**os.environ, **(more or {})}
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-_TAIL:].strip()
        raise SettingsError(f"{' '.join(command[:4])} failed:\n{said}")
    return done.stdout


def declared_in_case() -> AgentCommand:
    """Reject the agent `command` where neither the model nor the case declares one."""
    raise SettingsError(
        f"the agent {COMMAND!r} is the one that a case or a model's settings declare, as "
        "`agent: {command: [...]}`, and here neither does"
    )


def settings_of(given: Settings, spec: ModelSpec, own: AgentCommand | None) -> AgentCommand:
    """Return the settings that run an agent for a cell.

    Args:
        given: returns the settings under which the agent is registered; `declared_in_case` stands
            for those of the model or the case.
        spec: the cell's model, which may name a program.
        own: the program that the case names; None if it names none.

    Raises:
        SettingsError: the agent is not installed, or no program is named.
    """
    if given is not declared_in_case:
        return given()
    if isinstance(spec.agent, AgentCommand):
        return spec.agent
    return own or given()


def identity_of(
    name: str, given: Settings, spec: ModelSpec, own: AgentCommand | None, session: RunSettings
) -> OutsideAgent:
    """Return the identity of a cell's agent; a missing agent has neither command nor checksum.

    Args:
        name: the agent's name.
        given: see `settings_of`.
        spec: the cell's model.
        own: the program that the case names, if any.
        session: the settings of the session.
    """
    try:
        settings = with_loop(settings_of(given, spec, own))
    except SettingsError:
        return OutsideAgent(name=name)
    return OutsideAgent(
        name=name,
        version=settings.version,
        command=tuple(_word(word) for word in settings.command),
        checksum=_checksum(settings, session.rootdir),
        held=str(hold_of(level_of(settings, session.sandbox))),
    )


def _checksum(settings: AgentCommand, folder: Path) -> str:
    made_of: dict[str, Any] = settings.model_dump(mode="json", exclude={"command", "mcp", "cli"})
    made_of["command"] = [[_word(word), _content(folder / word)] for word in settings.command]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _word(word: str) -> str:
    """Return an argument without its folder on this machine."""
    return Path(word).name if Path(word).is_absolute() else word


def _content(path: Path) -> str:
    """Return a checksum of the script or package folder that a word of the command names."""
    file = path / INSTALLED if path.is_dir() else path
    if "node_modules" in path.parts:
        # A program of an installed package is made of all packages beside it.
        packages = Path(*path.parts[: path.parts.index("node_modules")]) / INSTALLED
        file = packages if packages.is_file() else file
    try:
        if file.stat().st_size > _FILE_BYTES or not file.is_file():
            return ""
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError):
        # Most words are not paths.
        return ""
