"""The browser of tests that are no cells, where Playwright's own Chromium is missing.

An exported test was proven in a Chromium that this package found on the machine, so it is to run in
the same one. Whoever names a browser, by flag or fixture, gets that one.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser

from pytest_autoweb.browser.egress.chromium import substitute
from pytest_autoweb.browser.page.same_element import register_same
from pytest_autoweb.session.playwright_fixtures import note_substitute


def with_substitute(
    given: Callable[..., Browser], request: pytest.FixtureRequest
) -> Callable[..., Browser]:
    """Return what starts browsers as before, but another Chromium where Playwright's is missing."""
    register_same(request.getfixturevalue("playwright"))
    kind = request.getfixturevalue("browser_type")
    if kind.name != "chromium" or request.getfixturevalue("connect_options"):
        return given
    # Read here, because a conftest may extend the plugin's fixture of this name.
    arguments = request.getfixturevalue("browser_type_launch_args")

    def launch(**more: Any) -> Browser:
        found = substitute({**arguments, **more}, kind.executable_path)
        if found is None:
            return given(**more)
        note_substitute(request.config, str(found))
        return given(**more, executable_path=str(found))

    return launch
