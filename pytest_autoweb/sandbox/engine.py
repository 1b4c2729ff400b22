"""The interface between the stages and the runner of generated code, and its strictness levels.

All rules of the sandbox have ids: those of the lint, of the level `strict` and of the border. Each
text describes what is refused. Messages name the offending code, and hints suggest alternatives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, Literal, NamedTuple, Protocol, TypeAlias

from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.results.records import Failure, ReadBack, ToolCall

Level = Literal["auto", "strict", "off"]
"""`auto` uses what the kernel offers; `strict` does not run without it and refuses scripts in the
page; `off` omits the kernel's walls and the audit hook."""

LINT_RULES: dict[str, str] = {
    "AW001": "The code is not valid Python.",
    "AW002": "The code is too long, has too many parts or is nested too deeply.",
    "AW101": "A module is imported that is not on the list.",
    "AW102": "A name is imported from a listed module, but that name is not on its list.",
    "AW103": "`import *` or a relative import.",
    "AW104": "A browser or Playwright is started; the page is already open and called `page`.",
    "AW201": "A class is defined that is not a plain dataclass.",
    "AW202": "A decorator is used.",
    "AW203": "`async` or `await` is used; the step language is synchronous.",
    "AW204": "A generator function (`yield`) is defined.",
    "AW205": "A kind of statement or expression that the step language lacks.",
    "AW301": "A builtin that is not available.",
    "AW302": "A name with two leading underscores.",
    "AW303": "A given name (`page`, `expect`, `answer`, `log`) is rebound.",
    "AW304": "An attribute that nothing in the step language has.",
    "AW305": "An attribute is assigned or deleted.",
    "AW306": "`.format` on something that is not a plain literal.",
    "AW307": "A `while` loop that can never end.",
    "AW308": "A member of Playwright that generated code may not use.",
    "AW309": "A name of the step language that this cell does not offer.",
    "AW401": "A file name with a folder in it.",
    "AW402": "An address that is neither http nor https.",
}

STRICT_RULES: dict[str, str] = {
    "AW310": "A script for the page, at the level `strict`.",
}

BORDER_RULES: dict[str, str] = {
    "AW501": "The page is sent to an origin that the case does not allow.",
    "AW502": "A file name that is not a bare name, or an upload that the case does not list.",
    "AW503": "A secret is used where it may not be typed, or no secret has that name.",
    "AW504": "A call that is not on the list, or with arguments of a kind that may not pass.",
    "AW505": "The step made too many calls, wrote too much, or exchanged too much with its page.",
    "AW506": "The worker used up its memory or its processor time, or it died.",
    "AW507": "The worker broke the protocol.",
    "AW508": "The worker tried something that only the operating system can grant.",
    "AW509": "The step was still computing when its time was over, and was stopped.",
    "AW510": "The code runs a script in the page, at the level `strict`.",
    "AW511": "A value, a number or a pattern is larger or slower than what may pass.",
    "AW512": "A script or a pattern of the code ended the browser.",
}

RULES: dict[str, str] = LINT_RULES | STRICT_RULES | BORDER_RULES


class Walls(NamedTuple):
    """The walls that a worker is asked to raise around itself."""

    kernel: bool = True
    audit: bool = True


# `strict` asks for the same walls as `auto`, but does not run without them.
WALLS: dict[Level, Walls] = {"auto": Walls(), "strict": Walls(), "off": Walls(False, False)}


class Layers(NamedTuple):
    """The walls that a worker reports to have raised; lint, worker and facade always stand."""

    landlock: int
    """Landlock's ABI, or 0 if it is missing."""
    seccomp: bool
    audit: bool

    @property
    def confined(self) -> bool:
        """Tell whether the kernel confines the worker even if Python is broken."""
        return self.landlock > 0 and self.seccomp

    def __str__(self) -> str:
        names = ["lint", "worker", "facade"]
        names += ["audit hook"] * self.audit
        names += [f"landlock abi {self.landlock}"] * bool(self.landlock)
        names += ["seccomp"] * self.seccomp
        return ", ".join(names)


def scripts_allowed(level: Level, provider: str) -> bool:
    """Tell whether code may run scripts of its own in the page.

    Args:
        level: the level of the sandbox.
        provider: the origin of the code; a built-in model only replays the case author's script.
    """
    return level != "strict" or provider == "builtin"


JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""Values that may cross the border in either direction."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one step."""

    step_s: float = 20.0
    """Wall seconds of a step, waits in the browser included."""
    cpu_s: float = 30.0
    """CPU seconds of the worker process over its life."""
    memory_mb: int = 512
    output_chars: int = 200_000
    calls: int = 2_000
    """Calls of one step across the border."""
    exchanged_mb: int = 200
    """Megabytes that one step may exchange with its page, in both directions together; the host
    keeps the data read until the next step."""
    call_s: float = float("inf")
    """Limit in wall seconds for a call that waits for an element and has no timeout of its own, if
    that is less than Playwright's default. Pages and servers may take longer."""
    patience: float = 1.0
    """Factor for the timeout of the one call at which the last run of this block ended; used only
    in a run that continues or repeats the block."""
    nominal_s: float | None = None
    """What `step_s` would be if the attempt did not end before; None if it does not."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of running one block of code."""

    ok: bool
    failure: Failure | None = None
    """Kind `step`, `timeout` or `sandbox`; its message is `ErrorType: first line`. Its `line` is
    counted within the block, `evidence` holds `error_type`, `detail` (the whole message) and
    `page_lost` when the page no longer answers."""
    calls: tuple[ToolCall, ...] = ()
    log: str = ""
    """What the block printed or logged, redacted."""
    names: tuple[str, ...] = ()
    """Variables that exist in the shared namespace, for NameError messages."""
    duration_ms: float = 0.0
    killed: bool = False
    """The worker was killed and a fresh one stands ready with the plain values of the last good
    step; functions defined in earlier steps are gone."""
    timed_out: bool = False
    """The block ended with a timeout error, whether the step, Playwright's defaults or the code
    itself set the limit. A failure of kind `timeout` always is one."""
    overdue: ToolCall | None = None
    """The recorded call whose timeout ended the block, if it was one."""


