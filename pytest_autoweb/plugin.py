"""The pytest hooks, which import whatever they need inside themselves.

People install this plugin beside thousands of other tests, so a session that names no models
pays for the options and nothing else.
"""

import gc
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.results.runs.run_signs import SIGNS, holds_run
from pytest_autoweb.session import fixtures
from pytest_autoweb.session.shared_run import STEALS_KEY, SharedRun, on_node, share_run

# Late imports: pytest loads this module in every project, most of whose sessions run no model.

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_autoweb.session.controller import RunController
    from pytest_autoweb.session.items import CaseFile
    from pytest_autoweb.session.registration import Registry
    from pytest_autoweb.settings.run_settings import Settings

# Python's own number is 700, and a cell allocates several thousand.
_BEFORE_A_COLLECTION = 10_000
WORKER_KEY = CONTROLLER = "autoweb-session"
WORKERS_ALONE = "autoweb-workers-alone"
CASE_SUFFIXES = (".yaml", ".yml", ".json")
TOUCHED = "_AUTOWEB_TOUCHED"
"""The variable by which `--autoweb-watch` tells a run which case files were touched."""
SHARD, PREVIEW = "autoweb-shard", "autoweb-preview"
REFUSED_KEY = "autoweb_refused"
REFUSED: pytest.StashKey[str] = pytest.StashKey()
"""Why what xdist workers collected is a usage error."""
UNREAD: pytest.StashKey[list[Path]] = pytest.StashKey()
"""Files that may hold cases, in a session that names no models."""
SHARED: pytest.StashKey[SharedRun] = pytest.StashKey()
SETTINGS: pytest.StashKey["Settings"] = pytest.StashKey()
"""The settings, which are read once per session: at once when models are named, otherwise when a
test needs them."""
REGISTRY: pytest.StashKey["Registry"] = pytest.StashKey()
"""What the user's code added to this session; it exists only when the plugin is on, or when help is
printed."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare flags and ini keys."""
    from pytest_autoweb.settings.options import add_options

    fixtures.refuse_both_playwrights(pluginmanager)
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks of `hookspecs.py`."""
    from pytest_autoweb import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    parser: pytest.Parser, args: list[str]
) -> "Generator[None, None, None]":
    """Answer a misspelt flag with the one that was meant, once every plugin has declared its own.

    pytest itself says only that the argument is unknown.
    """
    yield
    if any(argument.startswith("--auto") for argument in args):
        from pytest_autoweb.settings.options import refuse_unknown_flags

        refuse_unknown_flags(parser, args)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> "int | None":
    """Watch files instead of running, with `--autoweb-watch`."""
    from pytest_autoweb.base.errors import SettingsError
    from pytest_autoweb.settings.options import is_on, is_watching

    if hasattr(config, "workerinput") or config.getoption("help") or config.getoption("version"):
        return None
    try:
        if not is_watching(config, os.environ):
            return None
        if not is_on(config, os.environ):
            raise SettingsError("--autoweb-watch needs --autoweb-models, which is not set or empty")
        from pytest_autoweb.base.installation import require_extras

        require_extras("watch")
    except SettingsError as error:
        raise _usage_error(str(error)) from None
    from pytest_autoweb.base.interruption import like_ctrl_c
    from pytest_autoweb.session.watch import watch_and_run

    with like_ctrl_c():
        return watch_and_run(config)


def pytest_configure(config: pytest.Config) -> None:
    """Turn the plugin on when models are named."""
    from pytest_autoweb.settings.options import is_on

    config.addinivalue_line("markers", "autoweb: a cell (case x model) of pytest-autoweb")
    config.pluginmanager.register(fixtures, "autoweb-fixtures")
    if config.pluginmanager.has_plugin(fixtures.OLD_BASE_URL):
        config.pluginmanager.register(fixtures.BaseUrl, "autoweb-base-url")
    if config.getoption("help"):
        _explain(config)
    if is_on(config, os.environ):
        _collect_garbage_less(config)
        settings = _settings(config)
        _add_case_arguments(config, settings)
        _register_modes(config, settings)
        _start(config, settings)
        return
    _refuse_without_models(config)


def _usage_error(why: str) -> pytest.UsageError:
    """Return the error, which pytest prints as it is, although case files may be of others."""
    from pytest_autoweb.report.plain_stream import plain_text

    return pytest.UsageError(plain_text(why))


def _collect_garbage_less(config: pytest.Config) -> None:
    """Let Python look for garbage less often, until the session ends.

    It would look six times a cell, while a page is waiting, although most of what a cell allocates
    is messages and results, of which little refers to itself; and again and again while modules are
    loaded.
    """
    before = gc.get_threshold()
    gc.set_threshold(_BEFORE_A_COLLECTION, *before[1:])
    config.add_cleanup(lambda: gc.set_threshold(*before))


def _refuse_without_models(config: pytest.Config) -> None:
    """Refuse to pass in silence over what can only be meant for cells."""
    from pytest_autoweb.settings.options import missing_models

    asking = missing_models(config, os.environ)
    names = [argument.partition("::")[0] for argument in config.args]
    if not asking and (files := [name for name in names if name.endswith(CASE_SUFFIXES)]):
        from pytest_autoweb.session.case_files import holds_cases

        folder = config.invocation_params.dir
        asking = ", ".join(name for name in files if holds_cases(folder / name))
    if asking:
        raise _usage_error(_needs_models(asking))


def _needs_models(asking: str) -> str:
    return (
        f"{asking} needs --autoweb-models, which is not set or empty: name models, separated "
        "by commas; for the controls alone they are builtin/oracle,builtin/noop"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget what the user's code added, for the next session of this process."""
    if (registry := config.stash.get(REGISTRY, None)) is not None:
        registry.undo()


