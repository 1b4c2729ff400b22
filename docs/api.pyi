"""The signatures of the public names, which docs/api.md describes, one part for each module.

A class body that ends with `...` has more than it shows, and that is private.
"""

# pytest_autoweb

class Registry:
    def add_check(self, check_type: type[Check]) -> type[Check]: ...
    def add_strategy(self, strategy: Strategy) -> Strategy: ...
    def add_agent(
        self, name: str, command: Sequence[str] = (), *, summary: str = "", **settings: Any
    ) -> Strategy: ...
    def add_capture_mode(self, mode: CaptureMode) -> CaptureMode: ...
    def add_correction_arm(self, arm: CorrectionArm) -> CorrectionArm: ...
    def add_gate(self, gate: Gate) -> Gate: ...
    def add_report_panel(self, panel: Panel) -> Panel: ...

    ...

class Strategy:
    def __init__(
        self,
        *,
        name: str,
        summary: str,
        first: tuple[NamedStage, ...],
        repair: tuple[NamedStage, ...] = (),
        prompts: tuple[str, ...] = (),
        uses_capture: bool = True,
        lacks: frozenset[str] = frozenset(),
        in_dialect: Mapping[str, Strategy] = {},
        by_turns: Strategy | None = None,
        outside: Callable[[], Any] | None = None,
    ) -> None: ...

class CorrectionArm:
    def __init__(
        self,
        *,
        name: str,
        summary: str,
        label: str = "",
        ordinary: bool = False,
        informed: bool = True,
        advised: bool = False,
        bans_failed_calls: bool = False,
        differs: str = "",
        control: bool = False,
        prompts: tuple[str, ...] = (),
        first_asks: tuple[NamedStage, ...] = (),
        writer: NamedStage | None = None,
    ) -> None: ...

class CaptureMode:
    def __init__(
        self,
        *,
        name: str,
        summary: str,
        show: Callable[[Page | Frame, int], ShownPage | str],
        brief: Callable[[Page | Frame], tuple[Any, ...]] | None = None,
    ) -> None: ...

class ShownPage(NamedTuple):
    text: str
    truncated: bool = False
    notes: tuple[str, ...] = ()

class NotPossible(Exception): ...

class Gate:
    def __init__(
        self,
        name: str,
        summary: str,
        evaluate: Callable[[GateContext], Iterable[GateResult]],
        order: int = 10_000,
    ) -> None: ...

class GateContext:
    run: RunRows  # rows: a summary of each cell
    policy: GatePolicy
    baseline: RunRows | None
    missing: str
    history: History | None
    spending: Spending | None
    contestants: tuple[CellSummary, ...]
    hard: tuple[CellSummary, ...]
    compared: RunRows
    pairs: tuple[Comparison, ...]

class GateResult:
    def __init__(
        self,
        *,
        name: str,
        model: str = "",
        passed: bool | None,
        message: str,
        details: tuple[str, ...] = (),
        soft: bool = False,
        notice: bool = False,
    ) -> None: ...

class Panel:
    def __init__(
        self,
        name: str,
        title: str,
        summary: str,
        build: Callable[[Report], PanelContent | None] | None = None,
        files: tuple[str, ...] = (),
        order: int = 10_000,
    ) -> None: ...

class PanelContent:
    def __init__(
        self,
        *,
        note: str = "",
        facts: dict[str, str | bool | int | float | None] = {},
        columns: tuple[str, ...] = (),
        rows: tuple[tuple[str | bool | int | float | None, ...], ...] = (),
    ) -> None: ...

class Report:
    schema_version: int
    ts: str
    started: datetime
    duration_s: float
    exit_status: int | None
    interrupted: bool
    models: tuple[str, ...]
    capture_modes: tuple[str, ...]
    summary: Summary | None
    cases: tuple[CaseReport, ...]
    comparisons: tuple[Comparison, ...]
    baseline: RunRows | None
    gates: tuple[GateResult, ...]
    history: History | None
    environment: dict[str, str]
    settings: dict[str, Any]
    notes: tuple[str, ...]
    ...

class Client(Protocol):
    def complete(self, request: Request) -> Reply: ...

