"""How a session will most likely start its browser, before its fixtures and cases are known.

A wrong guess costs a browser that is closed again. So there is none where that is likely: in
sessions that may hold other tests as well, whose pages share the browser and may ask for names, and
where anybody else has a say in how browsers are started.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Playwright

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import cell_launch_args, launch_args
from pytest_autoweb.session.browser_ahead import Launch
from pytest_autoweb.session.case_files import CASE_SUFFIXES, holds_cases
from pytest_autoweb.session.playwright_fixtures import declares_browsers
from pytest_autoweb.settings.run_settings import Settings, first_value

_KIND = "chromium"


def likely_launch(config: pytest.Config, driver: Playwright) -> Launch | None:
    """Return how the browser will most likely be started, or None if that is open.

    Args:
        config: pytest's, whose conftests of the named files are loaded.
        driver: Playwright's.
    """
    option = config.getoption
    if (option("--browser", None) or [_KIND]) != [_KIND] or option("--tracing", "off") != "off":
        return None
    # What a resumed run has left may be nothing.
    unusual = (Settings.connect, Settings.cluster, Settings.resume)
    if any(first_value(setting, config, os.environ)[0] for setting in unusual):
        return None
    if declares_browsers(config) or not _names_cases_alone(config):
        return None
    own_sandbox, _ = first_value(Settings.browser_sandbox, config, os.environ)
    try:
        found = launch_args(
            _given(config),
            playwright_executable=driver.chromium.executable_path,
            own_sandbox=own_sandbox != "off",
        )
    except BrowserError:
        return None
    return Launch(_KIND, cell_launch_args(found, os.environ, alone=True))


def _given(config: pytest.Config) -> dict[str, Any]:
    """Return what pytest-playwright's options say of how browsers are started."""
    given: dict[str, Any] = {}
    if config.getoption("--headed", False):
        given["headless"] = False
    if channel := config.getoption("--browser-channel", None):
        given["channel"] = channel
    if slow := config.getoption("--slowmo", None):
        given["slow_mo"] = slow
    return given


def _names_cases_alone(config: pytest.Config) -> bool:
    """Tell whether the command line names case files, or folders that hold no modules."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return False
    names = [str(argument).partition("::")[0] for argument in config.args]
    places = [config.invocation_params.dir / name for name in names]
    return bool(places) and all(map(_holds_cases_alone, places))


def _holds_cases_alone(place: Path) -> bool:
    if place.is_dir():
        return all(module.name == "conftest.py" for module in place.glob("*.py"))
    return place.suffix in CASE_SUFFIXES and holds_cases(place)
