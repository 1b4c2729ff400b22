"""What this package uses of pytest that has no public name.

Pytest offers no way to ask which fixtures an item gets, whose they are, and which of them are set
up; nor to spare a plugin the rewriting of its asserts. Only this module knows the names by which it
keeps that.
"""

from collections.abc import Iterator
from typing import Any

import pytest

_PACKAGE = __name__.partition(".")[0]


def spare_own_asserts(pluginmanager: pytest.PytestPluginManager) -> None:
    """Import the rest of this package as Python does, rather than with its asserts rewritten.

    Pytest rewrites all modules of a plugin's distribution. That takes seconds of each process where
    it may not keep what it rewrote: in a container that runs as another user, say, or with
    `PYTHONDONTWRITEBYTECODE`.
    """
    hook = getattr(pluginmanager, "rewrite_hook", None)
    marked: set[str] = getattr(hook, "_must_rewrite", set())
    if _PACKAGE in marked:
        marked.discard(_PACKAGE)
        getattr(hook, "_marked_for_rewrite_cache", {}).clear()


def definitions_of(item: pytest.Item, name: str) -> tuple[Any, ...]:
    """Return the definitions of a fixture that an item can see, the one that it gets last."""
    return tuple(item.session._fixturemanager.getfixturedefs(name, item) or ())


def definition_of(item: pytest.Item, name: str) -> Any:
    """Return the definition of the fixture that an item gets under a name, or None."""
    found = definitions_of(item, name)
    return found[-1] if found else None


def definitions_before_run(item: pytest.Item) -> Iterator[tuple[str, Any]]:
    """Yield the name and definition of whatever pytest sets up for an item before it runs."""
    for name, found in fixture_info(item).name2fixturedefs.items():
        if found:
            yield name, found[-1]


def fixture_info(item: pytest.Item) -> Any:
    """Return what pytest found out about the fixtures of an item when it was collected."""
    return getattr(item, "_fixtureinfo")  # noqa: B009 - pytest.Item does not declare it


def run_unreported(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run an item as pytest does, between two others, without a report of it.

    Args:
        item: the item, which is none of the session's.
        nextitem: the item of the session that comes next.
    """
    try:
        # What was kept for the next item may be in the way, such as the fixtures of its module.
        item.session._setupstate.teardown_exact(item)
    except Exception as error:
        item.warn(pytest.PytestWarning(f"while fixtures were torn down: {error}"))
    runner = item.config.pluginmanager.get_plugin("runner")
    assert runner is not None, "pytest always has it"
    runner.runtestprotocol(item, log=False, nextitem=nextitem)


def made_fixtures(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the definitions by name that a request has asked for; pytest looks here first."""
    made: dict[str, Any] = getattr(request, "_fixture_defs", {})
    return made
