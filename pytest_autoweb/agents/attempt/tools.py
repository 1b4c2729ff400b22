"""Code that all stages share: their signature and tools, model calls, changes to an attempt."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol

from msgspec import Struct, field
from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.agents.attempt.film import Film
from pytest_autoweb.agents.correction.guidance import Guidance
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.browser.page.listed_page import ListedPage
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.browser.page.page_digest import PageLook, page_look
from pytest_autoweb.browser.page.same_element import ElementIdentity
from pytest_autoweb.cases.case import Case
from pytest_autoweb.judging.model_judge import ModelJudge
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.computer_tool import ComputerTool
from pytest_autoweb.models.messages import Message, Request, redacted_messages
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.replies import closed_block
from pytest_autoweb.models.unfenced import without_fences
from pytest_autoweb.results.records import Attempt, CaptureModeName, Failure, FailureKind, StageName
from pytest_autoweb.sandbox.engine import DialogReply, StepEngine
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.browser.egress.request_policy import OriginPolicy
    from pytest_autoweb.browser.marks.marking import MarkedPage
    from pytest_autoweb.browser.page.perturbations import PageChange
    from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic
    from pytest_autoweb.judging.evidence.appearances import AppearanceRecord
    from pytest_autoweb.judging.evidence.console import Watch
    from pytest_autoweb.judging.evidence.downloads import DownloadRecord
    from pytest_autoweb.judging.evidence.requests_log import WireRecord
    from pytest_autoweb.judging.evidence.tabs import TabList
    from pytest_autoweb.judging.evidence.write_record import WriteRecord
    from pytest_autoweb.judging.planted_attack import PlantedAttack
    from pytest_autoweb.judging.solution_writes import Known


LOG_LINES = 200
"""Number of lines that the result keeps from each end of the run log."""

STOPPING: frozenset[FailureKind] = frozenset(
    {
        "model",
        "plan",
        "question",
        "lint",
        "repair",
        "navigation",
        "browser",
        "webserver",
        "internal",
        "agent",
        "recording",
        "off_record",
    }
)
"""Failures after which the later stages of an attempt have nothing to work on."""


class RunLog(Struct):
    """The log of one attempt, in full on disk, with its head and tail in the result."""

    redact: Callable[[str], str]
    stream: Callable[[str], None] = lambda line: None
    lines: list[str] = field(default_factory=list)
    blocked: dict[str, None] = field(default_factory=dict)
    """The origins that the browser was refused."""

    def write(self, text: str) -> None:
        """Add lines, without secrets."""
        for line in self.redact(text).splitlines():
            self.lines.append(line)
            self.stream(line)


class Clock(Struct, frozen=True):
    """The clock, which tests can replace."""

    now: Callable[[], float] = waiting.now
    sleep: Callable[[float], None] = waiting.sleep


class StepBudget(Struct):
    """Seconds that the steps of an attempt may still take, apart from waiting for models."""

    left: float
    waited: Callable[[], float] = lambda: 0.0
    """Seconds spent waiting for models so far."""


class StepPicture(Struct):
    """The picture of the newest step."""

    path: Path | None = None
    """Where it is; None before the first step, and if it could not be taken."""
    look: PageLook | None = None
    """What the page held at its moment, if that is known."""
    may_be_bare: bool = True
    """Whether the next one most likely needs no preparation; see `PageLook.bare`."""
    finish: Callable[[], object] | None = None
    """Takes the picture whose frame the browser draws meanwhile, if it does."""
    missed: set[str] = field(default_factory=set)
    """The pictures that could not be taken, by their paths below the cell's folder."""

    def settle(self) -> None:
        """Have the picture taken that is under way, before anything acts on the page or waits."""
        finish, self.finish = self.finish, None
        if finish is not None:
            finish()

    def shows_no_frame(self, page: Page) -> bool:
        """Tell whether the look at this document found no frame."""
        return self.look is not None and [url for url, _ in self.look.digest] == [page.url]

    def look_before(self, page: Page) -> tuple[str, str] | None:
        """Return the digest of the page before a call, and note what it means for the picture.

        A page with frames is not looked at: only the first of its looks would come before the call.
        """
        look = page_look(page) if len(page.frames) == 1 else None
        self.may_be_bare = look is not None and look.bare
        return look.digest[0] if look else None


class SeenPicture(NamedTuple):
    """A picture that the next turn is to show."""

    picture: bytes
    """A PNG."""
    told: str
    """What it shows, in a sentence."""


class PageLooks(Struct):
    """The pictures that the code of an attempt asked for."""

    taken: int = 0
    waiting: list[SeenPicture] = field(default_factory=list)
    """Those that no turn has shown yet."""

    def take(self) -> tuple[SeenPicture, ...]:
        """Return the pictures for the next turn, once."""
        seen, self.waiting = tuple(self.waiting), []
        return seen


