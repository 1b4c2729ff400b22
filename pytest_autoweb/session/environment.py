"""A run's environment: barriers around code and pages, browsers, versions.

The session's header shows it, and `run.json` keeps it.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

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
from pytest_autoweb.report.reported_agents import agents_by_hold, named_agents
from pytest_autoweb.sandbox.confined_program import LACKS
from pytest_autoweb.sandbox.levels import Layers
from pytest_autoweb.sandbox.worker_process import workers_of
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.settings.run_settings import SandboxLevel, Settings


class HeaderPart(NamedTuple):
    """What the session's header says of one barrier."""

    detail: str
    """The whole line, for a session with -v."""
    short: str = ""
    """A few words for the one line of other sessions; empty where -v is enough."""
    weaker: bool = False
    """This barrier is missing or holds less than usual, which no session may leave out."""


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
        return self._told.result().detail

    def header(self, run: RunSession) -> Iterator[HeaderPart]:
        """Yield a part for each barrier between generated code, pages and this machine."""
        sandbox = self._told.result()
        yield sandbox._replace(detail=f"autoweb sandbox: {sandbox.detail}")
        egress = self._egress(run)
        partial = egress.startswith("partial")
        short = "egress PARTIAL" if partial else f"egress by {egress}"
        yield HeaderPart(f"autoweb egress: {egress}", short, weaker=partial)
        if traffic := describe_traffic(self._settings):
            words = "traffic replayed" if self._settings.traffic == "replay" else "traffic recorded"
            yield HeaderPart(f"autoweb traffic: {traffic}", words)
        if run.browsers is not None:
            lines = [f"autoweb browsers elsewhere: {described(run.browsers.found)}"]
            if not run.browsers.reaches_proxy:
                lines += (f"  {line}" for line in (HOLDS, LOST))
            yield HeaderPart("\n".join(lines), "browsers elsewhere")
        if outside := run.outside_agents():
            loose = [agent for agent in outside if LACKS in agent.held]
            held = agents_by_hold(outside).items()
            detail = "\n".join(f"autoweb agents: {names}: {note}" for names, note in held)
            short = f"outside agents held: {named_agents(outside)}"
            if loose:
                short = f"agents NOT wholly held: {named_agents(loose)}"
            yield HeaderPart(detail, short, weaker=bool(loose))
        if own := self._own_sandbox:
            off = own.startswith("OFF")
            detail = f"autoweb browser: Chromium's own sandbox is {own}"
            yield HeaderPart(detail, "Chromium's own sandbox OFF" if off else "", weaker=off)

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


def short_header(parts: Iterable[HeaderPart]) -> str:
    """Return the header of a session without -v; what is weaker than usual stands in it."""
    told = [part for part in parts if part.short]
    more = " (-v says why)" if any(part.weaker for part in told) else ""
    return f"autoweb: {'; '.join(part.short for part in told)}{more}"


def _sandbox_layers(config: pytest.Config, level: SandboxLevel) -> HeaderPart:
    if config.hook.pytest_autoweb_engine.get_hookimpls():
        return HeaderPart(f"an engine of a plugin, at level {level}", "sandbox of a plugin")
    layers = workers_of(level).layers()
    if level == "off":
        detail = f"OFF! No kernel walls, no audit hook around generated code; only {layers}"
        return HeaderPart(detail, "sandbox OFF", weaker=True)
    if level == "strict":
        return HeaderPart(f"{layers} (strict)", "sandbox strict")
    if not layers.confined:
        detail = f"{layers}{_missing_walls(layers)}"
        return HeaderPart(detail, "sandbox WITHOUT kernel walls", weaker=True)
    return HeaderPart(str(layers), "sandbox on")


def _missing_walls(layers: Layers) -> str:
    """Say which walls a worker does without."""
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
