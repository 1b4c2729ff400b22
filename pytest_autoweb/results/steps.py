"""The plan's steps, what became of each, and what went wrong."""

from typing import Any, Literal

from pydantic import Field, field_validator

from pytest_autoweb.errors import FORMER_CAUSES, ModelCause
from pytest_autoweb.results.record import CaptureModeName, FailureKind, Record, StepStatus


class Failure(Record):
    """Something a page, a model or the infrastructure did wrong."""

    kind: FailureKind
    """What kind of failure it is."""
    message: str
    """What went wrong, as a plain sentence."""
    cause: ModelCause | None = None
    """Why the model gave no usable reply, for failures of kind `model`."""
    rule: str | None = None
    """The id of the rule by which the lint or the sandbox refused."""
    step_index: int | None = None
    """The number of the step that failed."""
    line: int | None = None
    """The line in the attempt's code, from 1."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """Further facts about the failure, by name."""

    @field_validator("cause", mode="before")
    @classmethod
    def _cause_of_today(cls, cause: Any) -> Any:
        return FORMER_CAUSES.get(cause, cause) if isinstance(cause, str) else cause


class LintFinding(Record):
    """One reason why code is refused before it runs."""

    line: int
    """The line in the code, from 1."""
    col: int
    """The column, from 1."""
    code: str
    """The id of the rule, e.g. `AW102`."""
    message: str
    """What is wrong."""
    hint: str = ""
    """What to write instead."""

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.line}:{self.col} {self.code} {self.message}{tail}"


class PlanStep(Record):
    """One step of a plan."""

    index: int
    """The number of the step, from 1."""
    description: str = ""
    """What the step is to do, in the model's words."""
    target_url: str = "CURRENT_PAGE"
    """The page on which the step works: a URL or `CURRENT_PAGE`."""
    entry_action: str = ""
    """How the model says the page is reached, e.g. `Direct URL`."""
    status: Literal["CONFIRMED", "UNKNOWN"] = "UNKNOWN"
    """Whether the model confirmed the step."""


class Snapshot(Record):
    """The page as shown to the model."""

    step_indexes: tuple[int, ...]
    """The plan's steps that share this snapshot."""
    url: str
    """The page's URL."""
    entry_action: str
    """How the model says the page is reached."""
    mode: CaptureModeName
    """How the page was shown."""
    cache_key: str
    """The SHA-256 of the URL with its query, the entry action and the mode."""
    text: str
    """The page, as the model was shown it."""
    tokens: int
    """The estimated number of tokens, at four characters a token and one for CJK."""
    truncated: bool = False
    """Whether the text was cut to fit the model's context."""
    notes: tuple[str, ...] = ()
    """Notes about what the capture left out or could not read."""


class ToolCall(Record):
    """One call of generated code across the sandbox's border."""

    step_index: int
    """The number of the step that made the call."""
    seq: int
    """The position of the call within its step, from 0."""
    target: str
    """The object that was called, e.g. `page.get_by_role('button', name='Save')`."""
    method: str
    """The method that was called."""
    arguments: str
    """The arguments as text, shortened and redacted."""
    acting: bool
    """Whether the call may change the page (click, fill, goto, evaluate …)."""
    ok: bool
    """Whether the call succeeded."""
    error: str | None = None
    """The error in which the call ended."""
    result: str = ""
    """What a call that reads gave back, as JSON, shortened and redacted; empty for other calls."""
    located: str = ""
    """Playwright's own locator for the element that a call by mark or by sight found; empty for
    other calls, and `?` where there is none."""
    duration_ms: float
    """The duration of the call, in milliseconds."""
    line: int | None = None
    """The line in the step's block of code, from 1."""
    duplicate: bool = False
    """Whether the same call was made before in the same state of the page."""
    cached: bool = False
    """Whether the call was answered from the cache, because the page was the same."""
    replayed: bool = False
    """Whether the call was answered from the record, and not performed again, while a retried step
    caught up."""


class StepResult(Record):
    """What became of one step."""

    step_index: int
    """The number of the step."""
    ok: bool
    """Whether the step ended well."""
    status: StepStatus
    """How the step ended."""
    duration_ms: float = 0.0
    """The duration of the step, in milliseconds."""
    error: str | None = None
    """The error in which the step ended."""
    log_tail: str = ""
    """The last lines of the attempt's log when the step ended."""
    logged: str = ""
    """What the step's code passed to `log(...)`, redacted and shortened."""
    retried: bool = False
    """Whether the step ran out of time once and was continued with a larger limit."""
    context: str = "page"
    """The page or frame that `page` meant in this step."""
    failure: Failure | None = None
    """What went wrong, if anything did."""
    screenshot: str | None = None
    """The path of the screenshot, below the cell's folder."""


class Scene(Record):
    """The page as it was at the failing step, taken before anything moved."""

    step_index: int
    """The number of the failing step."""
    url: str
    """The page's URL, redacted."""
    title: str = ""
    """The page's title."""
    snapshot: str = ""
    """The page in the cell's capture mode."""
    screenshot: str | None = None
    """The path of the screenshot, below the cell's folder."""
    console: tuple[str, ...] = ()
    """The last messages of the browser's console."""
    failed_requests: tuple[str, ...] = ()
    """Requests that failed or were answered with an error."""
