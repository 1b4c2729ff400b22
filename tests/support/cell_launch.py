"""Starts the browser as a session of cells does."""

import os
from typing import Any

from playwright.sync_api import Playwright

from pytest_autoweb.browser.egress.chromium import cell_launch_args, launch_args

KEYS = {"OPENAI_API_KEY": "sk-never-in-a-browser", "SHOP_PASSWORD": "never-in-a-browser"}


def cell_args(playwright: Playwright, *flags: str) -> dict[str, Any]:
    """Arguments of `launch`, with keys in the environment that the browser must not get."""
    found = launch_args(
        {"args": list(flags)}, playwright_executable=playwright.chromium.executable_path
    )
    return cell_launch_args(found, {**os.environ, **KEYS}, alone=True)
