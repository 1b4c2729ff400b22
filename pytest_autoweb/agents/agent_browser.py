"""The browser of an outside agent: one for its cell alone, which other programs can connect to.

A second client of a browser sees the pages of all its contexts, and opens new ones outside of those
that are recorded (docs/agents.md). So the cell gets a browser that has only one context, the
default one, with the cell's egress proxy for all of it.
"""

import re
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, BrowserType, Page

from pytest_autoweb.errors import BrowserError

_PORT_FLAG = "--remote-debugging-port=0"
_PROFILE = re.compile(r"--user-data-dir=(.+?)(?: --|$)")
_PORT_FILE = "DevToolsActivePort"
_PORT_S = 10.0


def open_agent_page(
    browser_type: BrowserType, launch_args: dict[str, Any], context_args: dict[str, Any]
) -> Page:
    """Return the page of a new browser that listens for other programs on this machine.

    Args:
        browser_type: Chromium.
        launch_args: how browsers of cells are launched.
        context_args: the arguments for the context.

    Raises:
        BrowserError: the browser is no Chromium.
    """
    if browser_type.name != "chromium":
        raise BrowserError(
            f"outside agents connect to Chromium, and this session runs {browser_type.name}"
        )
    # A default context takes the state of its storage only once it is there.
    state = context_args.get("storage_state")
    arguments = {**launch_args, **context_args}
    arguments.pop("storage_state", None)
    arguments["args"] = [*(launch_args.get("args") or ()), _PORT_FLAG]
    context: BrowserContext = browser_type.launch_persistent_context("", **arguments)
    if state is not None:
        context.set_storage_state(state)
    return context.pages[0] if context.pages else context.new_page()


def debugging_address(page: Page) -> str:
    """Return the URL at which the page's browser listens, for this machine only.

    Raises:
        BrowserError: it does not listen.
    """
    browser = page.context.browser
    found = _PROFILE.search(_command_line(browser)) if browser else None
    deadline = time.monotonic() + _PORT_S
    while found and time.monotonic() < deadline:
        file = Path(found[1]) / _PORT_FILE
        # The browser writes it while it starts.
        if file.is_file() and (lines := file.read_text(encoding="utf-8").splitlines()):
            return f"http://127.0.0.1:{lines[0]}"
        page.wait_for_timeout(50)
    raise BrowserError("the browser of an outside agent does not listen for it")


def _command_line(browser: Browser) -> str:
    session = browser.new_browser_cdp_session()
    try:
        return str(session.send("SystemInfo.getInfo")["commandLine"])
    finally:
        session.detach()


def target_of(page: Page) -> str:
    """Return the id by which CDP clients know the page."""
    session = page.context.new_cdp_session(page)
    try:
        return str(session.send("Target.getTargetInfo")["targetInfo"]["targetId"])
    finally:
        session.detach()
