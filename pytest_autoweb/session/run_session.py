"""One pytest session as a process sees it: settings, models, run folder, gateway, web servers.

The first process that needs a model starts the session's gateway. The controller ends the session
with a report; xdist workers get the shared facts through `SharedRun` and only run cells.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from pytest_autoweb.agents.correction.naming_model import NamingModel
from pytest_autoweb.agents.outside.adapters import Settings as AgentSettings
from pytest_autoweb.agents.outside.adapters import declared_in_case, identity_of, settings_of
from pytest_autoweb.agents.outside.agent_process import check_command
from pytest_autoweb.agents.outside.agent_reach import level_of
from pytest_autoweb.agents.outside.tool_loop import check_skill
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import BrowserError, CaseError, ModelError, SettingsError
from pytest_autoweb.base.redaction import environment_keys
from pytest_autoweb.base.variant_names import PERSON
from pytest_autoweb.browser.egress.chromium import ON, own_sandbox
from pytest_autoweb.browser.egress.remote_browsers import BrowserPool
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.webserver_spec import Reset, ServerHandle
from pytest_autoweb.cell.cell_inputs import CellResources
from pytest_autoweb.cell.control_clients import builtin_client
from pytest_autoweb.cell.mutants import read_mutants
from pytest_autoweb.cell.strategies import STRATEGIES
from pytest_autoweb.judging.human_labels import read_labels
from pytest_autoweb.judging.model_judge import JudgeSelection, ModelJudge, judge_id
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.described_models import describe_model
from pytest_autoweb.models.gateway import (
    GatewayAddress,
    SharedGateway,
    start_gateway,
    stop_shared_gateway,
)
from pytest_autoweb.models.key_file import KEY_FILE, read_key_file
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import load_project_specs, written_in
from pytest_autoweb.models.spending import Ledger, price_advice
from pytest_autoweb.report.reported_agents import named_agents
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.judge_agreement import Agreement, agreements
from pytest_autoweb.results.records import ModelDescription, OutsideAgent
from pytest_autoweb.results.runs.live_session import LOG, move_log, sign_session
from pytest_autoweb.results.runs.progress_file import Progress
from pytest_autoweb.results.runs.run_folder import read_manifest
from pytest_autoweb.results.runs.saving import fresh_run_folder, reopen_run
from pytest_autoweb.sandbox.confined_program import refuse_gaps
from pytest_autoweb.sandbox.host import MakeEngine, worker_engine
from pytest_autoweb.session.flights.flights import how_many
from pytest_autoweb.session.local_analysis import full_name
from pytest_autoweb.session.named_models import cannot_call
from pytest_autoweb.session.servers.webservers import ServerPool, stop_all
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.settings.agent_command import AgentCommand
from pytest_autoweb.settings.record_modes import REPLAYING
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from pytest_autoweb.session.cluster.remote_session import RemoteSession


class Servers:
    """Provides attempts with web servers whose state was reset."""

    def __init__(self, shared: SharedRun) -> None:
        self._pool = ServerPool(Path(shared.session_folder), owner_pid=shared.owner_pid)

    @contextmanager
    def lend(self, case: LoadedCase) -> Iterator[ServerHandle | None]:
        """Provide the case file's running servers, reset; exclusively if they have HTTP resets."""
        if not case.webservers:
            yield None
            return
        with ExitStack() as stack:
            # Always in the same order, so that two attempts never wait for each other's server.
            handles = {
                name: stack.enter_context(self._pool.serving(webserver, case.path, name))
                for name, webserver in self._pool.in_order(case.webservers, case.path)
            }
            named = {name: handles[name] for name in case.webservers if name}
            first = handles[next(iter(case.webservers))]
            handle = first.model_copy(update={"named": named})
            for name, webserver in case.webservers.items():
                if isinstance(webserver.reset, Reset):
                    reset = case.resolve_reset(handle, name)
                    self._pool.reset(webserver, handles[name], reset)
            yield handle


