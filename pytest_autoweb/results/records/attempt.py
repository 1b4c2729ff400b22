"""One attempt at a cell: its plan's steps, its decisions by sight, its checks' results."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from pytest_autoweb.base.errors import FORMER_CAUSES, ModelCause
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.base.specs import WholeText
from pytest_autoweb.results.records.record import (
    CaptureModeName,
    Classification,
    Correction,
    Exchange,
    FailureKind,
    Finding,
    Record,
    StepStatus,
    Usage,
)

Verdict = Literal["match", "incomplete", "mismatch", "unverifiable"]
"""The result of comparing a chosen element's text with the `expected_text` of the choice:
`incomplete` if that is only a part of the element's text, `unverifiable` if one of the two is
empty."""

DecisionStatus = Literal["performed", "refused", "failed", "invalid"]
"""`refused` by verification, `failed` because the browser could not do it, or `invalid` because the
reply was no decision."""


MatchedText = Literal["", "text", "name"]
"""Which text of an element is the expected one: `text` is painted on the page, `name` is only its
accessible name; empty if neither is, or if unknown."""


RefusalCause = Literal["", "choice", "circle", "gave_up"]
"""Why a decision was refused: `choice` because verification stopped it, `circle` because it would
have closed a loop, `gave_up` because neither a second look nor the vision locator found a choice;
empty if it was not refused, or in records of earlier versions."""


class Failure(Record):
    """Something a page, a model or the infrastructure did wrong."""

    kind: FailureKind
    """What kind of failure it is."""
    message: WholeText
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


class ReadBack(Record):
    """What a field held right after a call had written to it, or when it was left after that."""

    same: bool
    """Whether that is what the call wrote."""
    held: str
    """The text, the chosen options, or `checked`; shortened and redacted."""


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
    """What a call that reads, or one of a page's own tools, gave back, as JSON, shortened and
    redacted; empty for other calls."""
    located: str = ""
    """Playwright's own locator for the element that a call by mark or by sight found; empty for
    other calls, and `?` where there is none."""
    element: str = ""
    """The element that a call acted on, with the text beside it, where its place among others
    decided which one it was; empty for other calls."""
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
    read_back: ReadBack | None = None
    """What the field held right after the call; None for other calls, for secrets, in runs without
    corrections, and where the field was gone by then."""


class StepResult(Record):
    """What became of one step."""

    step_index: int
    """The number of the step."""
    description: str = ""
    """What the step was to do, in the words of the model or the agent, where no plan says it."""
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


FrameMoment = Literal["opened", "step", "end"]


class FilmFrame(Record):
    """One picture of an attempt's film."""

    at_ms: float
    """When it was taken, in milliseconds since the attempt's browser page was there."""
    picture: str
    """The path of the picture, below the cell's folder."""
    moment: FrameMoment
    """What had just happened: the entry page was open, a step ended, the checks were looked at."""
    step_index: int | None = None
    """The number of the step that had ended; None for other moments."""


class Scene(Record):
    """The page as it was at the failing step or check, taken before anything moved."""

    step_index: int
    """The number of the failing step; of the last one, if a check failed."""
    check_index: int | None = None
    """The check that did not hold when the page was taken; None if a step failed."""
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


class ChosenMark(Record):
    """One element that a decision picked, with what was found there."""

    mark: int | None
    """The number that the model gave."""
    taken: int | None = None
    """The mark that was acted on, if a unique text overrode the number."""
    expected_text: str = ""
    """The text that the model expected on the element."""
    actual_text: str = ""
    """The text that the element really has."""
    verdict: Verdict
    """The result of comparing the two texts."""
    reason: str
    """A plain sentence that explains the verdict."""
    matched: MatchedText = ""
    """Whether what fits is painted on the page or only the element's accessible name."""
    kind: str = ""
    """The role of the element, or else its tag, so that mistakes can be counted by it."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in the picture, in viewport CSS pixels, of the element that was taken,
    or else of the one that the number names."""


