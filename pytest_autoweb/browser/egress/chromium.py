"""The Chromium to start, its flags, and its own sandbox.

Playwright starts Chromium without that sandbox unless told otherwise, so nothing is taken for
granted: what this machine allows is tried, and what is reported was read from the processes of a
browser that shows a page.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import playwright as playwright_package
from playwright.sync_api import Browser, Error, sync_playwright

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.whole_characters import read_json

ON = "on"
AS_ROOT = "pytest runs as root"
NO_NAMESPACES = "the kernel gives ordinary users no namespaces"
SWITCHED_OFF = "--autoweb-browser-sandbox=off"
ASKED_FOR = "asked for; the report says what the running browser has"
NO_SANDBOX_FLAG = "--no-sandbox"
OFF_BY_FLAG = f"OFF: the browser runs with {NO_SANDBOX_FLAG}"
ELSEWHERE = "unknown: the browser runs elsewhere"

# What Chromium does when it starts its sandbox: new namespaces of users, processes and network.
_PROBE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x70000000) != 0)"
_PROBE_TIMEOUT_S = 20
_HELPER = "chrome-sandbox"
# The value of `Seccomp:` in a process's status where a filter is installed.
_FILTERED = 2

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
_FEATURES = "--enable-features="
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


def obstacle(executable: str = "") -> str:
    """Say why Chromium cannot start its sandbox on this machine, or return "" if it can.

    Args:
        executable: the browser's file, beside which an installation may have a helper that needs
            no rights of the user.
    """
    if sys.platform != "linux":
        return ""
    # Chromium refuses to start as root unless it is told to do without its sandbox.
    if os.geteuid() == 0:
        return AS_ROOT
    return "" if _has_helper(executable) or _may_unshare() else NO_NAMESPACES


def planned_sandbox(browsers: Collection[str], level: str) -> str:
    """Say what will be asked of the browsers of a session, or return "" if none is a Chromium.

    Args:
        browsers: names of the kinds of browsers.
        level: the value of `--autoweb-browser-sandbox`.
    """
    if "chromium" not in browsers:
        return ""
    reason = SWITCHED_OFF if level == "off" else obstacle()
    return f"OFF, because {reason}" if reason else ASKED_FOR


def found_sandbox(seen: str, planned: str) -> str:
    """Return what to report: what was seen, with the reason where one is known.

    Args:
        seen: what `own_sandbox` said of the browsers, or "" if none was started.
        planned: what `planned_sandbox` said.
    """
    if not seen:
        return "unknown: no browser was started" if planned == ASKED_FOR else planned
    return planned if seen == OFF_BY_FLAG and planned.startswith("OFF") else seen


def _has_helper(executable: str) -> bool:
    folders = [Path(executable).resolve().parent / _HELPER] if executable else []
    for helper in (Path(os.environ.get("CHROME_DEVEL_SANDBOX", "")), *folders):
        if helper.is_file():
            found = helper.stat()
            if found.st_uid == 0 and found.st_mode & stat.S_ISUID:
                return True
    return False


@cache
def _may_unshare() -> bool:
    # Tried in a process of its own, which then ends; settings of kernels and containers that
    # forbid it are too many to be read.
    command = (sys.executable, "-I", "-S", "-c", _PROBE)
    try:
        tried = subprocess.run(command, capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def ask_system(browser: Browser, *asked: str) -> list[dict[str, Any]]:
    """Return what a Chromium says of itself, for each command of CDP's domain `SystemInfo`.

    Raises:
        Error: Playwright's, where the browser is gone or is no Chromium.
    """
    session = browser.new_browser_cdp_session()
    try:
        return [session.send(f"SystemInfo.{command}") for command in asked]
    finally:
        session.detach()


def own_sandbox(browser: Browser, *, elsewhere: bool = False) -> str:
    """Say what the processes of a running Chromium have, `on` or what is missing.

    Args:
        browser: a browser that shows a page, so that it has a renderer.
        elsewhere: its processes cannot be seen here, only how it was started.
    """
    try:
        info, told = ask_system(browser, "getInfo", "getProcessInfo")
        command, processes = str(info["commandLine"]), told["processInfo"]
    except Error:
        return "unknown: the browser does not tell its processes"
    if NO_SANDBOX_FLAG in command.split():
        return OFF_BY_FLAG
    if elsewhere:
        return ELSEWHERE
    if sys.platform != "linux":
        return ON
    renderers = [int(process["id"]) for process in processes if process["type"] == "renderer"]
    found = [layers_of(pid) for pid in renderers]
    if not found or not all(found):
        return "unknown: the renderer's process cannot be read"
    missing = sorted({layer for layers in found for layer in {"seccomp", "namespaces"} - layers})
    # A set of layers always holds "process", so that an unreadable process is told apart.
    return f"OFF: a renderer runs without {' and '.join(missing)}" if missing else ON


def layers_of(pid: int) -> set[str]:
    """Return which layers of the sandbox stand around a process, or nothing if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return set()
    layers = {"process"}
    seccomp = re.search(r"^Seccomp:\s*(\d+)", status, re.MULTILINE)
    if seccomp and int(seccomp[1]) == _FILTERED:
        layers.add("seccomp")
    # In a namespace of its own, a process has a second number.
    if len(_numbers(status)) > len(_own_numbers()):
        layers.add("namespaces")
    return layers


