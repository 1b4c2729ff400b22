"""Run Python so that the package believes to be on another system; see `elsewhere`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SYSTEMS = ("win32", "darwin")
_FOLDER = Path(__file__).parent / "elsewhere"
_FIND_BROWSER = """
from playwright.sync_api import sync_playwright
from pytest_autoweb.browser.egress.chromium import launch_args
with sync_playwright() as playwright:
    own = playwright.chromium.executable_path
print(launch_args({}, playwright_executable=own).get("executable_path", own))
"""
_BROWSER = '#!/bin/sh\nexec "{browser}" --no-sandbox "$@"\n'


def pretending(system: str) -> dict[str, str]:
    """The environment in which the package sees another system."""
    path = os.pathsep.join(filter(None, (str(_FOLDER), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PRETENDED_SYSTEM": system, "PYTHONPATH": path, "PY_COLORS": "0"}


def run_elsewhere(system: str, folder: Path, *arguments: str) -> pytest.RunResult:
    """Run Python in a folder, on another system, with arguments such as `-m pytest`."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=pretending(system),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return pytest.RunResult(
        done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0
    )


def browser_for_root(folder: Path) -> dict[str, str]:
    """Variables with which Chromium starts although the package asks it for its own sandbox.

    Linux does not give that to root, nor in many containers; the package believes not to be there.
    """
    found = subprocess.run(
        [sys.executable, "-c", _FIND_BROWSER], capture_output=True, text=True, check=True
    )
    program = folder / "chromium-for-root"
    program.write_text(_BROWSER.format(browser=found.stdout.strip()), encoding="utf-8")
    program.chmod(0o755)
    nothing = folder / "no-browsers"
    return {"AUTOWEB_CHROMIUM": str(program), "PLAYWRIGHT_BROWSERS_PATH": str(nothing)}
