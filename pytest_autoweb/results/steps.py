"""The plan's steps, what became of each, and what went wrong."""

from typing import Any, Literal

from pydantic import Field

from pytest_autoweb.errors import ModelCause
from pytest_autoweb.results.record import CaptureModeName, FailureKind, Record, StepStatus


class Failure(Record):
    """Something a page, a model or the infrastructure did wrong."""

    kind: FailureKind
    message: str
    """A plain sentence."""
    cause: ModelCause | None = None
    """Of kind `model` only."""
    rule: str | None = None
    """The rule id of the lint or the sandbox that refused."""
    step_index: int | None = None
    line: int | None = None
    """1-based line in the attempt's code."""
    evidence: dict[str, Any] = Field(default_factory=dict)


class LintFinding(Record):
    """One reason why code is refused before it runs."""

    line: int
    col: int
    """1-based."""
    code: str
    """The rule id, e.g. `AW102`."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.line}:{self.col} {self.code} {self.message}{tail}"


class PlanStep(Record):
    """One step of a plan."""

    index: int
    description: str = ""
    target_url: str = "CURRENT_PAGE"
    """A URL or `CURRENT_PAGE`."""
    entry_action: str = ""
    """How the model says the page is reached, e.g. `Direct URL`."""
    status: Literal["CONFIRMED", "UNKNOWN"] = "UNKNOWN"


class Snapshot(Record):
    """The page as shown to the model."""

    step_indexes: tuple[int, ...]
    """The plan's steps that share this snapshot."""
    url: str
    entry_action: str
    mode: CaptureModeName
    cache_key: str
    """SHA-256 of URL (query included), entry action and mode."""
    text: str
    tokens: int
    """Estimated, at four characters a token (one for CJK)."""
    truncated: bool = False
    notes: tuple[str, ...] = ()


class ToolCall(Record):
    """One call of generated code across the sandbox's border."""

    step_index: int
    seq: int
    """0-based within the step."""
    target: str
    """The receiver, e.g. `page.get_by_role('button', name='Save')`."""
    method: str
    arguments: str
    """Shortened and redacted."""
    acting: bool
    """Whether the call may change the page (click, fill, goto, evaluate …)."""
    ok: bool
    error: str | None = None
    duration_ms: float
    line: int | None = None
    """1-based line in the step's block."""
    duplicate: bool = False
    """The same call was made before, and nothing has acted since."""
    cached: bool = False
    """A reading that was answered from the cache, because the page is the same."""
    replayed: bool = False
    """Answered from the record while a retried step caught up; not performed again."""


class StepResult(Record):
    """What became of one step."""

    step_index: int
    ok: bool
    status: StepStatus
    duration_ms: float = 0.0
    error: str | None = None
    log_tail: str = ""
    retried: bool = False
    """The step ran out of time once and was continued with a larger limit."""
    context: str = "page"
    """The page or frame that `page` meant, as chosen before the step."""
    failure: Failure | None = None
    screenshot: str | None = None
    """Path below the cell's folder."""


class Scene(Record):
    """The page as it was at the failing step, taken before anything moved."""

    step_index: int
    url: str
    title: str = ""
    snapshot: str = ""
    """In the cell's capture mode."""
    screenshot: str | None = None
    console: tuple[str, ...] = ()
    failed_requests: tuple[str, ...] = ()