class Request:
    def __init__(
        self,
        *,
        model: str,
        messages: tuple[Message, ...],
        stage: str,
        case_id: str = "",
        capture_mode: str = "",
        repeat: int = 1,
        attempt: int = 1,
        turn: int = 0,
        grammar: str | None = None,
        json_schema: dict[str, Any] | None = None,
        stop: tuple[str, ...] = (),
        max_tokens: int | None = None,
        more_room: bool = False,
        computer: Any | None = None,
        chat: Any | None = None,
    ) -> None: ...

class Message:
    def __init__(
        self,
        *,
        role: Literal["system", "user", "assistant"],
        content: str,
        images: tuple[str, ...] = (),
    ) -> None: ...

class Reply:
    def __init__(
        self,
        *,
        text: str,
        usage: Usage = Usage(),
        model_served: str = "",
        fingerprint: str = "",
        finish_reason: str = "",
        more_room: bool = False,
    ) -> None: ...

class Usage:
    def __init__(
        self,
        *,
        calls: int = 0,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cached_tokens: int = 0,
        reasoning_tokens: int = 0,
        cost_usd: float | None = None,
        unpriced_calls: int = 0,
        latency_s: float = 0.0,
        replayed_calls: int = 0,
    ) -> None: ...

class ModelSpec:
    name: str
    model: str
    api_base: str | None
    api_key_env: str | None
    temperature: float | None
    seed: int | None
    reasoning: bool | None
    reasoning_effort: str | None
    max_tokens: int
    output_limit: int | None
    context_tokens: int
    page_tokens: int
    timeout: float
    vision: bool
    dialect: Literal["playwright", "refs"]
    constrained: Literal["none", "gbnf", "json_schema"]
    prompt_caching: bool
    refuses: tuple[str, ...]
    extra_body: dict[str, Any]
    max_parallel: int | None
    input_cost_per_mtok: float | None
    output_cost_per_mtok: float | None
    cached_input_cost_per_mtok: float | None
    ...

class ModelError(AutowebError):
    def __init__(
        self, cause: str, model: str, detail: str, *, usage: Usage | None = None
    ) -> None: ...

class StepEngine(Protocol):
    def run_step(
        self,
        index: int,
        code: str,
        *,
        root: Page | Frame,
        limits: Limits,
        resume: tuple[ToolCall, ...] = (),
    ) -> StepOutcome: ...
    @property
    def answer(self) -> tuple[bool, JsonValue]: ...
    def close(self) -> None: ...

class SandboxBorder:
    page: Page
    artifacts: Path
    secrets: Mapping[str, str]
    allowed: Callable[[str], bool]
    secret_allowed: Callable[[str], bool]
    scripts: bool
    files: Mapping[str, Path]
    redact: Callable[[str], str]
    covers: Callable[[Page], Sequence[Locator]]
    on_log: Callable[[str], None]
    finders: Mapping[str, Callable[..., Locator]]
    functions: Mapping[str, Callable[..., JsonValue]]
    waited: Callable[[], float]
    ...

class Limits:
    step_s: float
    cpu_s: float
    memory_mb: int
    output_chars: int
    calls: int
    exchanged_mb: int
    call_s: float
    patience: float
    nominal_s: float | None

class StepOutcome:
    def __init__(
        self,
        ok: bool,
        failure: Failure | None = None,
        calls: tuple[ToolCall, ...] = (),
        log: str = "",
        names: tuple[str, ...] = (),
        duration_ms: float = 0.0,
        killed: bool = False,
        timed_out: bool = False,
        overdue: ToolCall | None = None,
    ) -> None: ...

class Autoweb:
    def run(self, target: str, *, model: str, capture: str | None = None) -> CellResult: ...

class AutowebStep:
    def __call__(self, task: str, *, page: Page | None = None) -> None: ...
    def check(self, claim: str, *, page: Page | None = None) -> None: ...
    def read(self, what: str, kind: type[T] = str, *, page: Page | None = None) -> T: ...
    def secret(self, variable: str) -> str: ...

class CellResult:
    case_id: str
    model: str
    capture_mode: str
    repeat: int
    strategy: str
    outcome: str
    passed: bool
    reason: str
    failure: Failure | None
    attempts: tuple[Attempt, ...]
    usage: dict[str, Usage]
    total_usage: Usage
    started: datetime
    duration_ms: float
    folder: str
    ...

