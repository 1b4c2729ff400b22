"""Which Chromium to start, and with which flags."""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_autoweb.errors import BrowserError

_HEADLESS_ONLY = "chromium-headless-shell"
"""Debian's build without a window: starts and renders in about two thirds of the time."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
_WINDOWS = (
    r"Chromium\Application\chrome.exe",
    r"Google\Chrome\Application\chrome.exe",
    r"Microsoft\Edge\Application\msedge.exe",
)
_QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
)
EGRESS_FLAGS = (
    # Else WebRTC sends datagrams past every proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
NO_NAMES_FLAG = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""Chromium looks up no name itself, also none that a page wants prefetched: the proxy does."""

_ENVIRON = re.compile(
    r"(?i)PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TMP|TEMP|DISPLAY|XAUTHORITY"
    r"|WAYLAND_DISPLAY|XDG_.*|DBUS_SESSION_BUS_ADDRESS|(?:LD|DYLD)_LIBRARY_PATH|FONTCONFIG_.*"
    r"|MESA_.*|LIBGL_.*|GTK_.*|CHROME_DEVEL_SANDBOX|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT"
    r"|USERPROFILE|USERNAME|(?:LOCAL)?APPDATA|PROGRAMDATA|PROGRAMFILES.*|PROGRAMW6432"
    r"|HOMEDRIVE|HOMEPATH|NUMBER_OF_PROCESSORS|PROCESSOR_ARCHITECTURE"
)


def system_chromium(*, headless: bool = True) -> Path | None:
    """The Chromium, Chrome or Edge of this machine; `AUTOWEB_CHROMIUM` names one outright.

    Args:
        headless: no window is wanted, so a build that has none is preferred.

    Raises:
        BrowserError: `AUTOWEB_CHROMIUM` names a file that does not exist.
    """
    if given := os.environ.get("AUTOWEB_CHROMIUM"):
        if (found := shutil.which(given)) is None:
            raise BrowserError(f"AUTOWEB_CHROMIUM names {given!r}, which is no executable file")
        return Path(found)
    return next((path for path in _candidates(headless) if path.is_file()), None)


def _candidates(headless: bool) -> Iterator[Path]:
    for name in (_HEADLESS_ONLY, *_NAMES) if headless else _NAMES:
        if found := shutil.which(name):
            yield Path(found)
    if sys.platform == "darwin":
        yield from map(Path, _MAC)
    if sys.platform == "win32":
        for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
            if folder := os.environ.get(variable):
                yield from (Path(folder) / tail for tail in _WINDOWS)


def cell_launch_args(
    base: dict[str, Any], environ: Mapping[str, str], *, alone: bool
) -> dict[str, Any]:
    """Launch arguments for a Chromium that runs cells: held to its proxy, and told no keys.

    Args:
        base: the arguments as they are.
        environ: of this process; what a browser needs of it is passed on.
        alone: nothing but cells uses the browser, so that it needs no names of its own.
    """
    flags = (*EGRESS_FLAGS, NO_NAMES_FLAG) if alone else EGRESS_FLAGS
    return {"env": browser_environ(environ), **_with_flags(base, flags)}


def browser_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a browser needs; keys of model providers are not among them."""
    return {name: value for name, value in environ.items() if _ENVIRON.fullmatch(name)}


def launch_args(
    base: dict[str, Any], *, playwright_executable: str, browser_name: str = "chromium"
) -> dict[str, Any]:
    """Launch arguments that find a browser where Playwright's own was not downloaded.

    Args:
        base: the arguments as they are, e.g. of pytest-playwright's fixture.
        playwright_executable: `browser_type.executable_path`.
        browser_name: other browsers than `chromium` are left alone.

    Raises:
        BrowserError: there is no browser at all.
    """
    if browser_name != "chromium":
        return dict(base)
    chosen = base.get("executable_path") or base.get("channel")
    headless = base.get("headless") is not False
    if chosen or _is_installed(playwright_executable, headless=headless):
        return _with_flags(base, _root_flags())
    if (found := system_chromium(headless=headless)) is None:
        raise BrowserError(
            "no Chromium was found; run `playwright install chromium` or "
            "`apt-get install chromium`, or set AUTOWEB_CHROMIUM to its path"
        )
    return {**_with_flags(base, (*_root_flags(), *_QUIET)), "executable_path": str(found)}


def _is_installed(executable: str, *, headless: bool) -> bool:
    path = Path(executable)
    if path.is_file():
        return True
    # Headless runs use another download, whose folder has the same revision in its name.
    for folder in path.parents:
        if headless and folder.name.startswith("chromium-"):
            shell = folder.name.replace("chromium-", "chromium_headless_shell-")
            return (folder.parent / shell).is_dir()
    return False


def describe_own_sandbox(browsers: Collection[str]) -> str:
    """Whether Chromium holds its pages by its own means, in a line; empty: it is not used."""
    if "chromium" not in browsers:
        return ""
    return "OFF, because pytest runs as root" if _root_flags() else "on"


def _root_flags() -> tuple[str, ...]:
    # Chromium refuses to start its sandbox as root, and then does not start at all.
    is_root = sys.platform == "linux" and os.geteuid() == 0
    return ("--no-sandbox",) if is_root else ()


def _with_flags(base: dict[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    given = list(base.get("args") or [])
    missing = [flag for flag in flags if flag not in given]
    return {**base, "args": [*given, *missing]} if missing else dict(base)