class Decision(Record):
    """One turn: what the model saw, what it chose, what became of it."""

    index: int
    """The number of the decision within the attempt, from 1."""
    phase: str = "act"
    """`act`, or a phase of the collector: `navigate`, `explore`, `paginate`, `collect`."""
    url: str = ""
    """The page's URL when the picture was taken."""
    picture: str | None = None
    """The path of the marked screenshot, below the cell's folder."""
    viewport: tuple[int, int] | None = None
    """The width and height that the picture shows, in CSS pixels."""
    marks: int = 0
    """The number of marks drawn."""
    failed_marks: tuple[int, ...] = ()
    """Marks that were refused one decision earlier, and are therefore drawn differently."""
    feedback: tuple[str, ...] = ()
    """The lines of the prompt about what was wrong with the last choice."""
    action: dict[str, Any] | None = None
    """The action as the model gave it, validated and redacted; None if no decision could be
    read."""
    thinking: str = ""
    """The reasoning that the reply gave along with the action."""
    confidence: float | None = None
    """How sure the model says it is, from 0 to 1."""
    chosen: tuple[ChosenMark, ...] = ()
    """The elements that the decision picked."""
    second_look: bool = False
    """Whether the model was asked again with only the elements marked that may be meant, because
    several fit or because it was not sure."""
    second_picture: str | None = None
    """The path of the marked screenshot of the second look, below the cell's folder."""
    status: DecisionStatus
    """What became of the decision."""
    refused_for: RefusalCause = ""
    """Why the decision was refused, if it was."""
    error: str = ""
    """Why the decision was not performed."""
    location: int | None = None
    """Index into the attempt's `locations`, when the vision locator found the element."""
    calls: int = 1
    """The number of model calls that the decision took."""
    duration_ms: float = 0.0
    """The duration of the decision, in milliseconds."""


LocatorStatus = Literal["found", "ambiguous", "not_found", "inconsistent", "budget"]

LocatorAlgorithm = Literal["seed", "bayes"]


class Probe(Record):
    """One question on one picture."""

    index: int
    """The number of the question, from 1."""
    kind: str
    """What was asked: `vertical`, `horizontal`, `both`, `pick` or `confirm`."""
    picture: str | None = None
    """The path of the picture, below the cell's folder."""
    lines: tuple[tuple[str, float], ...] = ()
    """The lines drawn: the axis (`x` or `y`) and the viewport coordinate in CSS pixels."""
    answer: str = ""
    """The answer that was read from the reply; empty if it was invalid and so tells nothing."""
    reply: str = ""
    """The model's reply."""
    surviving: int = 0
    """The number of candidates that still hold a relevant part of the probability."""
    leader: str = ""
    """The most probable candidate after the answer."""
    leader_probability: float = 0.0
    """The probability of that candidate."""


class Location(Record):
    """One search for an element by its description."""

    step_index: int = 0
    """The number of the step that searched; 0 if it is unknown."""
    description: str
    """The description of the element that was looked for."""
    algorithm: LocatorAlgorithm
    """The algorithm that searched."""
    status: LocatorStatus
    """How the search ended."""
    element: str = ""
    """The element that was found, as a person reads it."""
    expected_text: str = ""
    """The text that the element has to have; empty if none is known."""
    actual_text: str = ""
    """The text of the element that was found."""
    verdict: Verdict | None = None
    """The result of comparing both texts; None if no text was expected or nothing was found."""
    compared: str = ""
    """A plain sentence that explains the verdict."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in viewport CSS pixels."""
    viewport: tuple[float, float] | None = None
    """Width and height of the last picture in CSS pixels."""
    confidence: float = 0.0
    """The probability that the right element was found."""
    candidates: int = 0
    """The number of elements among which the search began."""
    probes: tuple[Probe, ...] = ()
    """The questions that were asked, in order."""
    calls: int = 0
    """The number of model calls, including those whose answers could not be read."""
    cached: bool = False
    """Whether the same question had been answered before on the same state of the page."""
    reason: str = ""
    """Why the search ended without an element."""


class Look(Record):
    """One picture that the code asked for to show it to the model (`page.look()`)."""

    step_index: int
    """The number of the step that asked for it."""
    picture: str | None = None
    """The path of the picture, below the cell's folder."""
    box: tuple[float, float, float, float]
    """x, y, width, height of what it shows, in viewport CSS pixels."""


class OfferedTools(Record):
    """The tools that the pages of an attempt offered by WebMCP, and what was made of them."""

    engine: Literal["browser", "script", ""] = ""
    """Who gave pages the API: the browser itself, or a script of pytest-autoweb; empty if nobody
    did."""
    names: tuple[str, ...] = ()
    """The names of all tools that were seen, in the order in which they were."""
    turns_without: int = 0
    """The number of turns that began with a page without tools, and showed that in their place."""
    calls: int = 0
    """The number of calls, those that were refused among them."""
    failed: int = 0
    """The number of calls that came to nothing."""


