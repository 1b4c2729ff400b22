"""pytest-playwright's fixtures, on which cells run: who needs them, whether they are there, whose.

Every session of pytest asks, so this leads to nothing but pytest and the standard library.
"""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.session.pytest_internals import definitions_of

if TYPE_CHECKING:
    from pytest_autoweb.cell.cell_inputs import Cell

FIXTURE = "autoweb"
"""The fixture by which a test of Python runs cells."""
STEP_FIXTURE = "autoweb_step"
"""The fixture by which a test of Python has a model act on its own page."""
CELL: pytest.StashKey["Cell"] = pytest.StashKey()
"""What an item runs, if it is a cell."""
OLD_BASE_URL = "playwright-base-url"
"""The plugin in which pytest-playwright declares `base_url` where pytest-base-url is not there."""
_SUBSTITUTE_KEY = "autoweb_substitute"
_SUBSTITUTE: pytest.StashKey[str] = pytest.StashKey()
"""The browser that stood in for Playwright's own, in tests that are no cells."""
_PAGE_FIXTURES = frozenset(
    ("page", "context", "new_context", "browser", "launch_browser", STEP_FIXTURE)
)
_OF_BROWSERS = ("browser_type_launch_args", "browser_type", "connect_options", "launch_browser")
_OURS_AND_THEIRS = ("pytest_autoweb", "pytest_playwright")
_ASYNC_TWIN = "pytest_playwright_asyncio"
_ONE_OF_BOTH = (
    "pytest-autoweb runs its cells on pytest-playwright, and pytest-playwright-asyncio has the "
    "same fixtures, so that a session can load only one of them: add -p no:playwright-asyncio to "
    "sessions with cells and -p no:playwright to those with asynchronous tests, or install the two "
    "in different environments"
)


def is_cell(item: pytest.Item) -> bool:
    """Tell whether an item is a cell of this plugin."""
    return CELL in item.stash


def uses_fixture(item: pytest.Item) -> bool:
    """Tell whether an item is a test that uses a fixture of this plugin."""
    return not {FIXTURE, STEP_FIXTURE}.isdisjoint(getattr(item, "fixturenames", ()))


def needs_browser(item: pytest.Item) -> bool:
    """Tell whether an item is a cell, or a test that uses a fixture of this plugin."""
    return is_cell(item) or uses_fixture(item)


def runs_once(item: pytest.Item) -> bool:
    """Tell whether an item may not be run again by other plugins: a cell, or a test that runs any.

    A test that takes steps is an ordinary test.
    """
    return is_cell(item) or FIXTURE in getattr(item, "fixturenames", ())


def shares_browser(item: pytest.Item) -> bool:
    """Tell whether an item is a test with a page of its own, in the browser of the cells."""
    names = getattr(item, "fixturenames", ())
    return not is_cell(item) and not _PAGE_FIXTURES.isdisjoint(names)


def refuse_both_playwrights(manager: pytest.PytestPluginManager) -> None:
    """Refuse a session that is about to load pytest-playwright-asyncio beside pytest-playwright.

    The one that comes second would end it with a traceback.

    Raises:
        pytest.UsageError: both are installed, and none is switched off.
    """
    config = manager.get_plugin("pytestconfig")
    given = getattr(config, "known_args_namespace", None)
    chosen = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") or getattr(
        given, "disable_plugin_autoload", False
    )
    blocked = any(map(manager.is_blocked, ("playwright", "playwright-asyncio")))
    if not chosen and not blocked and find_spec(_ASYNC_TWIN) is not None:
        raise pytest.UsageError(_ONE_OF_BOTH)


def lacks_playwright(item: pytest.Item) -> str:
    """Return why the fixtures that a cell needs are not there, or ""."""
    # pytest has no public way to ask which fixtures of a name an item would get.
    for name in ("connect_options", "new_context"):
        definitions = definitions_of(item, name)
        if any(one.func.__module__.startswith(_ASYNC_TWIN) for one in definitions):
            return _ONE_OF_BOTH
        if not definitions:
            return (
                f"cells need the fixture `{name}` of pytest-playwright, which this session does "
                "not load: remove -p no:playwright, or add -p playwright"
            )
    return ""


def starts_own_browsers(item: pytest.Item) -> bool:
    found = (definitions_of(item, name) for name in _OF_BROWSERS)
    modules = (
        str(getattr(one.func, "__module__", "")) for definitions in found for one in definitions
    )
    return not all(module.startswith(_OURS_AND_THEIRS) for module in modules)


def declares_browsers(config: pytest.Config) -> bool:
    """Tell whether a conftest or another plugin has a say in how browsers are started.

    What lies beside the cases may still have one (`starts_own_browsers`).
    """
    declaring = [
        str(getattr(plugin, "__name__", ""))
        for plugin in config.pluginmanager.get_plugins()
        if not set(_OF_BROWSERS).isdisjoint(getattr(plugin, "__dict__", ()))
    ]
    return not all(name.startswith(_OURS_AND_THEIRS) for name in declaring)


def note_substitute(config: pytest.Config, path: str) -> None:
    """Remember the browser that stands in for Playwright's own, in tests that are no cells."""
    if (output := getattr(config, "workeroutput", None)) is None:
        config.stash[_SUBSTITUTE] = path
    else:
        output[_SUBSTITUTE_KEY] = path


def note_substitute_of(node: Any) -> None:
    """Remember the browser that stood in for Playwright's own in an xdist worker."""
    if path := getattr(node, "workeroutput", {}).get(_SUBSTITUTE_KEY):
        node.config.stash[_SUBSTITUTE] = path


def told_substitute(config: pytest.Config) -> str:
    """Return the sentence about the browser that stood in for Playwright's own, or ""."""
    path = config.stash.get(_SUBSTITUTE, "")
    return path and f"Playwright's own Chromium is not installed: the tests ran in {path}"