class StepCallError(Exception):
    """Raised by a finder or function of the border: an ordinary error of the generated code.

    Args:
        message: a plain sentence; the code may catch it as `Error`.
        evidence: JSON values to keep in the step's failure if this error causes it.
    """

    def __init__(self, message: str, **evidence: JsonValue) -> None:
        self.evidence = evidence
        super().__init__(message)


class RecalledCall(Protocol):
    """The knowledge about a call before it is made."""

    duplicate: bool
    """Whether it was made before in the same state of the page; for a call that acts, known only
    after `done`."""
    answered: bool
    """Whether `value` is its result, so that it need not be made."""
    value: JsonValue

    def done(self, value: JsonValue) -> None:
        """Note that the call was made and returned this value."""
        ...


class CallMemory(Protocol):
    """A memory of earlier calls."""

    def ask(self, page: Page, method: str, identity: str, *, acting: bool) -> RecalledCall:
        """Return what is known of a call; `identity` is receiver, method and arguments in full."""
        ...


Finder: TypeAlias = "Callable[Concatenate[Page | Frame | Locator, ...], Locator]"
"""Finds an element for the code: takes the object it was called on and the code's arguments."""


ReadBackOf: TypeAlias = (
    "Callable[[Locator, str, Sequence[Any], Mapping[str, Any]], Callable[[], ReadBack | None]]"
)
"""Takes a field, the method that is about to write to it and that method's arguments; what it
returns reads the field afterwards."""


class SentRequest(NamedTuple):
    """A request that code sent without a page, by `page.request`."""

    method: str
    url: str
    body: str | None
    """The body as text; None if there is none or it is not text."""
    status: int | None
    """The status of the answer, after redirects; None if there is no answer."""
    failed: str
    """Why there is no answer; empty if there is one."""
    page_url: str


@dataclass(slots=True)
class SandboxBorder:
    """Everything the host side may use on behalf of generated code; created for each attempt."""

    page: Page
    """Playwright's Page, never handed to the worker."""
    artifacts: Path
    """Folder for screenshots and downloads that the code asks for."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Name -> value; replaced for `<secret:name>` inside fill, type, press_sequentially only."""
    allowed: Callable[[str], bool] = lambda url: False
    """Whether a URL may be navigated to."""
    secret_allowed: Callable[[str], bool] = lambda url: False
    """Whether secrets may be typed on the page at this URL."""
    scripts: bool = True
    """Whether the code may run scripts of its own in the page."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Bare name -> file, for uploads."""
    redact: Callable[[str], str] = lambda text: text
    """Removes secrets from text that leaves the host."""
    on_password: Callable[[str], None] = lambda text: None
    """Called with what the code types into a password field that is no declared secret."""
    covers: Callable[[Page], Sequence[Locator]] = lambda page: ()
    """Locators of elements that a picture of the page must not show."""
    sent: "Callable[[SentRequest], None]" = lambda request: None
    """Called with each request that the code sent itself (`page.request`), for the evidence."""
    read_back: "ReadBackOf | None" = None
    """Reads what fields hold right after they were written to; None if nobody needs to know."""
    leaving: Callable[[Page, float | None], bool] = lambda page, since: False
    """Whether the page is about to be replaced by another one; with a `time.monotonic()`, whether
    one of its frames is since then."""
    on_log: Callable[[str], None] = lambda line: None
    """Called with each line that the code logs, as it happens."""
    finders: "Mapping[str, Finder]" = field(default_factory=dict)
    """The finders that this cell offers, by their names in `allowed_members.FINDERS`. Each is
    called with the object of the call (Page, Frame or Locator) and the code's arguments, and
    returns a Playwright Locator."""
    functions: Mapping[str, Callable[..., JsonValue]] = field(default_factory=dict)
    """The functions that this cell offers, by their names in `FUNCTIONS` and `PAGE_FUNCTIONS`. Each
    is called with the code's arguments and returns a JSON value."""
    waited: Callable[[], float] = lambda: 0.0
    """Seconds spent waiting for models so far, which are not charged to the step."""
    recall: CallMemory | None = None
    """Counts repeated calls and may answer reads; if None, every call is made and none is counted.
    """

    @property
    def offered(self) -> frozenset[str]:
        """Return the optional names of the step language that this cell has, for the lint."""
        return frozenset(self.finders) | frozenset(self.functions)


class StepEngine(Protocol):
    """A runner of the blocks of one attempt, one after the other, in a shared namespace."""

    def run_step(
        self,
        index: int,
        code: str,
        *,
        root: Page | Frame,
        limits: Limits,
        resume: tuple[ToolCall, ...] = (),
    ) -> StepOutcome:
        """Run one block.

        Args:
            index: the step's number, for records and messages.
            code: the block, already linted by `sandbox.lint.lint_code`.
            root: Playwright's Page or Frame that the name `page` stands for in this block.
            limits: the block's limits.
            resume: calls that an earlier run of this block completed. They are answered from the
                host's record while the code asks for the same calls in the same order, so that a
                continued step repeats no action. Pass all calls before the one that failed,
                including failed ones that the code caught.
        """
        ...

    @property
    def answer(self) -> tuple[bool, JsonValue]:
        """Return whether `answer(...)` was called in this attempt, and its argument."""
        ...

    def close(self) -> None:
        """Stop the worker; safe to call twice."""
        ...
