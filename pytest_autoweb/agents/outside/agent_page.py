"""The page of an outside agent, in a browser of its own to which the agent connects."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, BrowserType, Page

from pytest_autoweb.agents.outside.held_browser import held_launch
from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import ask_system

BLAMED = "agent"
"""Name of the evidence that a lost page or browser was under an agent's control."""
_PORT_FLAG = "--remote-debugging-port=0"
_PROFILE = re.compile(r"--user-data-dir=(.+?)(?: --|$)")
_PORT_FILE = "DevToolsActivePort"
_PORT_S = 10.0


def open_agent_page(
    browser_type: BrowserType,
    launch_args: dict[str, Any],
    context_args: dict[str, Any],
    held: Sequence[str] | None = None,
) -> Page:
    """Return the page of a new browser that listens for other programs on this machine.

    Args:
        browser_type: Chromium.
        launch_args: the launch arguments of cells' browsers.
        context_args: the arguments for the context.
        held: the files that a held browser may read besides its own; None if it is not held.

    Raises:
        BrowserError: the browser is not Chromium.
    """
    if browser_type.name != "chromium":
        raise BrowserError(
            f"outside agents connect to Chromium, and this session runs {browser_type.name}"
        )
    # A default context accepts a storage state only after it was created.
    state = context_args.get("storage_state")
    arguments = {**launch_args, **context_args}
    arguments.pop("storage_state", None)
    arguments["args"] = [*(launch_args.get("args") or ()), _PORT_FLAG]
    hold = None if held is None else held_launch(browser_type, arguments, held)
    profile, arguments = (hold.profile, hold.arguments) if hold else ("", arguments)
    context: BrowserContext = browser_type.launch_persistent_context(profile, **arguments)
    if hold:
        context.on("close", lambda _: hold.folder.cleanup())
    if state is not None:
        context.set_storage_state(state)
    return context.pages[0] if context.pages else context.new_page()


def debugging_address(page: Page) -> str:
    """Return the URL at which the page's browser listens, on this machine only.

    Raises:
        BrowserError: it does not listen.
    """
    profile = profile_of(page)
    deadline = time.monotonic() + _PORT_S
    while profile and time.monotonic() < deadline:
        file = Path(profile) / _PORT_FILE
        # The browser writes the file while it starts.
        if file.is_file() and (lines := file.read_text(encoding="utf-8").splitlines()):
            return f"http://127.0.0.1:{lines[0]}"
        page.wait_for_timeout(50)
    raise BrowserError("the browser of an outside agent does not listen for it")


def profile_of(page: Page) -> str:
    """Return the folder of the browser's profile, or "" if it is not known."""
    browser = page.context.browser
    found = _PROFILE.search(_command_line(browser)) if browser else None
    return found[1] if found else ""


def _command_line(browser: Browser) -> str:
    (told,) = ask_system(browser, "getInfo")
    return str(told["commandLine"])


def target_of(page: Page) -> str:
    """Return the id that identifies the page to CDP clients."""
    session = page.context.new_cdp_session(page)
    try:
        return str(session.send("Target.getTargetInfo")["targetInfo"]["targetId"])
    finally:
        session.detach()