class JudgeVote(Record):
    """What one of several judging models said."""

    judge: str
    """The model and the checksum of its prompt."""
    verdict: str
    """Its verdict, such as `pass`, `fail` or `no_verdict`."""
    reason: str = ""
    """Its reason, redacted and shortened."""


class CheckResult(Record):
    """The result of one entry of `expect`."""

    index: int
    """The position of the check in the case's `expect`, from 0."""
    type: str
    """The name of the check type, e.g. `url`."""
    passed: bool | None
    """Whether the check holds; None if it could not be evaluated."""
    expected: str
    """What the check wanted to see, in words."""
    actual: str
    """What was seen instead, or as well; redacted and shortened."""
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    message: str = ""
    """The case's own `message`, or why it could not be evaluated."""
    finding: str = ""
    """A verdict with a name of its own, such as `CONDITION_IGNORED`, `captcha` or `impossible`."""
    hint: str = ""
    """What a repair may be told; empty for checks that would give their answer away."""
    weight: float = 1.0
    """The points that it earns when it holds; 1 where the case says nothing of them."""
    credit: float | None = None
    """Partial credit from 0 to 1; None means 1 if the check holds and 0 if it does not."""
    advisory: bool = False
    """Whether the check is only reported and has no part in the verdict."""
    checksum: str = ""
    """SHA-256 of the check as written, so that a later look knows whether it is the same."""
    votes: tuple[JudgeVote, ...] = ()
    """What each judging model said, if several were asked."""
    usage: Usage = Field(default_factory=Usage)
    """What the judging models used, if any were asked."""
    duration_ms: float = 0.0
    """How long the check was looked at, in milliseconds."""

    @property
    def number(self) -> int:
        """Return its number for people, who count from 1."""
        return self.index + 1


