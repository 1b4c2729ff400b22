"""The door to the part of the plugin that only sessions with cells pay for.

It is loaded as a whole when it is first needed: when models are named, or when a test uses the
`autoweb` fixture.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from pytest_autoweb.session.cell_hooks import CellHooks

STARTED_AHEAD = "_AUTOWEB_STARTED_AHEAD"
"""The variable by which `--autoweb-watch` tells a run that it is to wait."""
_MODULE = "pytest_autoweb.session.cell_hooks"
_CELL_HOOKS: pytest.StashKey["CellHooks"] = pytest.StashKey()


def cell_hooks(config: pytest.Config) -> "CellHooks":
    """Return what the hooks do in a session with cells, loading it the first time."""
    if _CELL_HOOKS not in config.stash:
        if _MODULE not in sys.modules:
            # Python ends with one more look. Not frozen before, since `gc.get_referrers`, which
            # others use, overlooks what is.
            atexit.register(gc.freeze)
        with without_garbage_collection():
            # Late, because pytest loads this module in every project, most of whose sessions run
            # no model.
            from pytest_autoweb.session.cell_hooks import CellHooks

        config.stash[_CELL_HOOKS] = CellHooks(config)
    return config.stash[_CELL_HOOKS]


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Load modules without looking for garbage among what they consist of, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # What was loaded is old at once; else the first look at what is young goes through it all.
        # What somebody froze, such as the process that this one is a fork of, stays so.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


def loaded_hooks(config: pytest.Config) -> "CellHooks | None":
    """Return what the hooks do in a session with cells; None if nothing has needed it yet."""
    return config.stash.get(_CELL_HOOKS, None)


def has_models(config: pytest.Config) -> bool:
    """Tell whether models were named, as `pytest_configure` found."""
    hooks = loaded_hooks(config)
    return hooks is not None and hooks.has_models


def wait_if_started_ahead(config: pytest.Config) -> None:
    """Wait for the change that a run of `--autoweb-watch` is for, which was started ahead of it."""
    # Its workers inherit the environment, and must not wait.
    if not (given := os.environ.pop(STARTED_AHEAD, "")):
        return
    # Late, because only such a run needs it.
    from pytest_autoweb.session import head_start, started_ahead

    options = config.known_args_namespace
    workers = getattr(options, "numprocesses", None)
    traced = getattr(options, "tracing", "off") != "off"
    head_start.offer_driver(config)
    started_ahead.wait_until_told(given, own_browser=not (workers or traced))


def plain_launcher(
    given: "Callable[..., Browser]", request: pytest.FixtureRequest
) -> "Callable[..., Browser]":
    """Return what starts the browsers of tests that are no cells."""
    # Late, because it imports Playwright, which most sessions do not use.
    from pytest_autoweb.session.plain_browser import with_substitute

    return with_substitute(given, request)