class RunSession:
    """What this process runs cells with: settings, models, run folder, gateway, servers, browsers.

    Each process has one for a session. Processes know of each other only by the files and folders
    of `SharedRun`: whoever needs the run folder, the gateway or a web server first makes it, under
    a lock, and all others use it. So nothing is made for a session that runs no cell, and a worker
    that dies takes nothing with it that others need.

    State besides the settings:

    - `_specs` grows: the compared models at once, a judge or a case's model when it is asked for.
    - `_seen_browser` is the browser whose version and sandbox were noted last. It changes when a
      lost browser is replaced.
    - `mutants` and `agreements` are read at once, because what is wrong in these files has to end
      the session before it costs anything.
    - `away` decides where files go: on a node of a cluster, every finished cell is delivered to the
      session's machine, and the gateway is a relay that this process cannot start.

    Order of the calls: the controller calls `check_agents`, `check_browsers` and `check_models`
    once, before any cell. Each process calls `check_judges` for each case that it collects; then
    for each cell `cell_resources`, `see_browser` with each page it opens, and `deliver` once the
    cell is saved. `end_shared` ends what all processes shared; only the controller calls it, after
    the last cell.

    Args:
        settings: the session's.
        shared: the facts that all processes of the session share.
        environ: the environment variables, from which secrets are read.
        worker: the name of this process in records: xdist's of a worker, else `main`.
        custom_client: returns a user's client for a model, or None to leave it to the gateway.
        engine: makes what runs generated code.
        away: the session's machine, in a process on a node of a cluster.

    Raises:
        SettingsError: a model, or a file that the settings name, cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        shared: SharedRun,
        *,
        environ: Mapping[str, str],
        worker: str,
        custom_client: Callable[[ModelSpec], Client | None],
        engine: MakeEngine = worker_engine,
        away: "RemoteSession | None" = None,
    ) -> None:
        self.settings, self.shared = settings, shared
        self.run_folder = Path(shared.run_folder)
        self.progress = Progress(shared.progress_file)
        self.away = away
        self.environ, self._worker, self._custom = environ, worker, custom_client
        self._filed_keys = environment_keys(read_key_file(settings.rootdir / KEY_FILE))
        self._engine = engine
        self._servers = Servers(shared)
        folder = Path(shared.session_folder)
        self.browsers = BrowserPool(settings.connect, folder, worker) if settings.connect else None
        """Remote browsers; None if this machine starts its own."""
        self.gateway = SharedGateway(folder, self._start_gateway)
        self._seen_browser: Browser | None = None
        self._specs: dict[str, ModelSpec] = {}
        self._own_specs: dict[str, ModelSpec] = {}
        """The settings as the models' own say, without those for all."""
        self._learn(settings.models)
        path = settings.mutants
        self.mutants = read_mutants(settings.rootdir / path) if path else None
        """The changes of `autoweb prove` to each case's oracle; None in any other session."""
        self.agreements = self._read_agreements()
        """The agreement of the judges of `--autoweb-judge-labels` with people."""
        self._judges = JudgeSelection(
            self.spec,
            self.model,
            default=settings.judge_model,
            compared=settings.models,
            calibrated={found.judge for found in self.agreements if found.calibrated},
        )

        self._naming = self._naming_model()

    def _naming_model(self) -> NamingModel | None:
        name = self.settings.failure_model
        if not name:
            return None
        if self.spec(name).provider == "builtin":
            raise SettingsError(
                f"--autoweb-failure-model: {name} is a control and cannot name failures"
            )
        return NamingModel(name, partial(self.model, name))

    def spec(self, name: str) -> ModelSpec:
        """Return the settings of a model, even of one that is not on the command line.

        Raises:
            SettingsError: the name, or a setting, is unknown.
        """
        if name not in self._specs:
            self._learn((name,))
        return self._specs[name]

    def spec_for(self, name: str, way: str) -> ModelSpec:
        """Return the settings of a model for a case, which may say how scripts are written.

        Args:
            name: of the model.
            way: the case's; empty if it leaves that to the session.

        Raises:
            SettingsError: the name, or a setting, is unknown.
        """
        spec = self.spec(name)
        return written_in(self._own_specs[name], way) if way and not spec.agent_name else spec

    def concurrency(self, processes: int) -> int:
        """Return how many cells each test process may have in flight."""
        specs = [self.spec(name) for name in self.settings.models]
        return how_many(self.settings.concurrency, specs, processes)

    def model_settings(self) -> tuple[ModelDescription, ...]:
        """Return a description of each compared model, not of the controls."""
        specs = [self.spec(name) for name in self.settings.models]
        return tuple(describe_model(spec) for spec in specs if spec.provider != "builtin")

    def _read_agreements(self) -> tuple[Agreement, ...]:
        settings = self.settings
        if settings.judge_labels is None:
            return ()
        try:
            pairs = read_labels(settings.rootdir / settings.judge_labels).pairs()
        except CaseError as error:
            raise SettingsError(f"--autoweb-judge-labels: {error}") from None
        if settings.judge_model:
            pairs.setdefault(judge_id(self.spec(settings.judge_model)), [])
        return agreements(pairs)

    def _learn(self, names: Sequence[str]) -> None:
        settings = self.settings
        specs = load_project_specs(names, settings.rootdir, settings.models_file)
        self._own_specs |= specs
        if len(settings.codegen) == 1:
            way = settings.codegen[0]
            specs = {name: written_in(spec, way) for name, spec in specs.items()}
        self._specs |= specs

    def open_folder(self) -> Path:
        """Create the run folder once per session; move an older run aside unless it is resumed."""
        opened = self.shared.opened_file
        with FileLock(f"{opened}.lock"):
            if not opened.exists():
                if self.settings.resume:
                    reopen_run(self.run_folder)
                else:
                    fresh_run_folder(self.run_folder)
                if self.away is None:
                    pid, cluster = self.shared.owner_pid, bool(self.settings.cluster)
                    sign_session(self.run_folder, pid, self.shared.started, cluster=cluster)
                    move_log(self.environ.get(LOG, ""), self.run_folder)
                self.shared.progress_file.parent.mkdir(parents=True, exist_ok=True)
                opened.touch()
        return self.run_folder

    def deliver(self, cell: str, *, keep: bool) -> None:
        """Send a finished cell to the session's machine, if that is a different one.

        Args:
            cell: its folder below the run folder.
            keep: keep its files here as well, because more will follow.
        """
        if self.away is not None:
            self.away.deliver(cell, keep=keep)

    def key_names(self) -> tuple[str, ...]:
        """Return the names of variables that hold keys of the session's models."""
        own = (spec.api_key_env for spec in self._specs.values() if spec.api_key_env)
        usual = (f"{spec.provider.upper()}_API_KEY" for spec in self._specs.values())
        return (*own, *usual)

    def see_browser(self, browser: "Browser | None", *, remote: bool) -> None:
        """Note a browser's version and its own sandbox, once for each.

        Args:
            browser: the browser of a page that has just been opened.
            remote: it runs on another machine, where its processes are not visible.

        Raises:
            BrowserError: `--autoweb-browser-sandbox=strict` demands one, and it has none.
        """
        if browser is None or browser is self._seen_browser:
            return
        waiting.see_driver(browser)
        if browser.browser_type.name != "chromium":
            found = f"not Chromium but {browser.browser_type.name}"
        else:
            found = own_sandbox(browser, elsewhere=remote)
        with self.shared.browser_file.open("a", encoding="utf-8") as file:
            file.write(f"{browser.browser_type.name} {browser.version}\n")
        with self.shared.sandbox_file.open("a", encoding="utf-8") as file:
            file.write(f"{found}\n")
        if self.settings.browser_sandbox == "strict" and found != ON:
            raise BrowserError(
                f"--autoweb-browser-sandbox=strict: Chromium's own sandbox is {found}"
            )
        self._seen_browser = browser

    def seen_sandboxes(self) -> str:
        """Return the sandboxes of all processes' browsers, or "" if none was started."""
        return _noted(self.shared.sandbox_file)

    def seen_browsers(self) -> str:
        """Return the names and versions of all processes' browsers, or "" if none was started."""
        return _noted(self.shared.browser_file)

    @cached_property
    def _cells(self) -> int:
        """The number of the run's cells; 1 where its manifest is not at hand."""
        return len(read_manifest(self.open_folder()).cells) or 1

    def cell_resources(
        self, cell_name: str, folder: str, open_page: Callable[[dict[str, Any]], "Page"]
    ) -> CellResources:
        """Gather the resources of one cell.

        Args:
            cell_name: its name, as the progress display shows it.
            folder: its folder below the run folder.
            open_page: opens a page for it.
        """
        return CellResources(
            settings=self.settings,
            run_folder=self.open_folder(),
            client=self._client,
            servers=self._servers,
            open_page=open_page,
            environ=self.environ,
            filed_keys=self._filed_keys,
            worker=self._worker,
            cells=self._cells,
            run_id=self.shared.ts,
            engine=self._engine,
            progress=lambda text: self.progress.emit(cell_name, "stage", text, folder),
            stream=self._stream(cell_name, folder),
            judge=partial(ModelJudge, self._judges),
            naming=self._naming,
        )

    def _stream(self, cell_name: str, folder: str) -> Callable[[str], None]:
        if not self.settings.stdout:
            return lambda line: None
        return lambda line: self.progress.emit(cell_name, "log", line, folder)

    def _client(self, spec: ModelSpec, case: Case) -> Client:
        if spec.provider == "builtin":
            return builtin_client(spec.name, case)
        if (custom := self._custom(spec)) is not None:
            return custom
        self.gateway.add(spec)
        return self.gateway

    def model(self, name: str) -> Client:
        """Return the client that answers for a model outside of any case.

        Raises:
            SettingsError: the name, or a setting, is unknown.
        """
        spec = self.spec(name)
        if (custom := self._custom(spec)) is not None:
            return custom
        self.gateway.add(spec)
        return self.gateway

    def check_judges(self, case: LoadedCase) -> None:
        """Refuse a case whose judge cannot judge the models of this run.

        Raises:
            CaseError: the judge is unknown, a control, or one of the models compared.
        """
        for name in case.judge_models:
            try:
                self._judges.named(name)
            except SettingsError as error:
                raise CaseError(str(error), path=case.path, line=case.line) from None

    def _driven_from_outside(self) -> Iterator[tuple[str, AgentSettings, ModelSpec]]:
        """Yield the outside agents that the flags and the models' names and settings name."""
        for spec in map(self.spec, self.settings.models):
            name = spec.agent_name or self.settings.strategy
            outside = STRATEGIES.pick(name).outside
            if outside is not None and not is_control(spec.name):
                yield name, outside, spec

    def outside_agents(self) -> tuple[OutsideAgent, ...]:
        """Return the outside agents that are known before the cases are."""
        found = (
            identity_of(name, outside, spec, None, self.settings)
            for name, outside, spec in self._driven_from_outside()
        )
        return tuple(dict.fromkeys(found))

    def check_agents(self) -> None:
        """Check the programs of the outside agents that this run names.

        Raises:
            SettingsError: one of them is not installed, or its program is not found.
            SandboxError: one is to be held strictly, and this machine cannot.
        """
        for name, given, spec in self._driven_from_outside():
            if not spec.fences:
                raise SettingsError(
                    f"model {spec.name!r}: {name} writes its own prompts, so there are no "
                    "fences to switch off; compare them with agents such as codegen, act and webmcp"
                )
            if given is not declared_in_case or isinstance(spec.agent, AgentCommand):
                found = settings_of(given, spec, None)
                for program in found.programs:
                    check_command(name, [program], self.settings.rootdir)
                check_skill(name, found, self.settings.rootdir)
                refuse_gaps(level_of(found, self.settings.sandbox), name)

    def check_browsers(self, names: Sequence[str]) -> None:
        """Connect to each remote browser once, before the run costs anything.

        Args:
            names: the kinds of browsers that the session asks for.

        Raises:
            SettingsError: one cannot be used, or lacks a feature that only a local browser has.
        """
        if self.browsers is None:
            return
        if outside := self.outside_agents():
            raise SettingsError(
                f"--autoweb-connect: outside agents ({named_agents(outside)}) need a browser on "
                "this machine, which they connect to themselves"
            )
        # In its own thread, because Playwright can be used only once per thread.
        try:
            with ThreadPoolExecutor(1) as one:
                for name in names:
                    one.submit(self.browsers.look, name).result()
        except BrowserError as error:
            raise SettingsError(f"--autoweb-connect: {error}") from None

    def check_models(self) -> None:
        """Ask the gateway whether each model that this run may call live can and may be called.

        Raises:
            SettingsError: one line per model that cannot be called, or has no price despite a cap.
            ModelError: the gateway does not start.
        """
        others = [full_name(self.settings.local_model)] if self.settings.local_analyze else []
        judges = [self._judges.named(None).name] if self.settings.judge_model else []
        naming = [self.settings.failure_model] if self.settings.failure_model else []
        models = [name for name in self.settings.models if not self._is_person(name)]
        called = self._called([*models, *judges, *naming])
        self.gateway.add(*called, *self._called(others))
        if not called:
            return
        self._check_calls([spec.name for spec in called if self._is_live(spec.name)])
        may_cost = [spec.name for spec in called if self._may_be_live(spec.name)]
        self.check_prices([*may_cost, *others])

    def check_prices(self, names: Sequence[str]) -> None:
        """Refuse models without a known price, if there is a cost cap.

        Raises:
            SettingsError: one line per model, with what to do.
        """
        if self.settings.max_cost is None or self.settings.allow_unpriced or not names:
            return
        prices = self.gateway.prices(names)
        if unknown := [name for name, price in prices.items() if price is None]:
            lines = "\n  ".join(f"{name}: {price_advice(name)}" for name in unknown)
            raise SettingsError(
                f"--autoweb-max-cost: the price of these models is not known:\n  {lines}"
            )

    def _check_calls(self, names: Sequence[str]) -> None:
        checks = self.gateway.check(names) if names else ()
        if bad := [f"{check.model}: {check.detail}" for check in checks if not check.ok]:
            raise SettingsError(cannot_call(bad))

    def _is_person(self, name: str) -> bool:
        """Return whether a name in place of a model's is a person's, who is not called."""
        return (self.spec(name).agent_name or self.settings.strategy) == PERSON

    def _called(self, names: Iterable[str]) -> list[ModelSpec]:
        specs = [self.spec(name) for name in dict.fromkeys(names)]
        return [s for s in specs if s.provider != "builtin" and self._custom(s) is None]

    def _is_live(self, name: str) -> bool:
        return self.settings.record_mode == "off" or name in self.settings.live

    def _may_be_live(self, name: str) -> bool:
        return self.settings.record_mode not in REPLAYING or name in self.settings.live

    def _start_gateway(self, specs: Mapping[str, ModelSpec]) -> GatewayAddress:
        settings = self.settings
        if self.away is not None:
            why = "the relay to the session's machine does not answer"
            raise ModelError("unavailable", "gateway", why)
        return start_gateway(
            specs,
            record_mode=settings.record_mode,
            live=settings.live,
            cassettes=settings.rootdir / settings.cassettes,
            run_dir=Path(self.shared.session_folder),
            owner_pid=self.shared.owner_pid,
            lasting=True,
            max_cost=settings.max_cost,
            allow_unpriced=settings.allow_unpriced,
            key_file=settings.rootdir / KEY_FILE,
            ledger=Ledger(
                self.run_folder.absolute(),
                run=self.shared.ts,
                session=Path(self.shared.session_folder).name,
                spent=self.shared.spent_usd,
                started=self.shared.started,
            ),
        )


SESSION: pytest.StashKey[RunSession] = pytest.StashKey()
"""The session of this process."""


def end_shared(shared: SharedRun) -> None:
    """Stop gateway and web servers, and remove the session's temporary folder."""
    folder = Path(shared.session_folder)
    stop_shared_gateway(folder)
    stop_all(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _noted(file: Path) -> str:
    try:
        noted = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return "; ".join(dict.fromkeys(noted))
