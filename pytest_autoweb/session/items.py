"""Case files as pytest collectors, cells as pytest items with real fixtures."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_autoweb.agents.choice.feedback import CHOICES_COUNTED
from pytest_autoweb.agents.correction.retry_rules import CORRECTIONS_COUNTED
from pytest_autoweb.agents.outside.adapters import settings_of
from pytest_autoweb.base.errors import (
    CaseError,
    SettingsError,
    first_line,
    joined_errors,
    named_line,
)
from pytest_autoweb.base.installation import extra_of_store, require_extras
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.base.waiting import waiting
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import LoadedCase, load_case_file, load_inline
from pytest_autoweb.cell.pipeline import (
    broken_cell,
    planned_cell,
    run_cell,
    skipped_cell,
    unsaved_cell,
)
from pytest_autoweb.cell.prepared_cell import Cell, CellResources, Mutant
from pytest_autoweb.cell.strategies import ARMS, CODEGEN, strategy_of
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.report.ci_formats import junit_properties
from pytest_autoweb.results.analysis.verdict_validity import NOOP, ORACLE, is_control
from pytest_autoweb.results.records import CaptureModeName, CellResult, Failure, PlannedCell
from pytest_autoweb.results.runs.saving import cell_folder, mark_started, unmark_started
from pytest_autoweb.session.browser_replacement import (
    close_contexts,
    leave_living,
    open_apart,
    open_living,
)
from pytest_autoweb.session.flights.flights import FLIGHTS, Flights, OpenPage, processes_of
from pytest_autoweb.session.flights.spare_page import spare_page_of
from pytest_autoweb.session.progress import pause_of
from pytest_autoweb.session.pytest_outcome import CellEnded, conclude, describe, policy_of
from pytest_autoweb.session.resuming import ResumedCells
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.session.single_runs import BegunBefore, first_result, note_end
from pytest_autoweb.settings.run_settings import Settings

# Late imports: a store or a cache is an extra, which few sessions have.

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from pytest_autoweb.agents.correction.call_cache import Cache
    from pytest_autoweb.agents.correction.retry_rules import PastCorrections
    from pytest_autoweb.browser.egress.guarded_page import ReadyPage
    from pytest_autoweb.cases.case import Case

SESSION: pytest.StashKey[RunSession] = pytest.StashKey()
HIDDEN: pytest.StashKey[waiting.HiddenLoop] = pytest.StashKey()
"""What hides Playwright's loop between cells."""
UNSHARDED_ITEMS: pytest.StashKey[list[pytest.Item]] = pytest.StashKey()
"""In a shard, all items that the session would run without `--autoweb-shard`."""
_FIRST_PATH: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""The first file of the session in which each case id was found."""
_CACHE: pytest.StashKey["Cache"] = pytest.StashKey()
_RESUMED: pytest.StashKey[ResumedCells] = pytest.StashKey()
_MARKS: pytest.StashKey[dict[tuple[str, ...], list[pytest.MarkDecorator]]] = pytest.StashKey()
CONTROL_RUNS = 3
"""How many times `--autoweb-controls` runs each control of a case, each from a fresh start."""
RECORDINGS = ("tracing", "video", "screenshot")
"""pytest-playwright's flags for recording a test."""
_TURN: pytest.StashKey[bool] = pytest.StashKey()
"""Whether an item's turn has come."""
RECORDED_IN: pytest.StashKey[Path] = pytest.StashKey()
"""The folder into which pytest-playwright writes an item's recordings."""
NO_SECRETS = (
    "the case has secrets, which an outside agent is told only with `secrets: true` in its settings"
)
NO_ORACLE = "the case has no `oracle` script, so nothing shows that its checks can pass"
BAD_CASES = "bad case file"
"""The text in the report of an unreadable case file, which makes the run exit with code 4."""