class Failure:
    def __init__(
        self,
        *,
        kind: str,
        message: str,
        cause: str | None = None,
        rule: str | None = None,
        step_index: int | None = None,
        line: int | None = None,
        evidence: dict[str, Any] = {},
    ) -> None: ...

class Case:
    id: str
    entry_url: str
    user_task: str
    strategy: str | None
    tags: tuple[str, ...]
    must_pass: bool
    expect: tuple[Check, ...]
    oracle: str | None
    timeout: float
    ...

class AutowebError(Exception): ...

def load_run(folder: str | Path) -> Run: ...

class Run:
    folder: Path
    info: RunInfo
    cells: tuple[CellResult, ...]
    notes: tuple[str, ...]

    def rows(
        self, of: Literal["cells", "attempts", "checks"] = "cells"
    ) -> list[dict[str, Any]]: ...
    def to_pandas(self, of: Literal["cells", "attempts", "checks"] = "cells") -> Any: ...
    def to_polars(self, of: Literal["cells", "attempts", "checks"] = "cells") -> Any: ...

def mark_page(
    page: Page,
    *,
    only: Sequence[Mark] | None = None,
    failed: Collection[Mark] = (),
    limit: int = 200,
    hide: Callable[[str], str] | None = None,
    lines: bool = False,
) -> MarkedPage: ...

class Sight:
    def __init__(
        self,
        page: Page,
        eyes: VisionModel,
        *,
        algorithm: Literal["seed", "bayes"] = "bayes",
        limits: SearchLimits | None = None,
        hide: Callable[[str], str] | None = None,
        save: Callable[[bytes], str | None] = lambda picture: None,
        memory: Memory | None = None,
    ) -> None: ...
    def locate(
        self,
        description: str,
        *,
        expected_text: str = "",
        role: str = "",
        within: Frame | Locator | None = None,
    ) -> LocatorResult: ...

class VisionModel:
    def __init__(
        self,
        client: Client,
        request: Request,
        redact: Callable[[str], str] = lambda text: text,
        *,
        constrained: bool = False,
        fences: bool = True,
    ) -> None: ...

# pytest_autoweb.stages

OPEN: NamedStage
PLAN: NamedStage
PLAN_AS_TASK: NamedStage
CAPTURE: NamedStage
GENERATE: NamedStage
REPAIR: NamedStage
LINT: NamedStage
EXECUTE: NamedStage
JUDGE: NamedStage

class NamedStage(NamedTuple):
    name: str
    run: Stage

Stage = Callable[[Attempt, Tools], Attempt]

class Attempt:
    attempt_index: int
    plan_text: str
    plan_steps: tuple[PlanStep, ...]
    snapshots: tuple[Snapshot, ...]
    code: str
    lint_errors: tuple[LintFinding, ...]
    step_results: tuple[StepResult, ...]
    tool_calls: tuple[ToolCall, ...]
    answered: bool
    answer: Any
    checks: tuple[CheckResult, ...]
    failure: Failure | None
    exchanges: tuple[Exchange, ...]
    usage: dict[str, Usage]
    final_url: str
    duration_ms: float
    ...

class Tools:
    case: Case
    spec: ModelSpec
    mode: str  # the capture mode
    repeat: int
    client: Client
    page: Page
    folder: Path  # the attempt's own
    redact: Callable[[str], str]  # takes secrets out of a text
    log: RunLog  # log.write("a line")
    previous: Attempt | None  # the failed attempt that this one repairs
    guidance: Guidance | None  # of a correction: evidence, failed, attempts
    ...

def ask(
    attempt: Attempt,
    tools: Tools,
    stage: str,
    messages: tuple[Message, ...],
    *,
    turn: int = 0,
    grammar: str | None = None,
    json_schema: dict[str, Any] | None = None,
    max_tokens: int | None = None,
    computer: Any | None = None,
    usable: Callable[[str], str] = ...,
) -> tuple[Attempt, str]: ...
def change(attempt: Attempt, **update: Any) -> Attempt: ...
def fail(attempt: Attempt, failure: Failure, *problems: StepProblem) -> Attempt: ...
def take_code(attempt: Attempt, tools: Tools, reply: str) -> Attempt: ...