@cache
def _own_numbers() -> list[str]:
    return _numbers(Path("/proc/self/status").read_text(encoding="utf-8")) or ["1"]


def _numbers(status: str) -> list[str]:
    """Return the numbers of a process, one for each namespace that it is seen from."""
    found = re.search(r"^NSpid:(.*)$", status, re.MULTILINE)
    return found[1].split() if found else []


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


def substitute(given: Mapping[str, Any], playwright_executable: str) -> Path | None:
    """Return the Chromium of this machine that stands in for Playwright's own, which is missing.

    There is none where Playwright's is installed, where the launch arguments name another browser,
    and where the machine has no other.

    Args:
        given: the launch arguments.
        playwright_executable: `browser_type.executable_path`.

    Raises:
        BrowserError: `AUTOWEB_CHROMIUM` names a file that does not exist.
    """
    headless = given.get("headless") is not False
    if given.get("executable_path") or given.get("channel"):
        return None
    installed = _is_installed(playwright_executable, headless=headless)
    return None if installed else system_chromium(headless=headless)


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


def missing_browser(names: Collection[str], channel: str = "") -> str:
    """Return the sentence about a browser that this machine lacks, or "" if it has all of them.

    Args:
        names: the kinds of browsers, as Playwright calls them.
        channel: the distribution of Chromium that is wanted in place of Playwright's own.
    """
    own = set(names) - ({"chromium"} if channel else set())
    try:
        if not channel and all(map(_is_clearly_there, own)):
            return ""
        # Only Playwright itself knows all places where its browsers may be.
        with sync_playwright() as playwright:
            for name in sorted(own):
                _require(name, getattr(playwright, name).executable_path)
            if channel and "chromium" in names:
                playwright.chromium.launch(channel=channel).close()
    except BrowserError as error:
        return str(error)
    except Error as error:
        # Of a browser that is there and does not start each cell tells more.
        lacks = _LACKS.search(error.message)
        return f"{lacks[0]}; run `playwright install {channel}`" if lacks else ""
    return ""


_LACKS = re.compile(
    r"Chromium distribution '[^']*' is not (?:found|supported).*|Unsupported chromium channel.*"
)


def _require(name: str, executable: str) -> None:
    if name == "chromium":
        launch_args({}, playwright_executable=executable)
    elif not Path(executable).is_file():
        raise BrowserError(f"no {name} was found; run `playwright install {name}`")


def _is_clearly_there(name: str) -> bool:
    if name == "chromium" and system_chromium() is not None:
        return True
    # One of another version of Playwright is of no use.
    listed = Path(playwright_package.__file__).parent / "driver/package/browsers.json"
    try:
        browsers = read_json(listed.read_text(encoding="utf-8"))["browsers"]
        wanted = [f"{name}-{one['revision']}" for one in browsers if one["name"] == name]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return any((folder / one).is_dir() for folder in _playwright_folders() for one in wanted)


def _playwright_folders() -> list[Path]:
    if given := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return [Path(given)]
    caches = [Path.home() / one / "ms-playwright" for one in (".cache", "Library/Caches")]
    local = os.environ.get("LOCALAPPDATA")
    return [*caches, Path(local) / "ms-playwright"] if local else caches


def _sandboxed(base: dict[str, Any], executable: str, *, wanted: bool) -> dict[str, Any]:
    """Return launch arguments that turn Chromium's own sandbox on, or off where it cannot be."""
    if "chromium_sandbox" in base or NO_SANDBOX_FLAG in (base.get("args") or ()):
        return dict(base)
    # Where its sandbox cannot be set up, Chromium does not start unless it is told to do without.
    if not wanted or obstacle(executable):
        return _with_flags(base, (NO_SANDBOX_FLAG,))
    return {**base, "chromium_sandbox": True}


def with_feature(base: dict[str, Any], feature: str) -> dict[str, Any]:
    """Return launch arguments with a feature of Chromium switched on, beside those that are."""
    given = list(base.get("args") or [])
    named = [arg for arg in given if arg.startswith(_FEATURES)]
    features = dict.fromkeys(
        [one for arg in named for one in arg.removeprefix(_FEATURES).split(",")] + [feature]
    )
    # Of several such flags Chromium heeds one.
    kept = [arg for arg in given if arg not in named]
    return {**base, "args": [*kept, _FEATURES + ",".join(features)]}


def _with_flags(base: dict[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    given = list(base.get("args") or [])
    missing = [flag for flag in flags if flag not in given]
    return {**base, "args": [*given, *missing]} if missing else dict(base)
