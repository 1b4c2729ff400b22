"""The browser that the cells of a session share: how it is started, or where it is."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import (
    cell_launch_args,
    launch_args,
    with_feature,
)
from pytest_autoweb.browser.page.same_element import register_same
from pytest_autoweb.browser.page.webmcp import FEATURE
from pytest_autoweb.cell.site_tools_need import needs_site_tools
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.playwright_fixtures import shares_browser
from pytest_autoweb.session.run_session import SESSION


def chosen_launch_args(given: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
    """Choose Playwright's own Chromium, else the system's, with the flags that cells need."""
    session = request.config.stash[SESSION]
    if session.browsers:
        return given
    browser_type = request.getfixturevalue("browser_type")
    found = launch_args(
        given,
        playwright_executable=browser_type.executable_path,
        browser_name=browser_type.name,
        own_sandbox=session.settings.browser_sandbox != "off",
    )
    if browser_type.name != "chromium":
        return found
    items = request.session.items
    alone = not any(map(shares_browser, items))
    cells = [item.cell for item in items if isinstance(item, CellItem)]
    if any(needs_site_tools(cell, session.settings) for cell in cells):
        found = with_feature(found, FEATURE)
    return cell_launch_args(found, os.environ, alone=alone)


def browser_launcher(
    given: Callable[..., Browser], request: pytest.FixtureRequest
) -> Callable[..., Browser]:
    """Return what starts browsers, or what connects to those of `--autoweb-connect`.

    A lost browser's replacement comes from here too, like every browser of a session.
    """
    register_same(request.getfixturevalue("playwright"))
    if not (pool := request.config.stash[SESSION].browsers):
        return given
    if request.getfixturevalue("connect_options"):
        raise BrowserError("connect_options and --autoweb-connect both say where the browser is")
    kind = request.getfixturevalue("browser_type")
    arguments = request.getfixturevalue("browser_type_launch_args")
    items = request.session.items
    served = any(item.cell.case.webserver for item in items if isinstance(item, CellItem))
    alone = not any(map(shares_browser, items))

    def take(**more: Any) -> Browser:
        return pool.take(kind, {**arguments, **more}, with_loopback=served, alone=alone)

    return take
