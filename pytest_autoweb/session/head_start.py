"""Start first what takes long to start by itself, in a session that is about to run cells.

The gateway (a process of Python) and Playwright's driver (one of Node) each take about as long to
start as the modules that run cells take to load, and the sandbox's first process a third of that.
Together they take as long as the longest of them, if there are processors for all. The browser
follows the driver, where it is clear enough how the session will start it.

Only sessions whose command line or environment names the models get a head start: where a
configuration file does, most sessions may run other tests.
"""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from playwright.sync_api import Playwright

from pytest_autoweb.models.gateway_ahead import begin_gateway, drop_gateway
from pytest_autoweb.session import browser_ahead, driver_ahead
from pytest_autoweb.session.shared_run import CONTROLLER, shared_run_of
from pytest_autoweb.settings.options import names_models, only_looks
from pytest_autoweb.settings.run_settings import Settings, first_value

_Loaded = TypeVar("_Loaded")
_PLAYWRIGHT = "playwright"
"""The name under which pytest-playwright registers itself."""
_OFFERED = {"autoweb-driver-ahead": driver_ahead, "autoweb-browser-ahead": browser_ahead}
"""The plugins that hand out what is running already."""
_CONTROLS = "builtin/"


def begin(config: pytest.Config) -> None:
    """Start the gateway's process, if this one will most likely ask it for models.

    What is not used ends with the session.
    """
    named = first_value(Settings.models, config, os.environ)[0].split(",")
    called = any(not name.strip().startswith(_CONTROLS) for name in named)
    # The user's own code may answer for all of them.
    if not called or config.hook.pytest_autoweb_client.get_hookimpls():
        return
    if not _runs_cells(config) or hasattr(config, "workerinput"):
        return
    folder = Path(shared_run_of(config).session_folder)
    try:
        begin_gateway(folder, os.environ)
    except OSError:
        # Whoever needs it says why it does not start.
        return
    config.add_cleanup(partial(_drop, config, folder))


def _drop(config: pytest.Config, folder: Path) -> None:
    drop_gateway(folder)
    if not config.pluginmanager.has_plugin(CONTROLLER):
        # The session was refused before there was anybody to remove its folder.
        shutil.rmtree(folder, ignore_errors=True)


def load_beside_driver(config: pytest.Config, load: Callable[[], _Loaded]) -> _Loaded:
    """Load modules while Playwright's driver and a browser start, if this process will need them.

    Args:
        config: pytest's.
        load: loads them, in a thread of its own, and returns what came of it.
    """
    if not _needs_driver(config):
        return load()
    with ThreadPoolExecutor(1, "autoweb-loading") as thread:
        thread.submit(_begin_workers)
        loaded = thread.submit(load)
        try:
            driver = driver_ahead.start_driver()
        except Exception:  # pytest-playwright's own fixture fails in the same way, where it counts.
            return loaded.result()
        driver_ahead.hide_loop()
        offer_driver(config)
        if not browser_ahead.is_started():
            _start_browser(config, driver)
    return loaded.result()


def _start_browser(config: pytest.Config, driver: Playwright) -> None:
    # Late, because it waits for modules that are loaded meanwhile.
    from pytest_autoweb.session.likely_launch import likely_launch

    if launch := likely_launch(config, driver):
        browser_ahead.start_browser(launch)


def _begin_workers() -> None:
    # Late, because it takes a while, which is spent here on purpose.
    from pytest_autoweb.sandbox.worker_process import begin_workers

    begin_workers()


def offer_driver(config: pytest.Config) -> None:
    """Let this session's fixtures hand out the driver and its browser.

    Both end with the session at the latest.
    """
    if config.pluginmanager.has_plugin(next(iter(_OFFERED))):
        return
    config.add_cleanup(browser_ahead.forget_browser)
    config.add_cleanup(driver_ahead.stop_driver)
    for name, plugin in _OFFERED.items():
        config.pluginmanager.register(plugin, name)


def _needs_driver(config: pytest.Config) -> bool:
    cluster, _ = first_value(Settings.cluster, config, os.environ)
    # A worker has the options of its controller, which leaves all cells to its workers.
    is_worker = hasattr(config, "workerinput")
    runs_them = is_worker or not (config.getoption("tx", None) or cluster)
    has_fixtures = config.pluginmanager.has_plugin(_PLAYWRIGHT)
    return has_fixtures and runs_them and _runs_cells(config)


def _runs_cells(config: pytest.Config) -> bool:
    return names_models(config, os.environ) and not only_looks(config, os.environ)
