"""What a cell is before it runs, and the resources that a test process lends to it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field
from playwright.sync_api import Browser, Page

from pytest_autoweb.agents.attempt.strategy import Strategy
from pytest_autoweb.agents.attempt.tools import Clock
from pytest_autoweb.agents.correction.call_cache import Cache
from pytest_autoweb.agents.correction.naming_model import NamingModel
from pytest_autoweb.agents.correction.retry_decision import PastCorrections
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.browser.egress.guarded_page import ReadyPage
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cell.mutants import Mutant
from pytest_autoweb.judging.model_judge import JudgedAttempt, ModelJudge
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Attempt, CaptureModeName, CheckResult, StepCall
from pytest_autoweb.sandbox.host import MakeEngine, worker_engine
from pytest_autoweb.settings.run_settings import Settings


class CalledStep(Struct, frozen=True):
    """A call in a test of Python, and the page on which it is carried out."""

    call: StepCall
    strategy: Strategy
    """What is done, in place of the strategy that the cell names."""
    page: Page
    """The test's own page, which stays open."""


class Cell(Struct, frozen=True):
    """Case x model x capture mode x repeat, before it runs."""

    case: LoadedCase
    spec: ModelSpec
    mode: CaptureModeName
    repeat: int
    nodeid: str
    case_path: str
    folder: str
    """The cell's folder, relative to the run folder."""
    strategy: StrategyName
    mutant: Mutant | None = None
    """What is changed in the case's oracle; None for every model and control."""
    called: CalledStep | None = None
    """The call in a test that it carries out on the test's own page; None for cells of cases."""
    again: bool = False
    """Whether it has ended before in this run, and is run once more by order."""


class SeenElsewhere(NamedTuple):
    """What the checks of a cell saw on a page that another cell had opened."""

    page_of: str
    """The folder of the cell that opened the page."""
    attempt: Attempt
    """The attempt of that cell."""
    case: Case
    """The case of this cell, with its final texts."""
    prompt: str
    """Its task, as attempts keep it."""
    checks: tuple[CheckResult, ...]


class Sharing(NamedTuple):
    """The cells that may be judged on the page of one of them."""

    others: tuple[Cell, ...]
    """The cells for which this one is to look; none if it only takes what was seen."""
    seen: dict[str, SeenElsewhere]
    """What was seen for cells that have not run yet, by their folders."""


class ServerLender(Protocol):
    """A lender of the web servers of case files, each in its original state, for one attempt."""

    def lend(self, case: LoadedCase) -> AbstractContextManager[ServerHandle | None]:
        """Lend the running server, or None if the case file names none."""
        ...


class CellResources(Struct, frozen=True):
    """The resources that a test process lends to the cells it runs."""

    settings: Settings
    run_folder: Path
    client: Callable[[ModelSpec, Case], Client]
    servers: ServerLender
    open_page: Callable[[dict[str, Any]], Page]
    """Opens a page in a fresh context that is created with these arguments."""
    environ: Mapping[str, str]
    filed_keys: frozenset[str] = frozenset()
    """The keys in the project's `.env`, which only models get; removed from all that is written."""
    browser: Callable[[], Browser | None] = lambda: None
    """Returns the browser in which `open_page` will open it, where that is known."""
    ready_page: Callable[[], ReadyPage | None] = lambda: None
    """Returns a page that was opened in advance with `PLAIN_CONTEXT`, if there is one."""
    before_page: Callable[[Path], None] = lambda folder: None
    """Gets the folder of an attempt whose page is opened next."""
    leave_page: Callable[[Page], None] = lambda page: None
    """Gets the page of an attempt that needs it no more, whose results are still to be saved."""
    remote: bool = False
    """Whether the browser was connected to rather than launched here."""
    worker: str = "main"
    cells: int = 1
    """The number of the run's cells, which share what its films may take."""
    run_id: str = ""
    """The id of the run, for which recorded traffic is kept together."""
    progress: Callable[[str], None] = lambda text: None
    stream: Callable[[str], None] = lambda line: None
    clock: Clock = field(default_factory=Clock)
    engine: MakeEngine = worker_engine
    cache: Cache | None = None
    """A cache shared with other processes; None if each attempt has its own, in memory."""
    relogin: Callable[[Case, Page], object] | None = None
    """The user's hook that logs in again; None if there is none."""
    past: PastCorrections = field(default_factory=dict)
    """How often the cell's way of correcting has helped its model, according to the store."""
    mistaken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of element, the wrong choices and all choices of the model, by the store."""
    judge: Callable[[JudgedAttempt], ModelJudge] | None = None
    """Makes the judge of an attempt; None if `judge` checks cannot be evaluated."""
    sharing: "Sharing | None" = None
    """The cells that may share a page with it; None if it opens its own in any case."""
    naming: NamingModel | None = None
    """Names the types of failures that no rule recognises; None if no model is to be asked."""
    pause: Callable[[Attempt, Page], None] | None = None
    """Lets a person look at the page of a failed attempt; None if the run just goes on."""
