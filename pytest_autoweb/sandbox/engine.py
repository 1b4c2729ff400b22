"""The interface between the stages and the runner of generated code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, Protocol, TypeAlias

from msgspec import Struct, field
from playwright.sync_api import Dialog, Frame, Locator, Page

from pytest_autoweb.browser.page.rehearsal import Rehearsal
from pytest_autoweb.browser.page.same_element import ElementIdentity
from pytest_autoweb.results.records import Failure, ReadBack, ToolCall

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""Values that may cross the border in either direction."""


class Limits(Struct, frozen=True):
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


class StepOutcome(Struct, frozen=True):
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


class DialogReply(NamedTuple):
    """What the code did with a dialog that it was given."""

    dialog: Dialog
    reply: str = ""
    """`accept`, `accept "TEXT"` or `dismiss`; empty if the code did not answer."""
    error: str = ""
    """Why a function of the code failed; empty if it did not."""


class SandboxBorder(Struct):
    """Everything the host side may use on behalf of generated code; created for each attempt."""

    page: Page
    """Playwright's Page, never handed to the worker."""
    artifacts: Path
    """Folder for screenshots and downloads that the code asks for."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Name -> value; replaced for `<secret:name>` inside fill, type, press_sequentially only."""
    links: frozenset[str] = frozenset()
    """The names of the secrets that are links; `goto` opens one where it gets `<secret:name>`."""
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
    on_dialog: "Callable[[DialogReply], None]" = lambda reply: None
    """Called with what the code did with a dialog, once for each of its functions."""
    read_back: "ReadBackOf | None" = None
    """Reads what fields hold right after they were written to; None if nobody needs to know."""
    shown: "Callable[[str], ElementIdentity | None]" = lambda locator: None
    """What a model was shown of the element that a locator, as code writes it, finds; a call that
    acts on another element is refused. None where the model wrote the locator itself."""
    lacks: Callable[[Locator, str], str] = lambda locator, named: ""
    """Called before an action on an element, with the locator also as the code writes it: returns
    why it would wait for it in vain, or nothing."""
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
    """The functions that this cell offers, by their names in `FUNCTIONS`, `PAGE_FUNCTIONS` and
    `LOOKS`. Each is called with the code's arguments, after the object of the call (Page, Frame or
    Locator) for one of `OF_RECEIVER`, and returns a JSON value."""
    waited: Callable[[], float] = lambda: 0.0
    """Seconds spent waiting for models so far, which are not charged to the step."""
    undo: str = ""
    """What lets a case's solution find elements by the words that they had before its page was
    changed; empty for all other code."""
    rehearsal: Rehearsal | None = None
    """What a case's solution is known to act on, or notes of it; None for all other code."""
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
