"""What a session lends a cell beyond its settings: hooks of users, a cache, past corrections."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pytest_autoweb.agents.correction.call_cache import Cache
from pytest_autoweb.agents.correction.retry_decision import PastCorrections
from pytest_autoweb.base.waiting.hidden_loop import loop_hidden
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.strategies import ARMS, CODEGEN
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.session.axes import shown_name
from pytest_autoweb.session.extras import mistaken_kinds, open_cache, past_corrections
from pytest_autoweb.session.flights.flights import OpenPage
from pytest_autoweb.session.progress import pause_of
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

_CACHE: pytest.StashKey[Cache] = pytest.StashKey()


def resources_of(
    cell: Cell,
    session: RunSession,
    config: pytest.Config,
    open_page: OpenPage,
    *,
    remote: bool,
) -> CellResources:
    """Return all that one cell may use.

    Args:
        cell: the cell.
        session: that of this process.
        config: pytest's.
        open_page: opens a fresh page, given the arguments of its context.
        remote: whether the browser runs on another machine.
    """
    return replace(
        session.cell_resources(shown_name(cell), cell.folder, open_page),
        remote=remote,
        relogin=_relogin(config),
        pause=pause_of(config) if session.settings.pause else None,
        past=_past(cell, session.settings),
        mistaken=_mistaken(cell, session.settings),
        # Data read from a page may contain its secrets, which must not leave this process.
        cache=None if cell.case.has_secrets else _cache(config, session.settings),
    )


def _relogin(config: pytest.Config) -> "Callable[[Case, Page], object] | None":
    """Return the user's login hook, or None if there is no implementation."""
    hook = config.hook.pytest_autoweb_relogin
    if not hook.get_hookimpls():
        return None

    def relogin(case: Case, page: "Page") -> object:
        with loop_hidden():
            return hook(case=case, page=page)

    return relogin


def _past(cell: Cell, settings: Settings) -> PastCorrections:
    """Return whether the correction arm helped before; compared arms always run to the end."""
    arm, *others = settings.correction
    if not settings.database or others or not ARMS.pick(arm).informed or is_control(cell.spec.name):
        return {}
    return past_corrections(settings, cell.spec.name, arm)


def _mistaken(cell: Cell, settings: Settings) -> Mapping[str, tuple[int, int]]:
    """Return the model's error counts for each kind of element, for cells that choose elements."""
    if not settings.database or cell.strategy == CODEGEN.name or is_control(cell.spec.name):
        return {}
    return mistaken_kinds(settings, cell.spec.name)


def _cache(config: pytest.Config, settings: Settings) -> Cache | None:
    """Return the cache at a URL, which is opened once in each process."""
    if "://" not in settings.cache:
        return None
    if _CACHE not in config.stash:
        config.stash[_CACHE] = opened = open_cache(settings.cache, settings.rootdir)
        config.add_cleanup(opened.close)
    return config.stash[_CACHE]
