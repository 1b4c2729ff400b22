"""The pytest hooks, each a few lines.

People install this plugin beside thousands of other tests, so a session that names no models pays
for the options and nothing else. What sessions with cells do stands in `session/cell_hooks.py`,
which is loaded when the first of these hooks needs it. The hooks themselves stay here: pytest calls
those of the plugin registered last first, and a plugin that is registered as late as
`pytest_configure` would come before the conftests of the users.
"""

import gc
import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb import hookspecs
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import require_extras
from pytest_autoweb.results.runs.run_signs import SIGNS, holds_run
from pytest_autoweb.session import fixtures
from pytest_autoweb.session.case_files import CASE_SUFFIXES
from pytest_autoweb.session.cells_on_demand import (
    cell_hooks,
    has_models,
    loaded_hooks,
    wait_if_started_ahead,
    without_garbage_collection,
)
from pytest_autoweb.session.playwright_fixtures import (
    OLD_BASE_URL,
    note_substitute_of,
    refuse_both_playwrights,
    told_substitute,
    uses_fixture,
)
from pytest_autoweb.session.pytest_internals import spare_own_asserts
from pytest_autoweb.session.refused_sessions import (
    note_refusal,
    note_unread,
    refusal,
    refuse_gates_alone,
    refuse_unknown_models,
    refuse_unread_cases,
    refuse_without_models,
    refuse_without_playwright,
    usage_error,
)
from pytest_autoweb.session.shared_run import (
    CONTROLLER,
    SHARED,
    STEALS_KEY,
    WORKER_KEY,
    shared_run_of,
)
from pytest_autoweb.settings.options import (
    add_options,
    is_detaching,
    is_on,
    is_watching,
    refuse_unknown_flags,
)

# Python's own number is 700, and a cell allocates several thousand.
_BEFORE_A_COLLECTION = 10_000
_WORKERS_ALONE = "autoweb-workers-alone"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare flags and ini keys."""
    spare_own_asserts(pluginmanager)
    refuse_both_playwrights(pluginmanager)
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks of `hookspecs.py`."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Answer a misspelt flag with the one that was meant, once every plugin has declared its own.

    pytest itself says only that the argument is unknown. A run that was started ahead waits here,
    before it reads anything of the project but its settings.
    """
    wait_if_started_ahead(early_config)
    yield
    if any(argument.startswith("--auto") for argument in args):
        refuse_unknown_flags(parser, args)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Watch files, or start a session and leave it alone, instead of running one."""
    if hasattr(config, "workerinput") or config.getoption("help") or config.getoption("version"):
        return None
    try:
        if is_detaching(config, os.environ):
            # Late, because no other session needs it.
            from pytest_autoweb.session.detached import detach

            return detach(config)
        if not is_watching(config, os.environ):
            return None
        if not is_on(config, os.environ):
            raise SettingsError("--autoweb-watch needs --autoweb-models, which is not set or empty")
        require_extras("watch")
    except SettingsError as error:
        raise usage_error(str(error)) from None
    # Late, because it imports a package that comes with the extra.
    from pytest_autoweb.session.watch import watch_and_run

    return watch_and_run(config)


def pytest_configure(config: pytest.Config) -> None:
    """Turn the plugin on when models are named."""
    config.addinivalue_line("markers", "autoweb: a cell (case x model) of pytest-autoweb")
    config.addinivalue_line(
        "markers",
        "autoweb_step(model, agent, timeout, allowed_origins): who takes the steps of a test, and "
        "what they may",
    )
    config.pluginmanager.register(fixtures, "autoweb-fixtures")
    if config.pluginmanager.has_plugin(OLD_BASE_URL):
        config.pluginmanager.register(fixtures.BaseUrl, "autoweb-base-url")
    if config.getoption("help"):
        cell_hooks(config).explain()
    if is_on(config, os.environ):
        _collect_garbage_less(config)
        # Late, because only sessions with cells start anything.
        from pytest_autoweb.session import head_start

        head_start.begin(config)
        with without_garbage_collection():
            refuse_unknown_models(config)
        head_start.load_beside_driver(config, lambda: cell_hooks(config)).configure()
    else:
        refuse_without_models(config)


def _collect_garbage_less(config: pytest.Config) -> None:
    """Let Python look for garbage less often, until the session ends.

    It would look six times a cell, while a page is waiting, although most of what a cell allocates
    is messages and results, of which little refers to itself; and again and again while modules are
    loaded.
    """
    before = gc.get_threshold()
    gc.set_threshold(_BEFORE_A_COLLECTION, *before[1:])
    config.add_cleanup(lambda: gc.set_threshold(*before))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget what the user's code added, for the next session of this process."""
    if hooks := loaded_hooks(config):
        hooks.unconfigure()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker what the session shares."""
    manager = node.config.pluginmanager
    controller = manager.get_plugin(CONTROLLER)
    shared = controller.shared if controller else shared_run_of(node.config)
    if not controller and not manager.has_plugin(_WORKERS_ALONE):
        # Late, because only a controller whose workers may open a run by themselves needs it.
        from pytest_autoweb.session.worker_marks import WorkersAlone

        manager.register(WorkersAlone(shared), _WORKERS_ALONE)
    node.workerinput[WORKER_KEY] = shared.dump()
    node.workerinput[STEALS_KEY] = node.config.getoption("dist", "no") == "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send workers of xdist as many items as they can have in flight."""
    if has_models(config) and config.getvalue("dist") == "load":
        return cell_hooks(config).scheduler(log)
    return None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave run folders alone: a run is data, and one from elsewhere may hold tests and hooks."""
    if not any((collection_path / sign).exists() for sign in SIGNS):
        return None
    return True if holds_run(collection_path) else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Make cells of case files, and leave every other file alone."""
    if file_path.suffix not in CASE_SUFFIXES:
        return None
    if has_models(parent.config):
        return cell_hooks(parent.config).case_file(file_path, parent)
    note_unread(parent.config, file_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the inline cases; then, before anything is deselected, divide into shards."""
    if has_models(session.config):
        cell_hooks(session.config).complete(session, items)
    elif not items:
        refuse_unread_cases(session)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for what the cells need and save the manifest, once it is known which they are."""
    refuse_without_playwright(session)
    if has_models(session.config):
        cell_hooks(session.config).finish_collection(session)
    else:
        refuse_gates_alone(session)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Remember what an xdist worker could not refuse, or tell, by itself."""
    note_refusal(node)
    note_substitute_of(node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell which browser tests ran in, of old names, and why workers end with a usage error."""
    if told := told_substitute(terminalreporter.config):
        terminalreporter.write_line(f"autoweb: {told}")
    if hooks := loaded_hooks(terminalreporter.config):
        for sentence in hooks.old_names():
            terminalreporter.write_line(f"autoweb: {sentence}")
    if why := refusal(terminalreporter.config):
        terminalreporter.write_line(f"ERROR: {why}", red=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Open a session for a test that uses a fixture of ours, if the command line did not."""
    if uses_fixture(item):
        cell_hooks(item.config).open_for_fixture()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Report what workers ran for the `autoweb` fixture alone."""
    config = session.config
    if refusal(config):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    if SHARED in config.stash and not config.pluginmanager.has_plugin(CONTROLLER):
        if config.stash[SHARED].opened_file.exists():
            cell_hooks(config).report_workers(session, exitstatus)
        else:
            shutil.rmtree(config.stash[SHARED].session_folder, ignore_errors=True)