class SiteToolUse(Struct):
    """Whether an attempt acts by the tools that its page offers."""

    in_use: bool = False
    shows_page: bool = False
    """Whether turns list the page beside its tools, too."""


class PictureMarks(Protocol):
    """A holder of the marked picture that numbers refer to; finds elements by number."""

    @property
    def held(self) -> bool:
        """Return whether numbers refer to a picture that the model was shown."""
        ...

    def hold(self, marked: "MarkedPage | None") -> None:
        """Use this picture's numbers from now on; None means a new picture for each call."""
        ...

    def find(
        self, found_on: Page | Frame | Locator, number: int, expected_text: str = ""
    ) -> Locator:
        """Return the marked element; see `SandboxBorder.finders`."""
        ...


class ChosenTab(Struct):
    """The tab that a model chose; it stays in front until it is closed or another one opens."""

    page: Page | None = None
    beside: list[Page] = field(default_factory=list)
    """The tabs that were open at that moment."""
    before: int = 1
    """How many tabs were open before the newest action."""

    def choose(self, page: Page) -> None:
        """Put an open tab in front."""
        self.page, self.beside = page, list(page.context.pages)

    def front(self, page: Page) -> Page:
        """Return the tab in front: the chosen one, else the newest of the page's context."""
        tabs = [tab for tab in page.context.pages if not tab.is_closed()]
        chosen = self.page
        if chosen is not None and chosen in tabs and all(tab in self.beside for tab in tabs):
            return chosen
        return tabs[-1] if tabs else page


class Tools(Struct, frozen=True):
    """The tools of a stage, created afresh for every attempt."""

    case: Case
    spec: ModelSpec
    mode: CaptureModeName
    repeat: int
    settings: Settings
    client: Client
    page: Page
    watch: "Watch"
    wire: "WireRecord"
    """The requests since the set-up."""
    downloads: "DownloadRecord"
    """The files offered for download since the set-up."""
    tabs: "TabList"
    appearances: "AppearanceRecord"
    """What appeared on the pages, if a check of the case asks for it."""
    writes: "WriteRecord"
    """What the attempt wrote, if it can be compared with what the case's solution writes."""
    solution: "Known"
    policy: "OriginPolicy"
    engine: StepEngine
    folder: Path
    """The attempt's own folder, for screenshots and logs."""
    redact: Callable[[str], str]
    reveal: Callable[[str], str]
    """Replaces each `<secret:name>` in the case's checks by the secret; for the judge only."""
    log: RunLog
    clock: Clock
    redact_evidence: Callable[[str], str]
    """Like `redact`, but also removes what looks like a key, a cookie or a token; for files."""
    budget: StepBudget
    """The time left for all steps of the attempt together."""
    marks: PictureMarks
    """The marked picture to which the numbers of marks refer."""
    case_path: Path | None = None
    """The case file; None for inline cases."""
    check_checksums: tuple[str, ...] = ()
    """Checksums of the case's checks as written, in their order."""
    server_url: str = ""
    """URL of the case's web server; empty if it has none."""
    previous: Attempt | None = None
    """The failed attempt that this one repairs."""
    ran: Attempt | None = None
    """The last attempt that ran, if the one being repaired was refused before running."""
    guidance: Guidance | None = None
    """Information available to a correction; None for a first attempt or an ordinary repair."""
    progress: Callable[[str], None] = lambda text: None
    follow: Callable[[Attempt], None] = lambda attempt: None
    """Is shown the attempt after each step, for whoever watches the run."""
    offered: frozenset[str] = frozenset()
    """Names of the step language that only some cells offer, among them this one."""
    after_step: list[Callable[[Attempt], Attempt]] = field(default_factory=list)
    """Changes to the attempt from the step's finders and functions, applied after the step."""
    found: list[str] = field(default_factory=list)
    """What finders of the step language found since the last turn, for the model."""
    looks: PageLooks = field(default_factory=PageLooks)
    """The pictures that `page.look()` took."""
    newest: StepPicture = field(default_factory=StepPicture)
    film: Film = field(default_factory=Film)
    """The pictures of the attempt so far."""
    folds: Folds = field(default_factory=Folds)
    """The lists that the turn's newest listing shortens, and those that the next one is to show."""
    shown: dict[str, Callable[[], ElementIdentity]] = field(default_factory=dict)
    """By a locator in normal form, what tells what the model was shown of the element that it
    finds, or raises `RowsMovedError`; a dialect with numbers fills it before its code runs."""
    listed: ListedPage = field(default_factory=ListedPage)
    """Watches the page while the lines of a small model's turn are carried out."""
    tab: ChosenTab = field(default_factory=ChosenTab)
    """The tab that is shown and acted upon, in dialects that have no names for tabs."""
    dialogs: list[DialogReply] = field(default_factory=list)
    """What the code did with dialogs since the last turn."""
    site: SiteToolUse = field(default_factory=SiteToolUse)
    attack: "PlantedAttack | None" = None
    """The instruction to the agent that was planted in the pages, if any."""
    change: "PageChange | None" = None
    """How the pages are changed, if they are."""
    traffic: "CellTraffic | None" = None
    """The object that records, replays or holds back requests; None if they are only passed on."""
    judge: ModelJudge | None = None
    """The model that evaluates the case's `judge` checks; None if there is none."""

    mistaken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of element, the wrong choices and all choices of the model in earlier runs."""

    def code_begins(self) -> None:
        """Count what happens from now on as the model's doing."""
        self.wire.counting = True
        self.appearances.begin()
        self.writes.begin()

    @property
    def cell_folder(self) -> Path:
        """Return the folder to which paths in results are relative."""
        return self.folder.parent

    @property
    def hidden(self) -> Callable[[str], str] | None:
        """`redact` if the case has secrets, else None, so that pictures need no search for them."""
        return self.redact if self.case.secrets else None


