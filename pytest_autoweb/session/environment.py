"""A run's environment: barriers around code and pages, browsers, versions.

The session's header shows it, and `run.json` keeps it.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import SandboxError
from pytest_autoweb.browser.egress.chromium import (
    ASKED_FOR,
    ELSEWHERE,
    found_sandbox,
    planned_sandbox,
)
from pytest_autoweb.browser.egress.guarded_page import describe_egress
from pytest_autoweb.browser.egress.remote_browsers import HOLDS, LOST, described
from pytest_autoweb.cell.cell_recording import describe_traffic
from pytest_autoweb.report.reported_agents import NOT_HELD, named_agents
from pytest_autoweb.sandbox.levels import Layers
from pytest_autoweb.sandbox.worker_process import workers_of
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.settings.run_settings import SandboxLevel, Settings


class Environment:
    """The barriers and browsers of a session.

    Args:
        config: pytest's.
        settings: the session's.

    Raises:
        SandboxError: the settings require more of the browser than this machine has.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._settings = settings
        self.browsers = tuple(config.getoption("browser", None) or ("chromium",))
        # Finding out starts a worker, which takes a while; the gateway starts at the same time.
        thread = ThreadPoolExecutor(1, "autoweb-environment")
        self._told = thread.submit(_sandbox_layers, config, settings.sandbox)
        thread.shutdown(wait=False)
        own = self._own_sandbox
        if settings.browser_sandbox == "strict" and own != ASKED_FOR:
            why = own or "not there: no browser of this session is a Chromium"
            raise SandboxError(f"--autoweb-browser-sandbox=strict: Chromium's own sandbox is {why}")

    def layers(self) -> str:
        """Describe the layers that confine generated code, in one line.

        Raises:
            SandboxError: no worker starts, or it lacks walls that the settings require.
        """
        return self._told.result()

    def header(self, run: RunSession) -> Iterator[str]:
        """Yield a line for each barrier between generated code, pages and this machine."""
        yield f"autoweb sandbox: {self.layers()}"
        yield f"autoweb egress: {self._egress(run)}"
        if traffic := describe_traffic(self._settings):
            yield f"autoweb traffic: {traffic}"
        if run.browsers is not None:
            yield f"autoweb browsers elsewhere: {described(run.browsers.found)}"
            if not run.browsers.reaches_proxy:
                yield from (f"  {line}" for line in (HOLDS, LOST))
        if outside := run.outside_agents():
            yield f"autoweb agents: {named_agents(outside)}: {NOT_HELD}"
        if own := self._own_sandbox:
            yield f"autoweb browser: Chromium's own sandbox is {own}"

    def facts(self, run: RunSession) -> dict[str, str]:
        """Return the facts for `run.json`, once the run has ended."""
        return {
            **_versions(run.settings.rootdir),
            "browser": run.seen_browsers(),
            "sandbox": self.layers(),
            "browser_sandbox": found_sandbox(run.seen_sandboxes(), self._own_sandbox),
            **self._elsewhere(run),
        }

    def _elsewhere(self, run: RunSession) -> dict[str, str]:
        if run.browsers is None:
            return {}
        kept = "" if run.browsers.reaches_proxy else f"; {HOLDS}; {LOST}"
        return {
            "browsers_elsewhere": described(run.browsers.found),
            "egress": f"{self._egress(run)}{kept}",
        }

    def _egress(self, run: RunSession) -> str:
        pool = run.browsers
        if pool is not None and pool.reaches_proxy and pool.gap:
            return f"partial ({pool.gap})"
        return describe_egress(self.browsers, remote=pool is not None and not pool.reaches_proxy)

    @property
    def _own_sandbox(self) -> str:
        if self._settings.connect and "chromium" in self.browsers:
            return ELSEWHERE
        return planned_sandbox(self.browsers, self._settings.browser_sandbox)


def _sandbox_layers(config: pytest.Config, level: SandboxLevel) -> str:
    if config.hook.pytest_autoweb_engine.get_hookimpls():
        return f"an engine of a plugin, at level {level}"
    layers = workers_of(level).layers()
    if level == "off":
        return f"OFF! No kernel walls, no audit hook around generated code; only {layers}"
    if level == "strict":
        return f"{layers} (strict)"
    return f"{layers}{_missing_walls(layers)}"


def _missing_walls(layers: Layers) -> str:
    """Say what a worker goes without, where the kernel does not confine it entirely."""
    if layers.confined:
        return ""
    if sys.platform != "linux":
        return "; without walls of the kernel, which only Linux has"
    missing = ["Landlock"] * (not layers.landlock) + ["seccomp"] * (not layers.seccomp)
    return f"; without {' and '.join(missing)}, which this kernel does not offer"


def _versions(folder: Path) -> dict[str, str]:
    facts = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": str(os.cpu_count() or 0),
    }
    for package in ("pytest-autoweb", "pytest", "playwright", "pytest-playwright", "litellm"):
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if commit := _git_commit(folder):
        facts["git"] = commit
    return facts


def _git_commit(folder: Path) -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