class CaseFile(pytest.File):
    """A case file: one item per case, model, capture mode and repeat."""

    fixtureinfo: Any = None
    """pytest's list of the fixtures that its cells use, once there is a cell."""

    @classmethod
    def at(cls, path: Path, parent: pytest.Collector) -> "CaseFile":
        """Return the collector of a file, whose id can be written down whatever its name is."""
        name = _relative(path, parent.config.rootpath)
        own: Any = {} if whole_text(name) == name else {"nodeid": whole_text(name)}
        file: CaseFile = cls.from_parent(parent, path=path, **own)
        return file

    def collect(self) -> Iterator["CellItem"]:
        """Yield the cells, in the file's order."""
        name = _relative(self.path, self.config.rootpath)
        if whole_text(name) != name:
            # Such a name would stand in every record of its cells, and in what workers send.
            raise self.CollectError(
                f"{BAD_CASES}\n{whole_text(name)}: its path is not valid UTF-8: rename it"
            )
        try:
            cases = self.load()
            for case in cases:
                self.config.stash[SESSION].check_judges(case)
        except CaseError as error:
            raise self.CollectError(f"{BAD_CASES}\n{error}") from None
        yield from _cells(self, cases)

    def load(self) -> tuple[LoadedCase, ...]:
        """Return the cases of the file."""
        return load_case_file(self.path, deployment_of(self.config.stash[SESSION].settings))


class InlineCases(CaseFile):
    """The cases of `--autoweb-cases`."""

    def load(self) -> tuple[LoadedCase, ...]:
        """Return the cases given on the command line."""
        return load_inline(self.config.stash[SESSION].settings.cases)


