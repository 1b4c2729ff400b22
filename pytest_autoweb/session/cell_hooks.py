"""What the plugin's hooks do in a session with cells; `plugin.py` has the hooks themselves."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser

from pytest_autoweb.base.errors import AutowebError, RegistrationError, SettingsError, first_line
from pytest_autoweb.base.interruption import Interruption
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.chromium import missing_browser
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.session.autoweb_fixture import Autoweb
from pytest_autoweb.session.case_files import is_case_file
from pytest_autoweb.session.case_needs import lacking_in, report_unmet
from pytest_autoweb.session.cells_again import CellsAgain
from pytest_autoweb.session.collection import CaseFile, InlineCases
from pytest_autoweb.session.controller import RunController
from pytest_autoweb.session.extras import make_scheduler, use_cluster
from pytest_autoweb.session.help_texts import fill_help
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.opened_session import open_session, write_manifest
from pytest_autoweb.session.other_plugins import CellProtocol
from pytest_autoweb.session.playwright_fixtures import (
    is_cell,
    runs_once,
    shares_browser,
    starts_own_browsers,
)
from pytest_autoweb.session.recordings import Recordings, is_recorded
from pytest_autoweb.session.refused_sessions import refuse, usage_error
from pytest_autoweb.session.registration import Registry, load_variants
from pytest_autoweb.session.run_session import SESSION
from pytest_autoweb.session.session_browser import browser_launcher, chosen_launch_args
from pytest_autoweb.session.shards import ShardSelection
from pytest_autoweb.session.shared_run import (
    CONTROLLER,
    WORKER_KEY,
    SharedRun,
    on_node,
    shared_run_of,
)
from pytest_autoweb.session.steered_cells import steered_cells
from pytest_autoweb.session.touched_cells import TOUCHED, TouchedSelection
from pytest_autoweb.session.until import UNTIL, EarlyStop
from pytest_autoweb.session.worker_marks import mark_worker
from pytest_autoweb.settings.run_settings import Settings, old_names, read_settings

if TYPE_CHECKING:
    from pytest_autoweb.session.autoweb_step import AutowebStep


class CellHooks:
    """What the plugin's hooks do in a session with cells.

    A process has one for each session, from the first hook on that needs it: `pytest_configure`
    where models are named; else the one that finds a test with the `autoweb` fixture, or the end of
    a session whose workers ran one.

    State, each part of which is decided once and then stays:

    - `_registry`: what the user's code added to the variants. It comes before the settings, which
      may name variants, and is undone at the end, because one process may run several sessions.
    - `_settings`: read by `configure` where models are named, else when a test first runs a cell.
    - `_shards`: the split of the cells, with `--autoweb-shard`.
    - in pytest's stash `SHARED`, the folders of the session, which its controller decides and sends
      to the workers; and `SESSION`, what this process runs cells with. A worker has it from
      `configure` on, any other process from `pytest_sessionstart` of its `RunController` on. Where
      no models are named, both have it from `open_for_fixture` on.

    Order of the calls:

    - With models: `configure`, `case_file` for each file, `complete`, then whatever deselects,
      `run_by_own_protocol`, `finish_collection`, the cells, `unconfigure`. A controller of workers
      collects nothing: `configure`, `scheduler`, `unconfigure`.
    - Without models: `run_by_own_protocol`, `open_for_fixture` before each test that uses the
      fixture, `unconfigure`. A controller of workers: `report_workers`, `unconfigure`.
    - With `--help`: `explain`, then as above.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._registry: Registry | None = None
        self._settings: Settings | None = None
        self._shards: ShardSelection | None = None

    @property
    def has_models(self) -> bool:
        return self._settings is not None and bool(self._settings.models)

    @property
    def settings(self) -> Settings:
        """Return the settings, which are read once.

        Raises:
            pytest.UsageError: one of them is invalid.
        """
        if self._settings is None:
            self._load_variants()
            try:
                self._settings = read_settings(self._config, os.environ)
            except SettingsError as error:
                raise usage_error(str(error)) from None
        return self._settings

    def _load_variants(self) -> None:
        if self._registry is None:
            try:
                self._registry = load_variants(self._config.hook, self._config.rootpath)
            except RegistrationError as error:
                raise usage_error(str(error)) from None

    def old_names(self) -> list[str]:
        """Return a sentence for each setting that was given under a name of earlier versions."""
        return old_names(self._config, os.environ) if self._settings is not None else []

    def explain(self) -> None:
        """Name every registered variant in the help that pytest is about to print."""
        self._load_variants()
        fill_help(self._config)

    def configure(self) -> None:
        """Turn the plugin on for the named models.

        Raises:
            pytest.UsageError: a setting is invalid, or this session cannot do what it names.
        """
        self._add_cases_file()
        self._register_modes()
        self._start()

    def unconfigure(self) -> None:
        """Forget what the user's code added, for the next session of this process."""
        if self._registry is not None:
            self._registry.undo()

    def _add_cases_file(self) -> None:
        """Treat `--autoweb-cases-file` as an argument.

        It and inline cases replace the default arguments.
        """
        config, settings = self._config, self.settings
        if not (settings.cases_file or settings.cases):
            return
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = []
        if settings.cases_file:
            path = config.invocation_params.dir / settings.cases_file
            if not path.is_file():
                raise usage_error(f"--autoweb-cases-file: there is no file {path}")
            if str(path) not in config.args:
                config.args = [*config.args, str(path)]

    def _register_modes(self) -> None:
        """Register what only some sessions do: running a shard, or a preview."""
        config, settings = self._config, self.settings
        manager = config.pluginmanager
        if settings.shard:
            self._shards = ShardSelection(settings.shard)
            manager.register(self._shards, "autoweb-shard")
        if settings.until and settings.mutants is None:
            config.stash[UNTIL] = EarlyStop(config, settings)
            manager.register(config.stash[UNTIL], "autoweb-until")
        if touched := os.environ.get(TOUCHED, ""):
            manager.register(TouchedSelection(touched), "autoweb-touched")
            # The first run has shown it, and it is longer than the news of one case.
            config.option.no_header = config.option.no_header or config.option.verbose <= 0
        collects = config.option.collectonly or settings.preview
        if config.getoption("tx", None):
            _refuse_names_for_workers(config)
        if settings.cluster and not collects and not hasattr(config, "workerinput"):
            try:
                use_cluster(config)
            except SettingsError as error:
                raise usage_error(str(error)) from None
        if settings.preview:
            # Late, because it is only there to look at what would run.
            from pytest_autoweb.session.preview import Preview

            manager.register(Preview(config), "autoweb-preview")

    def _start(self) -> RunController | None:
        """Open this process's part of the session: the controller, or an xdist worker's."""
        config = self._config
        interruption = Interruption()
        interruption.install()
        config.add_cleanup(interruption.restore)
        workerinput = getattr(config, "workerinput", None)
        if workerinput is None:
            shared = shared_run_of(config)
            controller = RunController(config, self.settings, shared, interruption)
            config.pluginmanager.register(controller, CONTROLLER)
            return controller
        shared = on_node(SharedRun.parse(workerinput[WORKER_KEY]), os.environ)
        if not shared.away:
            mark_worker(shared, interruption)
        worker = workerinput["workerid"]
        config.stash[SESSION] = open_session(config, self.settings, shared, worker=worker)
        return None

    def scheduler(self, log: Any) -> Any:
        """Return xdist's scheduler for cells in flight; None if this xdist has changed."""
        workers = len(self._config.getvalue("tx"))
        most = self._config.stash[SESSION].concurrency(workers)
        steered = steered_cells(self._config)
        until = self._config.stash.get(UNTIL, None)
        return make_scheduler(
            self._config,
            log,
            lambda: steered.most_in_flight(most),
            on_cluster=bool(self.settings.cluster),
            order=until.order_nodes if until else None,
        )

    def case_file(self, path: Path, parent: pytest.Collector) -> CaseFile | None:
        """Return the collector of a file, or None if it is not read as cases."""
        if is_case_file(path, parent.session, self.settings):
            return CaseFile.at(path, parent)
        return None

    def complete(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the inline cases, and divide all cells into shards before anything is deselected."""
        config = self._config
        if self.settings.cases:
            inline = InlineCases.from_parent(session, path=config.rootpath / "autoweb-cases")
            report = config.hook.pytest_make_collect_report(collector=inline)
            config.hook.pytest_collectreport(report=report)
            items.extend(report.result)
        if self._shards is not None:
            self._shards.divide(items)

    def run_by_own_protocol(self) -> None:
        """Let cells, and tests that use the `autoweb` fixture, run by a protocol of their own."""
        manager = self._config.pluginmanager
        manager.register(CellProtocol(self._config, runs_once, shares_browser))
        if self.has_models:
            manager.register(CellsAgain(self._config), "autoweb-cells-again")
        if is_recorded(self._config):
            manager.register(Recordings())

    def finish_collection(self, session: pytest.Session) -> None:
        """Look for what the cells need and save the manifest, once it is known which they are."""
        cells = any(map(is_cell, session.items))
        if cells and not self.settings.preview:
            report_unmet(session)
            self._refuse_without_browser(session)
            self._tell_lacking(session)
        if cells or self._shards is not None:
            try:
                write_manifest(session)
            except (AutowebError, OSError) as error:
                where = self.settings.report
                refuse(self._config, f"the run cannot be saved in {where}: {first_line(error)}")

    def _tell_lacking(self, session: pytest.Session) -> None:
        """Let the controller of workers, which collects nothing, say what cells may lack."""
        worker = getattr(self._config, "workerinput", {}).get("workerid")
        if worker is None or (shared := self._config.stash[SESSION].shared).away:
            return
        cells = [item.cell for item in session.items if isinstance(item, CellItem)]
        if told := list(lacking_in(cells)):
            with suppress(OSError):
                shared.lacking_file(worker).write_text("\n".join(told), encoding="utf-8")

    def _refuse_without_browser(self, session: pytest.Session) -> None:
        """Refuse once, before the first cell, where the machine lacks a browser that is asked for.

        A project that overrides how browsers are started knows better where they are.
        """
        config = self._config
        cell = next(filter(is_cell, session.items), None)
        if cell is None or config.option.collectonly or starts_own_browsers(cell):
            return
        if self.settings.connect or self.settings.cluster:
            return
        asked = config.getoption("--browser", None) or ["chromium"]
        channel = config.getoption("--browser-channel", None) or ""
        if why := missing_browser(asked, channel):
            # A worker's session cannot be ended from here, so it is left nothing to run.
            session.items.clear()
            refuse(config, why)

    def open_for_fixture(self) -> None:
        """Open the session for a test that uses the `autoweb` fixture, unless it is open."""
        if SESSION not in self._config.stash and (controller := self._start()):
            controller.pytest_sessionstart()

    def report_workers(self, session: pytest.Session, exitstatus: int) -> None:
        """Report what workers ran for the `autoweb` fixture alone, in a session without models."""
        if controller := self._start():
            controller.pytest_sessionstart()
            # Registered in the middle of this very hook, so pluggy does not call it.
            controller.finish(session, exitstatus)

    def launch_args(self, given: dict[str, Any], request: pytest.FixtureRequest) -> dict[str, Any]:
        return chosen_launch_args(given, request)

    def launcher(
        self, given: Callable[..., Browser], request: pytest.FixtureRequest
    ) -> Callable[..., Browser]:
        return browser_launcher(given, request)

    def autoweb(self, request: pytest.FixtureRequest) -> Autoweb:
        """Return the value of the `autoweb` fixture."""
        return Autoweb(request)

    def autoweb_step(self, request: pytest.FixtureRequest) -> "AutowebStep":
        """Return the value of the `autoweb_step` fixture."""
        # Late, because few sessions have such tests.
        from pytest_autoweb.session.autoweb_step import AutowebStep

        return AutowebStep(request)

    def step_models(self) -> tuple[str, ...]:
        """Return the models for which tests that take steps run, where they are several."""
        models = tuple(name for name in self.settings.models if not is_control(name))
        return models if len(models) > 1 else ()


def _refuse_names_for_workers(config: pytest.Config) -> None:
    """Refuse names that xdist tells its workers and cannot write down, which it would die of."""
    names = (*sys.argv, *config.args, str(config.rootpath), str(Path.cwd()))
    if bad := next((name for name in names if whole_text(name) != name), ""):
        raise usage_error(
            f"{whole_text(bad)} is not valid UTF-8, and xdist takes no such name to its workers: "
            "rename it, or run without -n"
        )
