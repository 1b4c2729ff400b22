"""The agents that this package can install, and the identity of an outside agent.

Each lives in its own folder below the user's cache, with its own Python or Node packages. It runs a
script from `templates/agents/`, which imports nothing from this package.

One result can replace another only if both come from the same agent, wherever it is installed. So
an agent's checksum covers only the last part of each path, but the contents of files and installed
packages.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_autoweb.agents.outside.agent_reach import level_of
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.variant_names import STRATEGY_NAMES
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import OutsideAgent
from pytest_autoweb.sandbox.confined_program import hold_of
from pytest_autoweb.settings.agent_command import COMMAND, AgentCommand
from pytest_autoweb.settings.run_settings import Settings as RunSettings

HOME = "AUTOWEB_AGENTS_DIR"
"""The variable that overrides the folder for agents in the user's cache."""

Settings = Callable[[], AgentCommand]
"""Returns the settings of an agent, or raises a `SettingsError` that says what is missing."""
_FILE_BYTES = 1_000_000
"""The size limit of a file that counts as part of the agent rather than as its interpreter."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An agent that is installed with `autoweb agents install`."""

    name: str
    script: str
    """A file of `templates/agents/`."""
    python: tuple[str, ...] = ()
    """Requirements for pip, installed in a dedicated virtual environment."""
    alone: tuple[str, ...] = ()
    """Requirements that pip installs without their dependencies."""
    node: tuple[str, ...] = ()
    """Packages for npm, installed in a dedicated folder."""
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
            return Path(shutil.which("node") or "node")
        if not self.python:
            return Path(sys.executable)
        windows = self.folder / "venv" / "Scripts" / "python.exe"
        return windows if os.name == "nt" else self.folder / "venv" / "bin" / "python"

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
        script = asset_dir("templates") / "agents" / self.script
        isolated = () if script.suffix == ".mjs" else ("-I",)
        return AgentCommand(
            command=(str(self.interpreter), *isolated, str(script), str(self.folder)),
            env=dict(self.env or {}),
            version=self.version,
        )

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
            npm = shutil.which("npm")
            if npm is None:
                raise SettingsError(f"the agent {self.name!r} needs Node.js: npm was not found")
            tell(f"npm install {' '.join(self.node)}")
            # It uses the cell's browser, so none has to be downloaded.
            skip = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
            # Without a prefix, npm would install into the project around the folder, if any.
            here = ("--prefix", str(self.folder), "--no-fund", "--no-audit")
            _run([npm, "install", *here, *self.node], self.folder, skip)
        (self.folder / INSTALLED).write_text("\n".join(self._packages()) + "\n", encoding="utf-8")

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
            script="claude_code_agent.py",
            node=("@anthropic-ai/claude-code@2.1.332", _PLAYWRIGHT_MCP),
        ),
        Adapter(
            name="codex",
            script="codex_agent.py",
            node=("@openai/codex@0.171.0", _PLAYWRIGHT_MCP),
        ),
        Adapter(
            name="playwright-mcp",
            script="playwright_mcp_agent.py",
            node=(_PLAYWRIGHT_MCP,),
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
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "pytest-autoweb" / "agents"


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
        settings = settings_of(given, spec, own)
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
    made_of: dict[str, Any] = settings.model_dump(mode="json", exclude={"command"})
    made_of["command"] = [[_word(word), _content(folder / word)] for word in settings.command]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _word(word: str) -> str:
    """Return an argument without its folder on this machine."""
    return Path(word).name if Path(word).is_absolute() else word


def _content(path: Path) -> str:
    """Return a checksum of the script or package folder that a word of the command names."""
    file = path / INSTALLED if path.is_dir() else path
    try:
        if file.stat().st_size > _FILE_BYTES or not file.is_file():
            return ""
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError):
        # Most words are not paths.
        return ""
