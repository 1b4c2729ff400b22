"""Why a cell may not run ahead of its turn, while pytest still runs another item.

What pytest, its plugins and the user's fixtures do around an item happens in the item's turn. So a
cell may only run before it if all that is done around it changes nothing for a cell.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_autoweb.base.waiting.playwright_internals import can_share_loop
from pytest_autoweb.session.pytest_internals import definition_of, definitions_before_run
from pytest_autoweb.session.shared_run import STEALS_KEY
from pytest_autoweb.session.xdist_internals import hides_order

# Plugins whose hooks around a test change nothing for a cell.
_HARMLESS = frozenset(
    (
        "_hypothesis_pytestplugin",
        "_pytest",
        "anyio",
        "hypothesis",
        "pytest_asyncio",
        "pytest_autoweb",
        "pytest_base_url",
        "pytest_cov",
        "pytest_html",
        "pytest_jsonreport",
        "pytest_metadata",
        "pytest_playwright",
        "pytest_randomly",
        "pytest_rerunfailures",
        "pytest_sugar",
        "pytest_timeout",
        "schemathesis",
        "xdist",
    )
)
_AROUND = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_teardown",
)
_MARKS = (
    "skip",
    "skipif",
    "xfail",
    "timeout",
    "usefixtures",
    "flaky",
    "browser_context_args",
    "skip_browser",
    "only_browser",
)
_RECORDINGS = ("tracing", "video", "screenshot")
# What a cell takes from pytest-playwright, and what of it lasts for the session.
_LASTING = ("browser", "browser_context_args", "connect_options")
_EACH = ("new_context", "_artifacts_recorder")


def session_bound(config: pytest.Config) -> str:
    """Say why no cell of the session may run ahead of its turn, or return "" if some may."""
    if not can_share_loop():
        return "this Playwright hides its event loop, which cells in flight would share"
    if hides_order(config):
        return "this pytest-xdist hides which items come next"
    for name in _RECORDINGS:
        if config.getoption(name, "off") != "off":
            return f"--{name} records each test in its turn"
    if getattr(config, "workerinput", {}).get(STEALS_KEY):
        return "--dist=worksteal may take a cell away that has begun"
    if config.getoption("usepdb", False) or config.getoption("trace", False):
        return "--pdb and --trace stop within a test"
    if config.getoption("playwright_debug", None):
        return "--playwright-debug stops within a test"
    if _has_timeout(config):
        return "pytest-timeout measures each test in its turn"
    if config.hook.pytest_autoweb_engine.get_hookimpls():
        return "an engine of a plugin runs the code"
    return next(_foreign_hooks(config), "")


def _has_timeout(config: pytest.Config) -> bool:
    if not config.pluginmanager.has_plugin("timeout"):
        return False
    asked = config.getoption("timeout", None) or os.environ.get("PYTEST_TIMEOUT")
    return bool(asked or config.getini("timeout"))


def _foreign_hooks(config: pytest.Config) -> Iterator[str]:
    for name in _AROUND:
        for found in getattr(config.hook, name).get_hookimpls():
            if found.function.__module__.partition(".")[0] not in _HARMLESS:
                yield f"{_place(found.plugin, found.plugin_name, config)} implements {name}"


def _place(plugin: Any, name: str, config: pytest.Config) -> str:
    file = getattr(plugin, "__file__", None) if isinstance(plugin, ModuleType) else None
    if file is None:
        return f"the plugin {name}"
    path = Path(file)
    inside = path.is_relative_to(config.rootpath)
    return path.relative_to(config.rootpath).as_posix() if inside else path.name


def item_bound(item: pytest.Item, now: pytest.Item) -> str:
    """Say why a cell may not run ahead of its turn, or return "" if it may.

    Args:
        item: the cell.
        now: the item whose turn it is, whose fixtures are set up.
    """
    if getattr(item, "outside", False):
        return "an outside agent has a browser of its own"
    for name in _MARKS:
        if item.get_closest_marker(name) is not None:
            return f"a mark `{name}`"
    for name, fixture in definitions_before_run(item):
        if _is_known(fixture) or (fixture.scope == "session" and _is_set_up(fixture)):
            continue
        return f"the fixture `{name}` of {_owner(fixture)} is set up for each {fixture.scope}"
    for name in _EACH:
        if not _is_known(definition_of(item, name)):
            return f"a fixture `{name}` of its own"
    for name in _LASTING:
        fixture = definition_of(item, name)
        if fixture is None or fixture.scope != "session" or fixture is not definition_of(now, name):
            return f"a fixture `{name}` of its own"
    return ""


def _is_known(fixture: Any) -> bool:
    return fixture is not None and _module(fixture).partition(".")[0] in _HARMLESS


def _is_set_up(fixture: Any) -> bool:
    """Tell whether a fixture has a value, rather than none yet or the error of its setup."""
    return fixture.cached_result is not None and fixture.cached_result[2] is None


def _owner(fixture: Any) -> str:
    return f"{fixture.baseid}/conftest.py" if fixture.baseid else _module(fixture)


def _module(fixture: Any) -> str:
    return str(getattr(fixture.func, "__module__", ""))