def _explain(config: pytest.Config) -> None:
    """Name every registered variant in the help that pytest is about to print."""
    from pytest_autoweb.session.registration import fill_help

    _load_variants(config)
    fill_help(config)


def _load_variants(config: pytest.Config) -> None:
    from pytest_autoweb.base.errors import RegistrationError
    from pytest_autoweb.session.registration import load_variants

    if REGISTRY not in config.stash:
        try:
            config.stash[REGISTRY] = load_variants(config.hook, config.rootpath)
        except RegistrationError as error:
            raise _usage_error(str(error)) from None


def _settings(config: pytest.Config) -> "Settings":
    from pytest_autoweb.base.errors import SettingsError
    from pytest_autoweb.settings.run_settings import read_settings

    if SETTINGS not in config.stash:
        _load_variants(config)
        try:
            config.stash[SETTINGS] = read_settings(config, os.environ)
        except SettingsError as error:
            raise _usage_error(str(error)) from None
    return config.stash[SETTINGS]


def _register_modes(config: pytest.Config, settings: "Settings") -> None:
    """Register what only some sessions do: running a shard, or a preview."""
    if settings.shard:
        from pytest_autoweb.session.shards import ShardSelection

        config.pluginmanager.register(ShardSelection(settings.shard), SHARD)
    if touched := os.environ.get(TOUCHED, ""):
        from pytest_autoweb.session.watch import TouchedSelection

        config.pluginmanager.register(TouchedSelection(touched), "autoweb-touched")
    collects = config.option.collectonly or settings.preview
    if config.getoption("tx", None):
        _refuse_names_for_workers(config)
    if settings.cluster and not collects and not hasattr(config, "workerinput"):
        _use_cluster(config)
    if settings.preview:
        from pytest_autoweb.session.preview import Preview

        config.pluginmanager.register(Preview(config), PREVIEW)


def _refuse_names_for_workers(config: pytest.Config) -> None:
    """Refuse names that xdist tells its workers and cannot write down, which it would die of."""
    from pytest_autoweb.base.whole_characters import whole_text

    names = (*sys.argv, *config.args, str(config.rootpath), str(Path.cwd()))
    if bad := next((name for name in names if whole_text(name) != name), ""):
        raise _usage_error(
            f"{whole_text(bad)} is not valid UTF-8, and xdist takes no such name to its workers: "
            "rename it, or run without -n"
        )


def _use_cluster(config: pytest.Config) -> None:
    from pytest_autoweb.base.errors import SettingsError
    from pytest_autoweb.base.installation import require_extras

    try:
        require_extras("cluster")
        from pytest_autoweb.session.xdist_internals import can_replace_controller

        if not can_replace_controller():
            raise SettingsError(
                "--autoweb-cluster replaces a part of pytest-xdist that this version does not have "
                "any more; update pytest-autoweb, or install the xdist that it was tested with"
            )
        # Only now, because it imports xdist's controller.
        from pytest_autoweb.session.cluster.cluster_session import use_cluster

        use_cluster(config)
    except SettingsError as error:
        raise _usage_error(str(error)) from None


def _start(config: pytest.Config, settings: "Settings") -> "RunController | None":
    """Open this process's part of the session: the controller, or an xdist worker's."""
    from pytest_autoweb.base.interruption import Interruption
    from pytest_autoweb.session.controller import RunController
    from pytest_autoweb.session.items import SESSION
    from pytest_autoweb.session.opened_session import open_session
    from pytest_autoweb.session.worker_marks import mark_worker

    interruption = Interruption()
    interruption.install()
    config.add_cleanup(interruption.restore)
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        controller = RunController(config, settings, _shared(config), interruption)
        config.pluginmanager.register(controller, CONTROLLER)
        return controller
    shared = on_node(SharedRun.parse(workerinput[WORKER_KEY]), os.environ)
    worker = workerinput["workerid"]
    if not shared.away:
        mark_worker(shared, interruption)
    config.stash[SESSION] = open_session(config, settings, shared, worker=worker)
    return None


