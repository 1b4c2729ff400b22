"""The Chromium to start, and its flags."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_autoweb.egress.browser_sandbox import NO_SANDBOX_FLAG, obstacle
from pytest_autoweb.errors import BrowserError

# Debian's build without windows, which starts and renders in two thirds of the time.
_HEADLESS_ONLY = "chromium-headless-shell"
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
# These flags avoid requests and work of the browser that no page has asked for.
_QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
)
EGRESS_FLAGS = (
    # Otherwise WebRTC sends datagrams past every proxy.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# The exception is the address of the proxy itself.
NO_NAMES_FLAG = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""Makes Chromium resolve no names, not even for prefetching, because the proxy does it."""

# A list of what may pass, because keys of model providers must not reach the browser
# (docs/security.md).
_ENVIRON = re.compile(
    r"(?i)PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TMP|TEMP|DISPLAY|XAUTHORITY"
    r"|WAYLAND_DISPLAY|XDG_.*|DBUS_SESSION_BUS_ADDRESS|(?:LD|DYLD)_LIBRARY_PATH|FONTCONFIG_.*"
    r"|MESA_.*|LIBGL_.*|GTK_.*|CHROME_DEVEL_SANDBOX|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT"
    r"|USERPROFILE|USERNAME|(?:LOCAL)?APPDATA|PROGRAMDATA|PROGRAMFILES.*|PROGRAMW6432"
    r"|HOMEDRIVE|HOMEPATH|NUMBER_OF_PROCESSORS|PROCESSOR_ARCHITECTURE"
)


def system_chromium(*, headless: bool = True) -> Path | None:
    """Return a Chromium, Chrome or Edge of this machine; `AUTOWEB_CHROMIUM` overrides the choice.

    Args:
        headless: no window is needed, so a build without windows is preferred.

    Raises:
        BrowserError: `AUTOWEB_CHROMIUM` names a file that does not exist.
    """
    if given := os.environ.get("AUTOWEB_CHROMIUM"):
        # A wrong setting must not silently lead to another browser.
        if (found := shutil.which(given)) is None:
            raise BrowserError(f"AUTOWEB_CHROMIUM names {given!r}, which is not an executable file")
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
    """Return launch arguments for a Chromium that runs cells, confined to its proxy, without keys.

    Args:
        base: the arguments so far.
        environ: this process's environment; only what a browser needs is passed on.
        alone: only cells use the browser, so it need not resolve any names itself.
    """
    flags = (*EGRESS_FLAGS, NO_NAMES_FLAG) if alone else EGRESS_FLAGS
    return {"env": browser_environ(environ), **_with_flags(base, flags)}


def browser_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a browser needs; keys of model providers are not among them."""
    return {name: value for name, value in environ.items() if _ENVIRON.fullmatch(name)}


def launch_args(
    base: dict[str, Any],
    *,
    playwright_executable: str,
    browser_name: str = "chromium",
    own_sandbox: bool = True,
) -> dict[str, Any]:
    """Return launch arguments that use another browser if Playwright's own is not installed.

    They also turn Chromium's own sandbox on where the machine allows it, which Playwright does not.

    Args:
        base: the arguments so far, e.g. from pytest-playwright's fixture.
        playwright_executable: `browser_type.executable_path`.
        browser_name: for browsers other than `chromium` the arguments are unchanged.
        own_sandbox: whether Chromium's own sandbox is wanted.

    Raises:
        BrowserError: no browser was found.
    """
    if browser_name != "chromium":
        return dict(base)
    chosen = base.get("executable_path") or base.get("channel")
    headless = base.get("headless") is not False
    if chosen or _is_installed(playwright_executable, headless=headless):
        executable = str(base.get("executable_path") or playwright_executable)
        return _sandboxed(base, executable, wanted=own_sandbox)
    if (found := system_chromium(headless=headless)) is None:
        raise BrowserError(
            "no Chromium was found; run `playwright install chromium` or "
            "`apt-get install chromium`, or set AUTOWEB_CHROMIUM to its path"
        )
    args = _sandboxed(_with_flags(base, _QUIET), str(found), wanted=own_sandbox)
    return {**args, "executable_path": str(found)}


def _is_installed(executable: str, *, headless: bool) -> bool:
    path = Path(executable)
    if path.is_file():
        return True
    # Headless runs use a separate download, whose folder name contains the same revision.
    for folder in path.parents:
        if headless and folder.name.startswith("chromium-"):
            shell = folder.name.replace("chromium-", "chromium_headless_shell-")
            return (folder.parent / shell).is_dir()
    return False


def _sandboxed(base: dict[str, Any], executable: str, *, wanted: bool) -> dict[str, Any]:
    """Return launch arguments that turn Chromium's own sandbox on, or off where it cannot be."""
    if "chromium_sandbox" in base or NO_SANDBOX_FLAG in (base.get("args") or ()):
        return dict(base)
    # Where its sandbox cannot be set up, Chromium does not start unless it is told to do without.
    if not wanted or obstacle(executable):
        return _with_flags(base, (NO_SANDBOX_FLAG,))
    return {**base, "chromium_sandbox": True}


def _with_flags(base: dict[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    given = list(base.get("args") or [])
    missing = [flag for flag in flags if flag not in given]
    return {**base, "args": [*given, *missing]} if missing else dict(base)
