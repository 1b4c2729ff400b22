"""The agents that this package can install: what each needs, where it lives, how it is started.

Each lives in a folder of its own below the user's cache, with its own Python or Node packages. What
is started there is a script of `templates/agents/`, which imports nothing of this package.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_autoweb.assets import asset_dir
from pytest_autoweb.cases.case import AgentCommand
from pytest_autoweb.errors import SettingsError

HOME = "AUTOWEB_AGENTS_DIR"
"""The variable that names another folder for agents than the one in the user's cache."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An agent that is installed with `autoweb agents install`."""

    name: str
    summary: str
    script: str
    """A file of `templates/agents/`."""
    python: tuple[str, ...] = ()
    """Requirements for pip, in a virtual environment of its own."""
    node: tuple[str, ...] = ()
    """Packages for npm, in a folder of its own."""
    env: Mapping[str, str] | None = None
    """Environment variables, such as those that turn reports to its makers off."""

    @property
    def folder(self) -> Path:
        """Return where it is, or would be installed."""
        return agents_folder() / self.name

    @property
    def interpreter(self) -> Path:
        """Return the Python that runs the script."""
        if not self.python:
            return Path(sys.executable)
        windows = self.folder / "venv" / "Scripts" / "python.exe"
        return windows if os.name == "nt" else self.folder / "venv" / "bin" / "python"

    @property
    def is_installed(self) -> bool:
        """Tell whether all that it needs is there."""
        return (self.folder / _DONE).is_file() and self.interpreter.is_file()

    def settings(self) -> AgentCommand:
        """Return how it is run.

        Raises:
            SettingsError: it is not installed.
        """
        if not self.is_installed:
            raise SettingsError(
                f"the agent {self.name!r} is not installed; run: autoweb agents install {self.name}"
            )
        script = asset_dir("templates") / "agents" / self.script
        return AgentCommand(
            command=(str(self.interpreter), "-I", str(script), str(self.folder)),
            env=dict(self.env or {}),
        )

    def install(self, tell: Callable[[str], None]) -> None:
        """Fetch what it needs, in place of what was there.

        Args:
            tell: gets one line before each step.

        Raises:
            SettingsError: a step failed; the message is the end of what it said.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.python:
            tell(f"a virtual environment in {self.folder / 'venv'}")
            venv.create(self.folder / "venv", with_pip=True)
            tell(f"pip install {' '.join(self.python)}")
            _run([str(self.interpreter), "-m", "pip", "install", "-q", *self.python], self.folder)
        if self.node:
            npm = shutil.which("npm")
            if npm is None:
                raise SettingsError(f"the agent {self.name!r} needs Node.js: npm was not found")
            tell(f"npm install {' '.join(self.node)}")
            # Its browser is the cell's, so that none has to be downloaded.
            skip = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
            _run([npm, "install", "--no-fund", "--no-audit", *self.node], self.folder, skip)
        (self.folder / _DONE).write_text("\n".join((*self.python, *self.node)) + "\n")


_DONE = "installed.txt"
_TAIL = 1_500

ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            name="browser-use",
            summary="browser-use, an agent in Python",
            script="browser_use_agent.py",
            python=("browser-use==0.13.14",),
            env={"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_CLOUD_SYNC": "false"},
        ),
        Adapter(
            name="browsergym",
            summary="BrowserGym's view of the page and its actions, one a reply",
            script="browsergym_agent.py",
            python=("browsergym-core==0.14.3",),
        ),
        Adapter(
            name="playwright-mcp",
            summary="Playwright's MCP server, driven by a loop that calls its tools",
            script="playwright_mcp_agent.py",
            node=("@playwright/mcp@0.0.83",),
        ),
    )
}
"""The agents that can be installed, by name."""


def agents_folder() -> Path:
    """Return the folder that holds installed agents."""
    if given := os.environ.get(HOME):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "pytest-autoweb" / "agents"


def _run(command: list[str], folder: Path, more: Mapping[str, str] | None = None) -> None:
    env = {**os.environ, **(more or {})}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-_TAIL:].strip()
        raise SettingsError(f"{' '.join(command[:4])} failed:\n{said}")