class CellItem(pytest.Function):
    """One cell. Its fixtures, markers, flags and reports are those of a test function."""

    cell: Cell
    outside: bool = False
    """Whether an outside agent drives its browser."""

    def repr_failure(  # type: ignore[override]  # as in pytest.Function itself
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show a failed cell's outcome instead of a traceback through this package."""
        if isinstance(excinfo.value, CellEnded):
            return "\n".join(describe(excinfo.value.result))
        if isinstance(excinfo.value, BegunBefore):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the case is defined, with its own line in the file."""
        return self.path, max(0, self.cell.case.line - 1), self.name


class _Axes(NamedTuple):
    """The axes by which the cells of a case differ."""

    model: str
    mode: CaptureModeName
    repeat: int


def _cells(parent: CaseFile, cases: tuple[LoadedCase, ...]) -> Iterator[CellItem]:
    session = parent.config.stash[SESSION]
    for position, case in enumerate(cases):
        for axes in _axes(session, case, position):
            yield _item(parent, session, case, axes)


def _axes(session: RunSession, case: LoadedCase, position: int) -> Iterator[_Axes]:
    """Yield the controls first, if requested, and then the models."""
    settings = session.settings
    if session.mutants is not None:
        own = session.mutants.get(_key(case, settings), {})
        yield from (_Axes(name, settings.capture_modes[0], 1) for name in own)
        return
    models = settings.models
    if settings.controls:
        yield from _control_axes(settings, case)
        models = tuple(model for model in models if not is_control(model))
    # Rotated, so that no model always gets a freshly started server or always comes last.
    turn = position % max(1, len(models))
    for model in (*models[turn:], *models[:turn]):
        spec = session.spec(model)
        strategy = strategy_of(strategy_name(case, spec, settings), spec)
        # A strategy that uses no capture mode would have the same prompts in each.
        modes = settings.capture_modes if strategy.uses_capture else settings.capture_modes[:1]
        for mode in modes:
            for repeat in range(1, settings.repeat + 1):
                yield _Axes(model, mode, repeat)


def _control_axes(settings: Settings, case: LoadedCase) -> Iterator[_Axes]:
    for model in (ORACLE, NOOP):
        # A case without an oracle script is skipped; reporting this once is enough.
        runs = 1 if model == ORACLE and not case.has_oracle else CONTROL_RUNS
        for repeat in range(1, runs + 1):
            yield _Axes(model, settings.capture_modes[0], repeat)


def _item(parent: CaseFile, session: RunSession, case: LoadedCase, axes: _Axes) -> CellItem:
    settings = session.settings
    item: CellItem = CellItem.from_parent(
        parent,
        name=cell_name(case.id, *axes, settings),
        callobj=_test_function(case),
        fixtureinfo=parent.fixtureinfo,
    )
    # All cells of a file use the same fixtures, so pytest has to find them only once.
    parent.fixtureinfo = item._fixtureinfo
    if (structured := getattr(item, "id", None)) is not None:
        # Since 9.2 pytest compares ids in parts; `--lf` reads them from text, where `[` begins one.
        item._id = type(structured).parse(item.nodeid)
    case_path = _relative(case.path, settings.rootdir)
    spec = session.spec(axes.model)
    item.cell = Cell(
        case=case,
        spec=spec,
        mode=axes.mode,
        repeat=axes.repeat,
        nodeid=item.nodeid,
        case_path=case_path,
        folder=cell_folder(_folder_name(parent.config, case.id, case_path), *axes),
        strategy=strategy_name(case, spec, settings),
        mutant=_mutant(session, case, spec),
    )
    item.outside = is_outside(item.cell)
    for mark in _marks(parent.config, case.tags):
        item.add_marker(mark)
    return item


def _marks(config: pytest.Config, tags: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    """Return the marks of a cell, for `-m`: its tags, also in the spelling before version 0.2."""
    known = config.stash.setdefault(_MARKS, {})
    if tags not in known:
        words = [word for tag in tags for word in (tag, tag.replace("-", "_").replace(".", "_"))]
        for name in words:
            # Declared first, because `--strict-markers` refuses undeclared marks.
            declaration = f"{name}: tag of autoweb cases"
            if declaration not in config.getini("markers"):
                config.addinivalue_line("markers", declaration)
        known[tags] = [getattr(pytest.mark, name) for name in dict.fromkeys(("autoweb", *words))]
    return known[tags]


def deployment_of(settings: Settings) -> Deployment:
    """Return the site under test, as the session's flags name it."""
    return Deployment(settings.base_url)


def strategy_name(case: LoadedCase, spec: ModelSpec, settings: Settings) -> StrategyName:
    """Return the strategy that drives the browser; controls are scripts, whatever the case sets."""
    if is_control(spec.name):
        return CODEGEN.name
    return spec.agent_name or case.strategy or settings.strategy


def _folder_name(config: pytest.Config, case_id: str, case_path: str) -> str:
    """Return the case's id, with its path when another file of the session has the same id."""
    first = config.stash.setdefault(_FIRST_PATH, {}).setdefault(case_id, case_path)
    return case_id if first == case_path else f"{case_id}@{case_path}"


def cell_name(case_id: str, model: str, mode: str, repeat: int, settings: Settings) -> str:
    """Name a cell, e.g. `login[openai/gpt-5-mini]`; add mode and repeat if there are several."""
    parts = [model]
    if len(settings.capture_modes) > 1:
        parts.append(mode)
    if settings.repeat > 1 or (settings.controls and is_control(model)):
        parts.append(str(repeat))
    return f"{case_id}[{'-'.join(parts)}]"


def _key(case: LoadedCase, settings: Settings) -> str:
    """Return a case's name in the file of mutants."""
    return f"{_relative(case.path, settings.rootdir)}::{case.id}"


def _mutant(session: RunSession, case: LoadedCase, spec: ModelSpec) -> Mutant | None:
    if session.mutants is None:
        return None
    return session.mutants.get(_key(case, session.settings), {}).get(spec.name)


@cache
def _relative(path: Path | None, rootdir: Path) -> str:
    if path is None:
        return "inline"
    return path.relative_to(rootdir).as_posix() if path.is_relative_to(rootdir) else path.name


def _test_function(case: LoadedCase) -> Callable[[pytest.FixtureRequest], None]:
    """Return the test function of an item; other plugins show its docstring as a description."""

    def run_cell_of_item(request: pytest.FixtureRequest) -> None:
        run_item(request)

    run_cell_of_item.__doc__ = case.user_task_template
    return run_cell_of_item


def run_item(request: pytest.FixtureRequest) -> None:
    """Run a cell with Playwright's loop shown, which is hidden from all that runs around it."""
    with request.config.stash[HIDDEN].shown():
        _run_once(request)


def _run_once(request: pytest.FixtureRequest) -> None:
    """Run a cell once, however often other plugins run its item."""
    item = request.node
    session = request.config.stash[SESSION]
    if recorded(request.config):
        item.stash[RECORDED_IN] = Path(request.getfixturevalue("output_path"))
    flights = _flights(request)
    # A cell in flight may have ended before its turn.
    item.stash[_TURN] = True
    begun = flights is not None and flights.has_begun(item)
    if not begun and (first := first_result(item.config, session, item.cell)) is not None:
        conclude(first, policy_of(request.config, session.settings))
        return
    result = kept_result(item)
    if result is None:
        alone = partial(run_with_fixtures, item.cell, session, request)
        result = flights.result_of(request, alone) if flights else alone()
        with waiting.loop_hidden():
            request.config.hook.pytest_autoweb_cell_finished(result=result)
    else:
        session.progress.emit(_shown_name(item.cell), "end", result.outcome)
    note_end(item.config, session, item.cell, result)
    item.stash[_TURN] = False
    item.user_properties.extend(junit_properties(result))
    if kept := _kept_by_playwright(item):
        item.user_properties.append(("autoweb_contains_secrets", kept))
        item.warn(pytest.PytestWarning(f"{item.name}: files of {kept} contain secrets of the case"))
    conclude(result, policy_of(request.config, session.settings))


def kept_result(item: CellItem) -> CellResult | None:
    """Return a cell's result that a resumed run keeps; None if the cell is to run."""
    session, config = item.config.stash[SESSION], item.config
    if (away := session.away) is not None and (
        ended := away.begin(item.cell.folder, item.nodeid)
    ) is not None:
        return ended
    if not session.settings.resume:
        return None
    if _RESUMED not in config.stash:
        folder, told = session.run_folder, session.shared.resumed_file
        config.stash[_RESUMED] = ResumedCells(config, folder, told)
    return config.stash[_RESUMED].kept(item.cell, session.settings)


def recorded(config: pytest.Config) -> bool:
    """Tell whether pytest-playwright keeps traces, videos or pictures of tests."""
    return any(config.getoption(name, "off") != "off" for name in RECORDINGS)


def _kept_by_playwright(item: CellItem) -> str:
    """Return the flags that make pytest-playwright record a case with secrets.

    Secrets cannot be removed from its traces, videos and pictures.
    """
    flags = [f"--{name}" for name in RECORDINGS if item.config.getoption(name, "off") != "off"]
    return ", ".join(flags) if item.cell.case.has_secrets else ""


def run_with_fixtures(
    cell: Cell, session: RunSession, request: pytest.FixtureRequest
) -> CellResult:
    """Run a cell on contexts made by pytest-playwright's `new_context`.

    The fixture is requested while the cell runs, so that a browser that cannot be started makes a
    `broken` cell like any other infrastructure failure.
    """
    outside = is_outside(cell)

    def open_page(context_args: dict[str, Any]) -> "Page":
        page = (open_apart if outside else open_living)(request, context_args)
        opened.append(page.context)
        session.see_browser(page.context.browser, remote=connected or pool is not None)
        return page

    def ready_page() -> "ReadyPage | None":
        ready = spare.take(request) if spare else None
        if ready is not None:
            opened.append(ready.page.context)
            session.see_browser(ready.page.context.browser, remote=False)
        return ready

    opened: list[BrowserContext] = []
    pool, connected = session.browsers, bool(request.getfixturevalue("connect_options"))
    remote = connected or (pool is not None and not pool.reaches_proxy)
    spare = None if outside or connected or pool is not None else spare_page_of(request)
    try:
        lent = _resources(cell, session, request.config, open_page, remote=remote)
    except (SettingsError, OSError) as error:
        return _without_place(cell, error)
    resources = replace(lent, ready_page=ready_page)
    with WATCH.on():
        try:
            result = _run_or_break(cell, resources)
        finally:
            leave_living(request, opened)
    session.deliver(cell.folder, keep=recorded(request.config))
    tell_end(session, cell, result)
    return result


def _without_place(cell: Cell, error: Exception) -> CellResult:
    """Return the result of a cell whose run folder cannot be made."""
    return unsaved_cell(cell, Failure(kind="internal", message=first_line(error)))


def tell_end(session: RunSession, cell: Cell, result: CellResult) -> None:
    """Tell whoever follows the run how a cell ended, and what it cost."""
    name = _shown_name(cell)
    if cost := result.total_usage.cost_usd:
        session.progress.emit(name, "spent", str(cost))
    session.progress.emit(name, "end", result.outcome)


def _run_in_flight(item: pytest.Item, open_page: OpenPage) -> CellResult:
    """Run a cell on contexts of a shared browser, whose other cells may proceed first."""

    def opening(context_args: dict[str, Any]) -> "Page":
        page = open_page(context_args)
        opened.append(page.context)
        session.see_browser(page.context.browser, remote=session.browsers is not None)
        return page

    assert isinstance(item, CellItem)
    session = item.config.stash[SESSION]
    # Of the item whose turn it is, this is known already.
    is_next = item.stash.get(_TURN, False)
    if not is_next and (first := first_result(item.config, session, item.cell)) is not None:
        return first
    if (kept := kept_result(item)) is not None:
        return kept
    opened: list[BrowserContext] = []
    with WATCH.on(), waiting.working():
        try:
            try:
                resources = _resources(item.cell, session, item.config, opening, remote=False)
            except (SettingsError, OSError) as error:
                return _without_place(item.cell, error)
            result = _run_or_break(item.cell, resources)
        finally:
            close_contexts(opened)
    session.deliver(item.cell.folder, keep=recorded(item.config))
    tell_end(session, item.cell, result)
    return result


def _resources(
    cell: Cell,
    session: RunSession,
    config: pytest.Config,
    open_page: OpenPage,
    *,
    remote: bool,
) -> CellResources:
    return replace(
        session.cell_resources(_shown_name(cell), open_page),
        remote=remote,
        relogin=_relogin(config),
        pause=pause_of(config) if session.settings.pause else None,
        past=_past(cell, session.settings),
        mistaken=_mistaken(cell, session.settings),
        # Data read from a page may contain its secrets, which must not leave this process.
        cache=None if cell.case.has_secrets else _cache(config, session.settings),
    )


def _shown_name(cell: Cell) -> str:
    return cell.nodeid.partition("::")[2] or cell.nodeid


def _flights(request: pytest.FixtureRequest) -> Flights | None:
    """Return this process's cells in flight; None if cells run one by one."""
    stash = request.config.stash
    if FLIGHTS not in stash:
        most = stash[SESSION].concurrency(processes_of(request.config))
        pool = stash[SESSION].browsers
        gap = pool.gap if pool else ""
        stash[FLIGHTS] = (
            Flights(request.session, most, _run_in_flight, _unfinished, gap) if most > 1 else None
        )
    return stash[FLIGHTS]


def _unfinished(item: pytest.Item, why: str) -> None:
    """Save why a cell in flight was not finished; without a reason, it never began."""
    assert isinstance(item, CellItem)
    folder = item.config.stash[SESSION].run_folder
    if why:
        mark_started(folder, item.cell.folder, why)
    else:
        unmark_started(folder, item.cell.folder)
        if (away := item.config.stash[SESSION].away) is not None:
            away.forget(item.cell.folder)


def _relogin(config: pytest.Config) -> "Callable[[Case, Page], object] | None":
    """Return the user's login hook, or None if there is no implementation."""
    hook = config.hook.pytest_autoweb_relogin
    if not hook.get_hookimpls():
        return None

    def relogin(case: "Case", page: "Page") -> object:
        with waiting.loop_hidden():
            return hook(case=case, page=page)

    return relogin


def _past(cell: Cell, settings: Settings) -> "PastCorrections":
    """Return whether the correction arm helped before; compared arms always run to the end."""
    arm, *others = settings.correction
    if not settings.store or others or not ARMS.pick(arm).informed or is_control(cell.spec.name):
        return {}
    from pytest_autoweb.store.session_hooks import corrections_so_far

    return corrections_so_far(
        settings.store, settings.rootdir, cell.spec.name, arm, CORRECTIONS_COUNTED
    )


def _mistaken(cell: Cell, settings: Settings) -> Mapping[str, tuple[int, int]]:
    """Return the model's error counts for each kind of element, for cells that choose elements."""
    if not settings.store or cell.strategy == CODEGEN.name or is_control(cell.spec.name):
        return {}
    from pytest_autoweb.store.session_hooks import mistaken_kinds

    return mistaken_kinds(settings.store, settings.rootdir, cell.spec.name, CHOICES_COUNTED)


def _cache(config: pytest.Config, settings: Settings) -> "Cache | None":
    """Return the cache at a URL, which is opened once in each process."""
    if "://" not in settings.cache:
        return None
    if _CACHE not in config.stash:
        config.stash[_CACHE] = opened = open_cache(settings.cache, settings.rootdir)
        config.add_cleanup(opened.close)
    return config.stash[_CACHE]


def open_cache(url: str, rootdir: Path) -> "Cache":
    """Open the cache at a URL, importing its packages only then.

    Raises:
        SettingsError: the URL is invalid, or a package is missing.
    """
    from pytest_autoweb.store.redis_cache import SCHEMES, open_redis_cache

    if url.startswith(SCHEMES):
        return open_redis_cache(url)
    require_extras(extra_of_store(url))
    from pytest_autoweb.store.session_hooks import open_store_cache

    return open_store_cache(url, base=rootdir)


INTERRUPTED = "interrupted while it ran"
"""The reason recorded for a cell that Ctrl-C ended."""


def _run_or_break(cell: Cell, resources: Any) -> CellResult:
    if cell.spec.name == ORACLE and not cell.case.has_oracle:
        return skipped_cell(cell, resources, NO_ORACLE)
    if _lacks_secrets(cell):
        return skipped_cell(cell, resources, NO_SECRETS)
    try:
        return run_cell(cell, resources)
    except KeyboardInterrupt:
        mark_started(resources.run_folder, cell.folder, INTERRUPTED)
        raise
    except pytest.fail.Exception as error:
        # pytest-timeout raises this from a signal handler, wherever the cell is.
        if "pytest-timeout" not in str(error):
            raise
        message = f"timed out by pytest-timeout: {error}"
        return broken_cell(cell, resources, Failure(kind="killed", message=message))
    except Exception as error:
        if was_interrupted(error):
            mark_started(resources.run_folder, cell.folder, INTERRUPTED)
            raise KeyboardInterrupt from error
        # The browser's fixture may have failed, or this package has a bug. Neither must stop other
        # cells.
        from_browser = "playwright" in type(error).__module__ or "Browser" in type(error).__name__
        failure = Failure(
            kind="browser" if from_browser else "internal",
            message=named_line(error),
        )
        return broken_cell(cell, resources, failure)


def is_outside(cell: Cell) -> bool:
    """Tell whether an outside agent drives the cell's browser."""
    return strategy_of(cell.strategy, cell.spec).outside is not None


def _lacks_secrets(cell: Cell) -> bool:
    """Tell whether an outside agent would have to use secrets that it may not know."""
    outside = strategy_of(cell.strategy, cell.spec).outside
    if outside is None or not cell.case.has_secrets:
        return False
    return not settings_of(outside, cell.spec, cell.case.command).secrets


def was_interrupted(error: BaseException) -> bool:
    """Tell whether an exception arose while another one, Ctrl-C, was on its way.

    In a terminal, Ctrl-C also ends the browser, so closing a page raises another error instead.
    """
    seen: BaseException | None = error
    # For a lost connection Playwright raises the same error object again, so the chain is circular.
    known = set[int]()
    while seen is not None and id(seen) not in known and not isinstance(seen, KeyboardInterrupt):
        known.add(id(seen))
        seen = seen.__cause__ or seen.__context__
    return isinstance(seen, KeyboardInterrupt)


def report_unmet(session: pytest.Session) -> None:
    """Report missing requirements of the selected cases as collection errors.

    Only now is the selection known: a run that leaves out the cases with secrets does not need the
    secrets.
    """
    _fetch_variables(session)
    unmet: dict[str, list[CaseError]] = {}
    met: list[pytest.Item] = []
    known: dict[int, tuple[CaseError, ...]] = {}
    for item in session.items:
        errors: tuple[CaseError, ...] = ()
        if isinstance(item, CellItem):
            case = item.cell.case
            if id(case) not in known:
                known[id(case)] = case.unmet(os.environ, session.config.rootpath)
            errors = known[id(case)]
        if errors:
            unmet.setdefault(item.nodeid.partition("::")[0], []).extend(errors)
        else:
            met.append(item)
    # xdist runs everything else that was collected, as does --continue-on-collection-errors.
    session.items[:] = met
    for nodeid, found in unmet.items():
        text = f"{BAD_CASES}\n{joined_errors(found)}"
        report = pytest.CollectReport(nodeid, "failed", longrepr=text, result=[])
        session.config.hook.pytest_collectreport(report=report)


def _fetch_variables(session: pytest.Session) -> None:
    """Fetch, on a node of a cluster, the environment variables that the selected cases name."""
    away = session.config.stash[SESSION].away
    cases = (item.cell.case for item in session.items if isinstance(item, CellItem))
    if away is not None and (names := {name for case in cases for name in case.variables}):
        os.environ.update(away.variables(sorted(names - os.environ.keys())))


def planned(items: Iterable[pytest.Item]) -> list[PlannedCell]:
    """Return the manifest's rows for the collected cells, each once if a plugin doubled it."""
    cells = {item.cell.folder: item.cell for item in items if isinstance(item, CellItem)}
    return [planned_cell(cell) for cell in cells.values()]