def _shared(config: pytest.Config) -> SharedRun:
    """Return what the session's processes share, deciding it once."""
    from pytest_autoweb.settings.options import is_resuming, report_folder

    if SHARED not in config.stash:
        # Reading all settings would load the variants, which an xdist session without models must
        # not pay for.
        folder = report_folder(config, os.environ)
        ts = _resumed_ts(folder) if is_resuming(config, os.environ) else ""
        try:
            config.stash[SHARED] = share_run(folder, ts)
        except OSError as error:
            raise pytest.UsageError(f"there is no temporary folder to use: {error}") from None
    return config.stash[SHARED]


def _resumed_ts(folder: Path) -> str:
    from pytest_autoweb.session.resuming import ts_of_run

    return ts_of_run(folder)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker what the session shares."""
    controller = node.config.pluginmanager.get_plugin(CONTROLLER)
    shared = controller.shared if controller else _shared(node.config)
    if not controller and not node.config.pluginmanager.has_plugin(WORKERS_ALONE):
        from pytest_autoweb.session.worker_marks import WorkersAlone

        node.config.pluginmanager.register(WorkersAlone(shared), WORKERS_ALONE)
    node.workerinput[WORKER_KEY] = shared.dump()
    node.workerinput[STEALS_KEY] = node.config.getoption("dist", "no") == "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send workers of xdist as many items as they can have in flight."""
    if not _is_on(config) or config.getvalue("dist") != "load":
        return None
    from pytest_autoweb.session.flights.flight_scheduling import FlightScheduling
    from pytest_autoweb.session.items import SESSION
    from pytest_autoweb.session.xdist_internals import can_schedule

    workers = len(config.getvalue("tx"))
    most = config.stash[SESSION].concurrency(workers)
    if _settings(config).cluster:
        from pytest_autoweb.session.cluster.cluster_session import ClusterScheduling

        return ClusterScheduling(config, log, most)
    return FlightScheduling(config, log, most) if most > 1 and can_schedule() else None


def _add_case_arguments(config: pytest.Config, settings: "Settings") -> None:
    """Treat `--autoweb-cases-file` as an argument; it and inline cases replace the default ones."""
    if not (settings.cases_file or settings.cases):
        return
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []
    if settings.cases_file:
        path = config.invocation_params.dir / settings.cases_file
        if not path.is_file():
            raise _usage_error(f"--autoweb-cases-file: there is no file {path}")
        if str(path) not in config.args:
            config.args = [*config.args, str(path)]


def pytest_ignore_collect(collection_path: Path) -> "bool | None":
    """Leave run folders alone: a run is data, and one from elsewhere may hold tests and hooks."""
    if not any((collection_path / sign).exists() for sign in SIGNS):
        return None
    return True if holds_run(collection_path) else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseFile | None":
    """Make cells of case files, and leave every other file alone."""
    if file_path.suffix not in CASE_SUFFIXES:
        return None
    if not _is_on(parent.config):
        parent.config.stash.setdefault(UNREAD, []).append(file_path)
        return None
    from pytest_autoweb.session.case_files import is_case_file
    from pytest_autoweb.session.items import CaseFile

    if not is_case_file(file_path, parent.session, _settings(parent.config)):
        return None

    return CaseFile.at(file_path, parent)


