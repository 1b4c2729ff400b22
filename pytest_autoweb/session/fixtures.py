"""Fixtures: the browser that cells run in, and `autoweb` for people who write Python.

The plugin registers this module in `pytest_configure`, after all entry-point plugins, so that its
fixture extends pytest-playwright's of the same name. What they do in a session with cells stands in
`session_browser.py` and `autoweb_fixture.py`.
"""

from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.session.cells_on_demand import cell_hooks, has_models, plain_launcher
from pytest_autoweb.session.playwright_fixtures import STEP_FIXTURE, needs_browser

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    from pytest_autoweb.session.autoweb_fixture import Autoweb
    from pytest_autoweb.session.autoweb_step import AutowebStep


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], request: pytest.FixtureRequest
) -> dict[str, Any]:
    """Choose Playwright's own Chromium, else the system's, with the flags that cells need.

    Sessions without cells keep pytest-playwright's.
    """
    if not any(map(needs_browser, request.session.items)):
        return browser_type_launch_args
    return cell_hooks(request.config).launch_args(browser_type_launch_args, request)


@pytest.fixture(scope="session")
def launch_browser(
    launch_browser: "Callable[..., Browser]", request: pytest.FixtureRequest
) -> "Callable[..., Browser]":
    """Connect to a browser of `--autoweb-connect` instead of starting one, in sessions with cells.

    A lost browser's replacement comes from here too, like every browser of a session. In sessions
    without cells, the system's Chromium stands in for Playwright's own where that is missing.
    """
    if not any(map(needs_browser, request.session.items)):
        return plain_launcher(launch_browser, request)
    return cell_hooks(request.config).launcher(launch_browser, request)


class BaseUrl:
    """The fixture `base_url`, replacing pytest-playwright's own.

    Theirs is a method of an object, which pytest warns about since 9.2: every test with a page, and
    so every cell, would fail under `-W error`.
    """

    @pytest.fixture(scope="session")
    @staticmethod
    def base_url(pytestconfig: pytest.Config) -> str | None:
        """Return what pytest-playwright's fixture returns."""
        return pytestconfig.getoption("--base-url") or pytestconfig.getini("base_url") or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let cells run by a protocol of their own, in sessions that have any."""
    if any(map(needs_browser, items)):
        cell_hooks(config).run_by_own_protocol()


@pytest.fixture
def autoweb(request: pytest.FixtureRequest) -> "Autoweb":
    """Run cases from Python: `assert autoweb.run("cases/shop.yaml::login", model="…").passed`."""
    return cell_hooks(request.config).autoweb(request)


@pytest.fixture
def autoweb_step(request: pytest.FixtureRequest) -> "AutowebStep":
    """Have a model act on the test's page: `autoweb_step("add the blue shirt to the cart")`."""
    return cell_hooks(request.config).autoweb_step(request)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes steps once for each model, as cells are, unless its mark names one."""
    if STEP_FIXTURE not in metafunc.fixturenames or not has_models(metafunc.config):
        return
    marks = metafunc.definition.iter_markers(STEP_FIXTURE)
    if any("model" in mark.kwargs for mark in marks):
        return
    if models := cell_hooks(metafunc.config).step_models():
        metafunc.parametrize(STEP_FIXTURE, models, indirect=True, ids=models)