# pytest_autoweb.checks

class Check:
    name: ClassVar[str]
    summary: ClassVar[str]
    rests_on: ClassVar[str]
    data_fields: ClassVar[tuple[tuple[str | int, ...], ...]]
    points: float | None
    weight: float | None
    message: str

    def probe(self, evidence: Evidence) -> CheckProbe: ...
    def refuse_unusable(self, case_path: Path | None) -> None: ...

    ...

class CheckProbe(NamedTuple):
    expected: str
    look: Callable[[float], Verdict]
    retry: bool = True

class Verdict(NamedTuple):
    passed: bool | None
    actual: str
    where: str = ""
    finding: str = ""
    hint: str = ""
    credit: float | None = None
    reason: str = ""
    advisory: bool = False
    usage: Usage = Usage()
    votes: tuple[JudgeVote, ...] = ()

class Evidence:
    page: Page
    answered: bool
    answer: Any
    redact: Callable[[str], str]
    wire: Sequence[WireEntry]
    downloads: Sequence[Download]
    actions: Sequence[ToolCall]
    case_path: Path | None
    case_id: str
    entry_url: str
    user_task: str
    ...

class NotEvaluated(Exception): ...

class FieldError(Exception):
    def __init__(
        self, at: tuple[str | int, ...], reason: str, also: Sequence[FieldError] = ()
    ) -> None: ...

class Pattern:
    matches: str

class CheckContext:
    case_id: str
    entry_url: str
    user_task: str
    answered: bool
    answer: Any
    requests: Sequence[WireEntry]
    downloads: Sequence[Download]
    actions: Sequence[ToolCall]

    @property
    def url(self) -> str: ...
    def text(self) -> str: ...
    def evaluate(self, javascript: str) -> Any: ...

class CheckVerdict:
    def __init__(
        self,
        passed: bool | None,
        actual: str = "",
        where: str = "",
        finding: str = "",
        hint: str = "",
        credit: float | None = None,
        reason: str = "",
    ) -> None: ...

class WireEntry:
    method: str
    url: str
    status: int | None
    status_text: str
    resource_type: str
    request_headers: Mapping[str, str]
    request_body: str | None
    response_headers: Mapping[str, str]
    response_body: str | None
    started: datetime | None
    duration_ms: float | None
    failed: str
    page_url: str
    frame_url: str
    ...

class Download:
    name: str
    path: Path | None
    size: int
    sha256: str
    url: str
    problem: str

class ToolCall:
    def __init__(
        self,
        *,
        step_index: int,
        seq: int,
        target: str,
        method: str,
        arguments: str,
        acting: bool,
        ok: bool,
        error: str | None = None,
        result: str = "",
        located: str = "",
        element: str = "",
        duration_ms: float,
        line: int | None = None,
        duplicate: bool = False,
        cached: bool = False,
        replayed: bool = False,
        read_back: ReadBack | None = None,
    ) -> None: ...

# pytest_autoweb.testing

class ScriptedClient:
    def __init__(self, answers: Mapping[str, Answer | Sequence[Answer]]) -> None: ...
    def complete(self, request: Request) -> Reply: ...

Answer = str | ModelError | Callable[[Request], str]

def scripted_plan(*descriptions: str) -> str: ...

class FaultyClient:
    def __init__(self, right: Callable[[str], Right], faults: Faults, seed: object = 0) -> None: ...
    def complete(self, request: Request) -> Reply: ...

    ...

class Faults:
    def __init__(
        self,
        swap: float = 0.0,
        drop: float = 0.0,
        drop_near: float = 0.0,
        malformed: float = 0.0,
        loose: float = 0.0,
        heeds: float = 0.8,
        rethinks: float = 0.3,
    ) -> None: ...

class Right(NamedTuple):
    action: Mapping[str, Any]
    listed: str | None = None
    expected_text: str = ""
    near: str = ""

class Slip(NamedTuple):
    kind: Literal["none", "swapped", "dropped", "malformed"]
    right: int | None
    given: int | None
    text: str