def _is_on(config: pytest.Config) -> bool:
    """Tell whether models were named, as `pytest_configure` found."""
    return SETTINGS in config.stash and bool(_settings(config).models)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the inline cases; then, before anything is deselected, divide into shards."""
    config = session.config
    if _is_on(config) and _settings(config).cases:
        from pytest_autoweb.session.items import InlineCases

        inline = InlineCases.from_parent(session, path=config.rootpath / "autoweb-cases")
        report = config.hook.pytest_make_collect_report(collector=inline)
        config.hook.pytest_collectreport(report=report)
        items.extend(report.result)
    if (selection := config.pluginmanager.get_plugin(SHARD)) is not None:
        selection.divide(items)
    if not items and UNREAD in config.stash:
        _refuse_unread_cases(session)


def _refuse_unread_cases(session: pytest.Session) -> None:
    """Refuse to end as if nothing were there, where a named folder holds cases alone.

    Without a name it is refused only if the models are expressly empty.
    """
    from pytest_autoweb.settings.options import names_models

    config = session.config
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if session.testsfailed or _is_on(config) or not (named or names_models(config, os.environ)):
        return
    # On its way to a folder pytest also looks at the files beside it.
    base = config.invocation_params.dir
    names = (str(argument).partition("::")[0] for argument in config.args)
    asked = [(base / name).resolve() for name in names]
    unread = [path.resolve() for path in config.stash[UNREAD] if path.suffix != ".json"]
    files = [path for path in unread if any(path.is_relative_to(place) for place in asked)]
    if not files:
        return
    from pytest_autoweb.session.case_files import holds_cases

    if case_file := next(filter(holds_cases, files), None):
        _refuse(config, _needs_models(os.path.relpath(case_file, base)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for what the cells need and save the manifest, once it is known which they are."""
    _refuse_without_playwright(session)
    cells = any(hasattr(item, "cell") for item in session.items)
    if cells and not _settings(session.config).preview:
        from pytest_autoweb.session.items import report_unmet

        report_unmet(session)
        _refuse_without_browser(session)
    elif not cells:
        _refuse_gates_alone(session)
    if cells or session.config.pluginmanager.has_plugin(SHARD):
        from pytest_autoweb.base.errors import AutowebError, first_line
        from pytest_autoweb.session.opened_session import write_manifest

        try:
            write_manifest(session)
        except (AutowebError, OSError) as error:
            where = _settings(session.config).report
            _refuse(session.config, f"the run cannot be saved in {where}: {first_line(error)}")


def _refuse_without_playwright(session: pytest.Session) -> None:
    """Refuse once where the fixtures that cells need are switched off, or another plugin's."""
    item = next(filter(fixtures.needs_browser, session.items), None)
    if item is None or session.config.option.collectonly:
        return
    if why := fixtures.lacks_playwright(item):
        session.items.clear()
        _refuse(session.config, why)


def _refuse_without_browser(session: pytest.Session) -> None:
    """Refuse once, before the first cell, where the machine lacks a browser that is asked for.

    A project that overrides how browsers are started knows better where they are.
    """
    config = session.config
    cell = next((item for item in session.items if hasattr(item, "cell")), None)
    if cell is None or config.option.collectonly or fixtures.starts_own_browsers(cell):
        return
    asked = config.getoption("--browser", None) or ["chromium"]
    channel = config.getoption("--browser-channel", None) or ""
    settings = _settings(config)
    if settings.connect or settings.cluster:
        return
    from pytest_autoweb.browser.egress.chromium import missing_browser

    if why := missing_browser(asked, channel):
        # A worker's session cannot be ended from here, so it is left nothing to run.
        session.items.clear()
        _refuse(config, why)


def _refuse_gates_alone(session: pytest.Session) -> None:
    """Refuse gates in a session that has nothing which they could judge."""
    config = session.config
    typed = any(str(arg).startswith("--autoweb-") for arg in config.invocation_params.args)
    uses = any(fixtures.FIXTURE in getattr(item, "fixturenames", ()) for item in session.items)
    if not typed or uses or session.testsfailed or _is_on(config):
        return
    from pytest_autoweb.settings.options import typed_gate

    if gate := typed_gate(config):
        _refuse(
            config,
            f"{gate} has nothing to judge: --autoweb-models names no models, and no selected test "
            f"uses the fixture `{fixtures.FIXTURE}`",
        )


def _refuse(config: pytest.Config, why: str) -> None:
    if (output := getattr(config, "workeroutput", None)) is None:
        raise _usage_error(why)
    # A worker cannot end the session, so its controller says so at the end.
    output[REFUSED_KEY] = why


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Remember what an xdist worker could not refuse by itself."""
    if why := getattr(node, "workeroutput", {}).get(REFUSED_KEY):
        node.config.stash[REFUSED] = why


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell why a session in workers ends as a usage error."""
    if why := terminalreporter.config.stash.get(REFUSED, ""):
        terminalreporter.write_line(f"ERROR: {why}", red=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Open a session for a test that uses the `autoweb` fixture, if the command line did not."""
    if fixtures.FIXTURE in getattr(item, "fixturenames", ()):
        from pytest_autoweb.session.items import SESSION

        if SESSION in item.config.stash:
            return
        if controller := _start(item.config, _settings(item.config)):
            controller.pytest_sessionstart()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Report what workers ran for the `autoweb` fixture alone."""
    config = session.config
    if REFUSED in config.stash:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    if SHARED in config.stash and not config.pluginmanager.has_plugin(CONTROLLER):
        if config.stash[SHARED].opened_file.exists():
            if controller := _start(config, _settings(config)):
                controller.pytest_sessionstart()
                # Registered in the middle of this very hook, so pluggy does not call it.
                controller.finish(session, exitstatus)
        else:
            shutil.rmtree(config.stash[SHARED].session_folder, ignore_errors=True)