class Attempt(Record):
    """One attempt at a cell: the first one, or a repair of it."""

    attempt_index: int = 1
    """The number of the attempt: 1, then 2 and up for repairs."""
    repair_attempt: bool = False
    """Whether the attempt repairs or retries an earlier one."""
    rerun_because: str = ""
    """Why the attempt was made a second time: the browser of the first one died, through no fault
    of its code. Empty if it was made once."""
    page_of: str = ""
    """The folder of the cell on whose page its checks were asked, of controls that do nothing and
    begin alike; empty if it had a page of its own."""
    prompt: str = ""
    """The user's task, as it was put to the planner."""
    plan_text: str = ""
    """The planner's reply, redacted; empty if no plan was asked for."""
    plan_confirmed: bool | None = None
    """Whether the plan counts as confirmed, and not as a question or a draft; None if no plan was
    asked for."""
    plan_has_question: bool | None = None
    """Whether the model asks the user a question; None if no plan was asked for, and nothing
    asked."""
    plan_question: str = ""
    """The question that the plan or a turn asks; empty when none was asked."""
    plan_answer: str = ""
    """The case's answer to that question; empty if nobody answered."""
    plan_steps: tuple[PlanStep, ...] = ()
    """The steps that were read from the plan; none if no plan was asked for."""
    snapshots: tuple[Snapshot, ...] = ()
    """The pages as they were shown to the model."""
    visual_description: str = ""
    """A model's description of the screenshot, with `--autoweb-visual-supplement`."""
    code: str = ""
    """The generated code, with one block for each step."""
    turns: int = 0
    """The number of turns in which the code was written; 0 if it was written at once."""
    code_diff: str = ""
    """Unified diff against the previous attempt's code."""
    code_notes: tuple[str, ...] = ()
    """What was changed when the code was normalised and split into blocks, e.g. that duplicate
    headings were joined."""
    lint_errors: tuple[LintFinding, ...] = ()
    """Why the code was refused before it ran."""
    entry_url_used: str = ""
    """The URL of the page on which the attempt really started."""
    step_results: tuple[StepResult, ...] = ()
    """What became of each step."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls that the code made across the sandbox's border, in order."""
    decisions: tuple[Decision, ...] = ()
    """The decisions of strategies that act by sight, in order."""
    locations: tuple[Location, ...] = ()
    """The searches of the vision locator, in order."""
    looks: tuple[Look, ...] = ()
    """The pictures that the code asked for, in order."""
    site_tools: OfferedTools | None = None
    """The tools that its pages offered; None for agents that do not ask for any."""
    problems: SkipJsonSchema[tuple[StepProblem, ...]] = Field(default=(), exclude=True)
    """What went wrong, kept only while the attempt runs; it is saved as `formatted_errors`."""
    formatted_errors: tuple[str, ...] = ()
    """What went wrong, as lines in the language of `--autoweb-language`."""
    run_log_head: str = ""
    """The first lines that the code logged."""
    run_log_tail: str = ""
    """The last lines that the code logged."""
    blocked_origins: tuple[str, ...] = ()
    """The origins that the page or the code asked for, and that `allowed_origins` lacks."""
    answer: Any = None
    """What the code passed to `answer(...)`, a JSON value."""
    answered: bool = False
    """Whether the code called `answer(...)`, which also tells an answer of null from none."""
    evidence: dict[str, str] = Field(default_factory=dict)
    """Paths, below the cell's folder, of what was kept to judge by later: `dom`, `wire` and
    `downloads`."""
    checks: tuple[CheckResult, ...] = ()
    """What each check of the case saw."""
    executed: bool = False
    """Whether there were a plan and steps, and every step ended well."""
    checks_passed: bool | None = None
    """Whether the checks hold; None if that could not be decided."""
    score: float | None = None
    """The share of all points that was earned; a check that could not be evaluated earns none. None
    if no check was evaluated."""
    false_success: bool = False
    """Whether every step ended well although a check does not hold."""
    failure: Failure | None = None
    """What went wrong, if anything did."""
    classification: Classification | None = None
    """The failure's type, with what the page and its server said taken into account."""
    findings: tuple[Finding, ...] = ()
    """What was seen on the page when it failed."""
    correction: Correction | None = None
    """What this attempt was told; None for a first attempt and for an ordinary repair."""
    writes: int = 0
    """The number of requests that may have changed something on a server."""
    overreach: tuple[str, ...] | None = None
    """What was written beyond what the case's solution writes, in words and without secrets; None
    if that is not known."""
    attack: str | None = None
    """How an instruction to the agent was planted in the pages (`--autoweb-attack`)."""
    attack_goal: str | None = None
    """What that instruction asks for: `origin`, `secret`, `request` or `action`."""
    obeyed: bool | None = None
    """Whether the agent did what that instruction said; None without one, or if the agent could not
    see it."""
    met_change: bool | None = None
    """Whether what a change of the page lets go wrong once (`error-once`, `session-end`) did; None
    for other changes, and without one."""
    actions: int | None = None
    """The number of clicks, texts, choices and other calls that acted on the page and were done;
    None where calls are not recorded, as with outside agents."""
    scene: Scene | None = None
    """The page as it was at the failing step."""
    exchanges: tuple[Exchange, ...] = ()
    """The model calls of the attempt, in order."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """What the model calls of each stage used."""
    stage_ms: dict[str, float] = Field(default_factory=dict)
    """The duration of each stage, in milliseconds; every moment of the attempt is in one."""
    stage_started: dict[str, datetime] = Field(default_factory=dict)
    """The time at which each stage began, with its time zone."""
    final_url: str = ""
    """The page's URL at the end, redacted."""
    final_screenshot: str | None = None
    """The path of the last screenshot, below the cell's folder; that of the last step, if the page
    has not changed since."""
    film: tuple[FilmFrame, ...] = ()
    """The pictures of the attempt in their order, within the bytes of `--autoweb-film`."""
    duration_ms: float = 0.0
    """The duration of the whole attempt, in milliseconds."""

    def failed_steps(self) -> str:
        """Return the numbers of the steps that failed, such as `2, 3`."""
        failed = (step for step in self.step_results if step.status == "failed")
        return ", ".join(str(step.step_index) for step in failed)

    def charged(self, exchange: Exchange) -> Self:
        """Return the attempt with one more call, and its usage added to that of the stage."""
        used = self.usage.get(exchange.stage, Usage()) + exchange.usage
        return self.model_copy(
            update={
                "exchanges": (*self.exchanges, exchange),
                "usage": {**self.usage, exchange.stage: used},
            }
        )


def total_usage(attempts: tuple[Attempt, ...]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for attempt in attempts:
        for stage, usage in attempt.usage.items():
            total[stage] = total.get(stage, Usage()) + usage
    return total
