"""The browser of an outside agent, held as the agent is.

A client of a browser can have it open `file:` addresses, upload files and save downloads anywhere,
so a browser that is not held would be the agent's way around what holds the agent itself.
"""

import os
import shlex
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import BrowserType

from pytest_autoweb.agents.outside.agent_reach import DEVICES, SYSTEM
from pytest_autoweb.browser.egress.chromium import obstacle
from pytest_autoweb.sandbox.confined_program import ProgramReach, confined, walls_here

HELD_BROWSER = "aw-browser-"
"""How the name of a held browser's folder begins."""

_SETTINGS = ("/etc/chromium", "/etc/chromium.d", "/etc/opt")
_FONTS = (".fonts", ".local/share/fonts", ".config/fontconfig")
# It listens on a port that the kernel chooses, for its clients.
_ANY_PORT = 0
_TASKS = 5_000


class HeldLaunch(NamedTuple):
    """How a held browser is launched."""

    folder: "tempfile.TemporaryDirectory[str]"
    """All that it may change; to be deleted when it has ended."""
    profile: str
    arguments: dict[str, Any]


def held_launch(
    browser_type: BrowserType, arguments: dict[str, Any], files: Iterable[str]
) -> HeldLaunch | None:
    """Return how to launch a Chromium that reaches its own folder, its proxy and files to upload.

    Args:
        browser_type: Chromium.
        arguments: the arguments of `launch_persistent_context`.
        files: what it may read besides its own installation and the system.

    Returns:
        None where it cannot be held: without Landlock for ports, with a window, with a browser
        that Playwright finds by itself, and where only a helper with rights of root starts it.
    """
    executable = _executable(browser_type, arguments)
    proxy = urlsplit((arguments.get("proxy") or {}).get("server", "")).port
    windowless = arguments.get("headless") is not False
    if walls_here().landlock < 4 or not (executable and proxy and windowless):
        return None
    if os.geteuid() and obstacle():
        return None
    folder = tempfile.TemporaryDirectory(prefix=HELD_BROWSER, ignore_cleanup_errors=True)
    own = Path(folder.name)
    profile, downloads, start = own / "profile", own / "downloads", own / "start"
    profile.mkdir()
    downloads.mkdir()
    program = executable.resolve()
    fonts = (str(Path.home() / name) for name in _FONTS)
    # Chromium's own sandbox writes into the entries of its processes, which are its user's alone.
    processes = ("/proc",) if os.geteuid() else ()
    reach = ProgramReach(
        read=(*SYSTEM, *_SETTINGS, *fonts, str(executable), str(program.parent), *files),
        write=(folder.name, *DEVICES, *processes),
        ports=(proxy, _ANY_PORT),
        processes=_TASKS,
    )
    command = shlex.join(confined([str(executable)], reach))
    start.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    start.chmod(0o700)
    env = {**(arguments.get("env") or os.environ), "HOME": folder.name, "TMPDIR": folder.name}
    given = {
        "executable_path": str(start),
        "downloads_path": str(downloads),
        "env": env,
        # Memory that all processes share has no place among its own files.
        "args": [*(arguments.get("args") or ()), "--disable-dev-shm-usage"],
    }
    return HeldLaunch(folder, str(profile), {**arguments, **given})


def _executable(browser_type: BrowserType, arguments: dict[str, Any]) -> Path | None:
    """Return the file of the browser that Playwright would start, if that can be told."""
    if arguments.get("channel"):
        return None
    if given := arguments.get("executable_path"):
        return Path(given)
    full = Path(browser_type.executable_path)
    for folder in full.parents:
        # Without a window, Playwright starts another build, from a folder of the same revision.
        if folder.name.startswith("chromium-"):
            shell = folder.parent / folder.name.replace("chromium-", "chromium_headless_shell-")
            return next(shell.glob("*/*headless*shell"), None)
    return None