Stage = Callable[[Attempt, Tools], Attempt]
"""One step of the pipeline: takes the attempt so far and returns it extended. Faults of a page or
model are returned as `Attempt.failure`."""


_P = ParamSpec("_P")


def _with_keywords_of(
    constructor: Callable[_P, Attempt],
) -> Callable[[Callable[..., Attempt]], Callable[Concatenate[Attempt, _P], Attempt]]:
    """Return a decorator that tells the type checker the keywords of a change, and their types."""
    return lambda changing: changing


@_with_keywords_of(Attempt)
def change(attempt: Attempt, **update: Any) -> Attempt:
    """Return a copy of the attempt with the given fields changed.

    Raises:
        TypeError: an attempt has no such field. Only the type checker checks values.
    """
    if unknown := update.keys() - Attempt.model_fields.keys():
        raise TypeError(f"an attempt has no field {', '.join(sorted(unknown))}")
    return attempt.model_copy(update=update)


def fail(attempt: Attempt, failure: Failure, *problems: StepProblem) -> Attempt:
    """Return the attempt with its failure set and the message added to its problems."""
    return change(attempt, failure=failure, problems=(*attempt.problems, *problems))


class NamedStage(NamedTuple):
    """A stage and the name that progress and timings use for it."""

    name: str
    run: Stage


def is_listed_briefly(attempt: Attempt, tools: Tools) -> bool:
    """Return whether a retry is shown its page as models are that look before each step."""
    return attempt.turns > 0 or bool(attempt.decisions and not tools.spec.small)


def ask(
    attempt: Attempt,
    tools: Tools,
    stage: StageName,
    messages: tuple[Message, ...],
    *,
    turn: int = 0,
    grammar: str | None = None,
    json_schema: dict[str, Any] | None = None,
    max_tokens: int | None = None,
    computer: ComputerTool | None = None,
    usable: Callable[[str], str] = closed_block,
) -> tuple[Attempt, str]:
    """Ask the model and add the exchange and its usage to the attempt, even if the call fails.

    A reply cut off at its limit is a failed call, unless `usable` finds a complete part of it.

    Returns:
        The attempt and the reply's text. After a failed call, the text is empty and the attempt's
        failure is of the kind `model`.
    """
    if tools.spec.provider != "builtin":
        # Nothing is drawn while this process waits for a model.
        tools.newest.settle()
    shown = messages if tools.spec.fences else without_fences(messages)
    request = Request(
        model=tools.spec.name,
        messages=redacted_messages(shown, tools.redact),
        stage=stage,
        case_id=tools.case.id,
        capture_mode=tools.mode,
        repeat=tools.repeat,
        attempt=attempt.attempt_index,
        turn=turn,
        grammar=grammar,
        json_schema=json_schema,
        max_tokens=max_tokens,
        computer=computer,
    )
    asked = ask_once(tools.client, request, tools.redact, now=tools.clock.now, usable=usable)
    attempt = attempt.charged(asked.exchange)
    if isinstance(asked.outcome, ModelError):
        cause = asked.outcome.cause
        message = f"{stage}: {cause}: {asked.exchange.error}"
        return fail(attempt, Failure(kind="model", cause=cause, message=message)), ""
    return attempt, tools.redact(asked.outcome.text)


def relative(path: object, tools: Tools) -> str:
    """Return a path relative to the cell's folder, with `/`."""
    return str(path).removeprefix(str(tools.cell_folder)).lstrip("/\\").replace("\\", "/")
