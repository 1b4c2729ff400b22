"""Running one cell: its attempts through their stages, their corrections, and the outcome."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from playwright.sync_api import Page

from pytest_autoweb.agents.attempt.diagnosis import with_cause
from pytest_autoweb.agents.attempt.finders import MarkFinder, SightFinder, noted
from pytest_autoweb.agents.attempt.judging_stage import keep_records
from pytest_autoweb.agents.attempt.new_address import at_new_address, guidance_at
from pytest_autoweb.agents.attempt.tools import (
    LOG_LINES,
    STOPPING,
    NamedStage,
    RunLog,
    StepBudget,
    Tools,
    change,
)
from pytest_autoweb.agents.codegen.captured_pages import show_more
from pytest_autoweb.agents.collect.collect_list import collect_urls
from pytest_autoweb.agents.correction.call_cache import (
    Cache,
    MemoryCache,
    SeenCalls,
    with_reply_cache,
)
from pytest_autoweb.agents.correction.failure_types import cause_of
from pytest_autoweb.agents.correction.naming_model import AskedCell
from pytest_autoweb.agents.correction.retry_rules import Guidance, Rules, was_refused
from pytest_autoweb.base.errors import (
    AutowebError,
    BrowserError,
    CaseError,
    TrafficError,
    WebServerError,
    named_line,
)
from pytest_autoweb.base.redaction import Redactor, environment_keys, redact_shapes
from pytest_autoweb.base.waiting import waiting
from pytest_autoweb.browser.egress.browser_watch import CALL_S, WATCH
from pytest_autoweb.browser.egress.guarded_page import guarded_page
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.suppression import SUPPRESSED, Suppression
from pytest_autoweb.browser.egress.traffic_reader import TrafficReader
from pytest_autoweb.browser.marks.drawing import covers
from pytest_autoweb.browser.page.quiet import is_leaving
from pytest_autoweb.browser.page.read_back import read_back
from pytest_autoweb.browser.page.setup import (
    PLAIN_CONTEXT,
    add_cookies,
    context_args,
    limit_talk,
    set_clock,
)
from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic
from pytest_autoweb.cases.case import Case, resolve_secrets
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.cell.corrections import ArmAttempts, arm_run, correct, repairable, settle
from pytest_autoweb.cell.lost_browser import made_again_if_lost, with_loss
from pytest_autoweb.cell.prepared_cell import (
    Cell,
    CellResources,
    agent_of,
    checksums_of,
    told_traffic,
    traffic_of,
)
from pytest_autoweb.cell.stage_clock import StageClock
from pytest_autoweb.cell.strategies import ARMS, CorrectionArm, stages_for, strategy_of
from pytest_autoweb.judging.evidence.page_evidence import DownloadRecord, Watch
from pytest_autoweb.judging.evidence.wire import BODY_CHARS, WireEntry, WireRecord
from pytest_autoweb.judging.model_judge import JudgedAttempt, ModelJudge
from pytest_autoweb.models.client import TimedClient
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    Failure,
    FailureKind,
    Outcome,
    PlannedCell,
    total_usage,
)
from pytest_autoweb.results.runs.inert_copies import DOWNLOADS_FOLDER, SCRIPT_FILE
from pytest_autoweb.results.runs.saving import json_text, mark_started, save_cell, write_text_atomic
from pytest_autoweb.sandbox.engine import Finder, JsonValue, SandboxBorder, SentRequest
from pytest_autoweb.sandbox.levels import scripts_allowed


def finders(tools: Tools) -> Mapping[str, Finder]:
    """Return the finders that the cell offers, by their names in the step language."""
    offered: dict[str, Finder] = {"get_by_mark": noted(tools.marks.find, tools)}
    if tools.spec.vision:
        offered["get_by_sight"] = noted(SightFinder(tools).find, tools)
    return offered


def functions(tools: Tools) -> Mapping[str, Callable[..., JsonValue]]:
    """Return the functions that the cell offers, by their names in the step language."""
    return {"collect_urls": partial(collect_urls, tools), "show_more": partial(show_more, tools)}


NOTHING_DONE = "no step ran: nothing was done"


def run_cell(cell: Cell, resources: CellResources) -> CellResult:
    """Run all attempts of a cell and save its result."""
    started, clock = datetime.now(UTC), StageClock("attempts")
    mark_started(resources.run_folder, cell.folder)
    first, resolved = _run_attempt(cell, resources, _AttemptOrder(1))
    arm, *others = map(ARMS.pick, resources.settings.correction)
    # All arms continue from the same first attempt, so that they differ in nothing but the retries.
    run = partial(_attempts_in_arm, cell, resources, first)
    made = run(arm)
    if resources.naming is not None:
        clock.enter("classify")
    attempts = [_named(attempt, cell, resources) for attempt in made.attempts]
    outcome, reason, failure = settle(attempts, has_checks=cell.case.has_expect)
    if outcome == "failed" and not reason:
        reason = "not every step ran" if attempts[-1].step_results else NOTHING_DONE
    if others:
        clock.enter("other arms")
    beside = (
        tuple(arm_run(run(other, folder=f"{other.name}-"), other) for other in others)
        if repairable(first)
        else ()
    )
    spent = clock.stop()
    result = CellResult(
        **dict(planned_cell(cell, resolved)),
        dialect=cell.spec.dialect,
        browser_settings=resolved.setup.of_browser() if resolved else {},
        outcome=outcome,
        slow=outcome in ("passed", "healed") and any(r.retried for r in attempts[-1].step_results),
        reason=reason,
        failure=failure,
        attempts=tuple(attempts),
        correction=arm.name,
        stopped=made.stopped,
        arms=beside,
        usage=total_usage(tuple(attempts)),
        started=started,
        duration_ms=sum(spent.values()),
        stage_ms=_between_attempts(spent, attempts),
        worker=resources.worker,
        traffic=told_traffic(cell, resources.settings),
        checksums=checksums_of(cell, resources.settings),
        agent=agent_of(cell, resources.settings),
    )
    save_cell(resources.run_folder, result)
    return result


def _between_attempts(spent: Mapping[str, float], attempts: Sequence[Attempt]) -> dict[str, float]:
    """Return the milliseconds of a cell that are part of none of its attempts, by stage."""
    within = sum(sum(attempt.stage_ms.values()) for attempt in attempts)
    # Between two attempts a correction may wait for a service to recover.
    rest = "wait" if len(attempts) > 1 else "save"
    return {
        rest: max(0.0, spent["attempts"] - within),
        **{stage: took for stage, took in spent.items() if stage != "attempts"},
    }


def _named(attempt: Attempt, cell: Cell, resources: CellResources) -> Attempt:
    """Return the attempt with the type of its failure, asking a model if the rules have none."""
    if resources.naming is None:
        return attempt
    return resources.naming.named(attempt, AskedCell(cell.case.id, cell.mode, cell.repeat))


@dataclass(frozen=True, slots=True)
class _AttemptOrder:
    """The attempt that is to be made."""

    index: int
    failed: Attempt | None = None
    """The attempt that it repairs, if any."""
    guidance: Guidance | None = None
    folder: str = "attempt-"
    """The beginning of its folder's name."""
    arm: CorrectionArm | None = None
    """The arm in which it is a retry; None for the first attempt."""
    ran: Attempt | None = None
    """The last attempt that ran, if the failed one was refused before it did."""

    @property
    def previous(self) -> Attempt | None:
        """Return the failed attempt, of which an uninformed arm must not even know.

        The ordinary repair always knows it.
        """
        arm = self.guidance.arm if self.guidance else None
        return self.failed if arm is None or arm.informed or arm.ordinary else None

    @property
    def ran_before(self) -> Attempt | None:
        """Return the last attempt that ran before a refused one, if it may be known."""
        return self.ran if self.previous else None

    def at(self, entry_url: str) -> "_AttemptOrder":
        """Return the order with what went before as if made at the address of this attempt."""
        failed = at_new_address(self.failed, entry_url) if self.failed else None
        guidance = guidance_at(self.guidance, entry_url) if self.guidance else None
        ran = at_new_address(self.ran, entry_url) if self.ran else None
        return replace(self, failed=failed, guidance=guidance, ran=ran)


def _attempts_in_arm(
    cell: Cell,
    resources: CellResources,
    first: Attempt,
    arm: CorrectionArm,
    folder: str = "attempt-",
) -> ArmAttempts:
    """Return the first attempt with its retries in one arm."""
    servers = cell.case.webservers.values()
    rules = Rules(
        # The built-in models repeat a given script, so a retry of it cannot do better.
        max_retries=0 if cell.spec.provider == "builtin" else resources.settings.retries,
        resettable=bool(servers)
        and all(one.reset is not None or one.static is not None for one in servers),
        can_relogin=resources.relogin is not None,
        past=resources.past,
        compared=len(resources.settings.correction) > 1,
    )

    ran: Attempt | None = None

    def make_attempt(failed: Attempt, index: int, guidance: Guidance | None) -> Attempt:
        nonlocal ran
        refused = was_refused(failed)
        ran = ran if refused else failed
        order = _AttemptOrder(index, failed, guidance, folder, arm, ran if refused else None)
        return _run_attempt(cell, resources, order)[0]

    return correct(first, arm, rules, resources.clock, make_attempt)


def broken_cell(cell: Cell, resources: CellResources, failure: Failure) -> CellResult:
    """Return and save the result of a cell that could not begin."""
    return _without_attempts(cell, resources, "broken", failure.message, failure)


def unsaved_cell(cell: Cell, failure: Failure) -> CellResult:
    """Return the result of a cell for which there is no place to save anything."""
    return CellResult(
        **dict(planned_cell(cell)),
        dialect=cell.spec.dialect,
        outcome="broken",
        reason=failure.message,
        failure=failure,
        started=datetime.now(UTC),
    )


def skipped_cell(cell: Cell, resources: CellResources, reason: str) -> CellResult:
    """Return and save the result of a cell that has nothing to run."""
    return _without_attempts(cell, resources, "skipped", reason)


def _without_attempts(
    cell: Cell,
    resources: CellResources,
    outcome: Outcome,
    reason: str,
    failure: Failure | None = None,
) -> CellResult:
    result = CellResult(
        **dict(planned_cell(cell)),
        dialect=cell.spec.dialect,
        outcome=outcome,
        reason=reason,
        failure=failure,
        started=datetime.now(UTC),
        worker=resources.worker,
        checksums=checksums_of(cell, resources.settings),
        agent=agent_of(cell, resources.settings),
    )
    try:
        save_cell(resources.run_folder, result)
    except OSError:
        # Readers of the run folder see a cell that began and left no result.
        if outcome != "broken":
            raise
    return result


def planned_cell(cell: Cell, case: Case | None = None) -> PlannedCell:
    """Return the cell's row of the manifest, with its final texts if the case is resolved."""
    return PlannedCell(
        case_id=cell.case.id,
        case_path=cell.case_path,
        line=cell.case.line or None,
        entry_url=case.entry_url if case else cell.case.entry_url_template,
        user_task=case.user_task if case else cell.case.user_task_template,
        tags=cell.case.tags,
        must_pass=cell.case.must_pass,
        without_checks=not cell.case.has_expect,
        model=cell.spec.name,
        capture_mode=cell.mode,
        repeat=cell.repeat,
        strategy=cell.strategy,
        any_capture=not strategy_of(cell.strategy, cell.spec).uses_capture,
        nodeid=cell.nodeid,
        folder=cell.folder,
    )


def _run_attempt(
    cell: Cell, resources: CellResources, this: _AttemptOrder
) -> tuple[Attempt, Case | None]:
    """Make one attempt, and once more if its browser died through no fault of its code."""
    folder = resources.run_folder / cell.folder / f"{this.folder}{this.index}"
    return made_again_if_lost(lambda: _make_attempt(cell, resources, this, folder), folder)


def _make_attempt(
    cell: Cell, resources: CellResources, this: _AttemptOrder, folder: Path
) -> tuple[Attempt, Case | None]:
    """Make one attempt with a fresh server state, browser context, sandbox and log."""
    case: Case | None = None
    guidance = this.guidance
    attempt = Attempt(
        attempt_index=this.index,
        repair_attempt=this.index > 1,
        correction=guidance.correction if guidance else None,
    )
    times = StageClock("server")
    folder.mkdir(parents=True, exist_ok=True)
    # The secrets are known only once the case is resolved; nothing is logged before that.
    log = RunLog(redact=lambda text: text, stream=resources.stream)
    try:
        with resources.servers.lend(cell.case) as server:
            case = cell.case.resolve(server)
            if cell.mutant:
                case = cell.mutant.changed(case)
            this = this.at(case.entry_url)
            times.enter("browser")
            with (
                _tools(cell, case, server, resources, folder, log, this) as tools,
                WATCH.within(lambda: tools.budget.left),
            ):
                stages = stages_for(cell.strategy, cell.spec, this.failed, this.arm)
                if guidance and guidance.correction.relogin:
                    stages = (_relogin(resources), *stages)
                attempt = _fold(attempt, tools, stages, times)
                times.enter("close")
                attempt = keep_records(with_loss(attempt, tools), tools)
                attempt = with_cause(_off_record(attempt, tools), tools)
                if resources.pause and not attempt.checks_passed and not tools.page.is_closed():
                    times.enter("pause")
                    with WATCH.within(lambda: CALL_S):
                        resources.pause(attempt, tools.page)
                    times.enter("close")
    except TrafficError as error:
        attempt = change(attempt, failure=Failure(kind="recording", message=str(error)))
    except WebServerError as error:
        attempt = change(attempt, failure=Failure(kind="webserver", message=str(error)))
    except BrowserError as error:
        attempt = change(attempt, failure=Failure(kind="browser", message=str(error)))
    except CaseError as error:
        attempt = change(attempt, failure=Failure(kind="internal", message=str(error)))
    attempt = change(
        attempt,
        classification=attempt.classification or cause_of(attempt.failure, ()),
        formatted_errors=tuple(p.line(resources.settings.language) for p in attempt.problems),
        run_log_head="\n".join(log.lines[:LOG_LINES]),
        run_log_tail="\n".join(log.lines[LOG_LINES:][-LOG_LINES:]),
        blocked_origins=tuple(log.blocked),
    )
    _save_attempt(attempt, folder, log)
    return _timed(attempt, times), case


def _timed(attempt: Attempt, times: StageClock) -> Attempt:
    """Return the attempt with its time, all of which lies in its stages."""
    spent = times.stop()
    return change(
        attempt, stage_ms=spent, stage_started=times.started, duration_ms=sum(spent.values())
    )


def _relogin(resources: CellResources) -> NamedStage:
    def run(attempt: Attempt, tools: Tools) -> Attempt:
        if resources.relogin:
            with WATCH.within(lambda: CALL_S):
                resources.relogin(tools.case, tools.page)
        return attempt

    return NamedStage("relogin", run)


@contextmanager
def _tools(
    cell: Cell,
    case: Case,
    server: ServerHandle | None,
    resources: CellResources,
    folder: Path,
    log: RunLog,
    this: _AttemptOrder,
) -> Iterator[Tools]:
    secrets = resolve_secrets(case, resources.environ, cell.case.path)
    redact, known = Redactor(secrets), _for_evidence(secrets, resources.environ)
    log.redact = evidence = lambda text: redact_shapes(known(text))
    policy = OriginPolicy(case.entry_url, case.allowed_origins)
    client, others = _client(cell, case, resources), waiting.others()
    reveal = partial(_reveal, secrets=secrets)
    suppression = cell.mutant.suppression() if cell.mutant else None
    traffic = traffic_of(cell, case, resources, secrets, f"{folder.name}", log.write)
    with _open_page(cell, case, resources, reveal, policy, log, suppression, traffic) as page:
        border = _border(cell, case, resources, page, folder, redact, secrets)
        border.on_password = known.learn
        border.waited = lambda: client.waited() + others()
        engine = resources.engine(border, resources.settings.sandbox)
        try:
            tools = Tools(
                case=case,
                spec=cell.spec,
                mode=cell.mode,
                repeat=cell.repeat,
                settings=resources.settings,
                client=client,
                page=page,
                watch=Watch(page, redact=evidence),
                wire=WireRecord(suppressed=suppression),
                downloads=DownloadRecord(folder / DOWNLOADS_FOLDER, redact),
                policy=policy,
                engine=engine,
                folder=folder,
                cell_folder=resources.run_folder / cell.folder,
                redact=redact,
                reveal=reveal,
                log=log,
                clock=resources.clock,
                redact_evidence=evidence,
                case_path=cell.case.path,
                check_checksums=cell.case.check_checksums,
                server_url=server.url if server else "",
                budget=StepBudget(case.timeout, client.waited),
                previous=this.previous,
                ran=this.ran_before,
                guidance=this.guidance,
                progress=resources.progress,
                marks=MarkFinder(redact if case.secrets else None),
                judge=_judge_for(cell, case, resources, this.failed),
                mistaken=resources.mistaken,
                traffic=traffic,
            )
            yield _connected(border, tools, suppression, resources.cache or MemoryCache())
        finally:
            engine.close()


def _for_evidence(secrets: Mapping[str, str], environ: Mapping[str, str]) -> Redactor:
    """Return what clears logs and evidence.

    Code and prompts must still work, but evidence needs no key of the environment either.
    """
    return Redactor(secrets, environment_keys(environ) - set(secrets.values()))


def _connected(
    border: SandboxBorder, tools: Tools, suppression: Suppression | None, cache: Cache
) -> Tools:
    """Return the tools, known to the border of the sandbox and to the attempt's traffic."""
    if tools.settings.cache != "off":
        border.recall = SeenCalls(tools.newest.look_before, cache)
    if tools.traffic is not None:
        tools.traffic.on_left = partial(_spend, tools.budget)
    border.sent = partial(_keep_sent, tools.wire, suppression)
    border.finders, border.functions = finders(tools), functions(tools)
    # The finders need the tools, and the tools the names of the finders.
    return replace(tools, offered=border.offered)


def _keep_sent(wire: WireRecord, suppression: Suppression | None, sent: SentRequest) -> None:
    """Record a request that the code sent itself, as checks count it like those of pages."""
    taken = suppression is not None and suppression.has_just_taken(sent.method, sent.url)
    wire.add(
        WireEntry(
            method=sent.method,
            url=sent.url,
            status=sent.status,
            resource_type="fetch",
            request_body=None if sent.body is None else sent.body[:BODY_CHARS],
            request_truncated=len(sent.body or "") > BODY_CHARS,
            started=datetime.now(UTC),
            failed=sent.failed,
            page_url=sent.page_url,
            response_headers={SUPPRESSED: suppression.mark} if suppression and taken else {},
            counted=not taken,
        )
    )


def _border(
    cell: Cell,
    case: Case,
    resources: CellResources,
    page: Page,
    folder: Path,
    redact: Redactor,
    secrets: Mapping[str, str],
) -> SandboxBorder:
    policy = OriginPolicy(case.entry_url, case.allowed_origins)
    case_folder = _case_folder(cell, resources)
    return SandboxBorder(
        page=page,
        artifacts=folder / "files",
        secrets=secrets,
        allowed=policy.allows,
        secret_allowed=policy.allows,
        scripts=scripts_allowed(resources.settings.sandbox, cell.spec.provider),
        files={Path(name).name: case_folder / name for name in case.files},
        redact=redact,
        covers=lambda shown: covers(shown, redact if secrets else None),
        read_back=read_back if resources.settings.corrects else None,
        leaving=is_leaving,
    )


def _case_folder(cell: Cell, resources: CellResources) -> Path:
    return cell.case.path.parent if cell.case.path else resources.settings.rootdir


@contextmanager
def _open_page(
    cell: Cell,
    case: Case,
    resources: CellResources,
    reveal: Callable[[str], str],
    policy: OriginPolicy,
    log: RunLog,
    suppression: Suppression | None,
    traffic: CellTraffic | None,
) -> Iterator[Page]:
    args = context_args(case.setup, _case_folder(cell, resources), case.entry_url, reveal)
    plain = args == PLAIN_CONTEXT and case.setup.clock is None
    ready = resources.ready_page() if plain and suppression is None and traffic is None else None
    with guarded_page(
        resources.open_page,
        args,
        policy,
        log.write,
        remote=resources.remote,
        suppression=suppression,
        traffic=TrafficReader(traffic, verify=case.traffic.verify) if traffic else None,
        ready=ready,
        on_blocked=lambda origin: log.blocked.setdefault(origin),
    ) as page:
        if ready is None:
            limit_talk(page.context)
        set_clock(page.context, case.setup)
        add_cookies(page.context, case.setup, case.entry_url, reveal)
        yield page
    if traffic is not None:
        traffic.save()


def _client(cell: Cell, case: Case, resources: CellResources) -> TimedClient:
    client = resources.client(cell.spec, case)
    return TimedClient(with_reply_cache(client, cell.spec, resources.cache))


def _judge_for(
    cell: Cell, case: Case, resources: CellResources, failed: Attempt | None
) -> ModelJudge | None:
    if resources.judge is None:
        return None
    judged = JudgedAttempt(
        case_id=case.id,
        user_task=case.user_task,
        capture_mode=cell.mode,
        repeat=cell.repeat,
        attempt=failed.attempt_index + 1 if failed else 1,
        model=cell.spec,
    )
    return resources.judge(judged)


def _reveal(text: str, secrets: Mapping[str, str]) -> str:
    for name, value in secrets.items():
        text = text.replace(f"<secret:{name}>", value)
    return text


def _fold(
    attempt: Attempt, tools: Tools, stages: tuple[NamedStage, ...], times: StageClock
) -> Attempt:
    for stage in stages:
        tools.progress(stage.name)
        times.enter(stage.name)
        attempt = _guarded(stage, attempt, tools)
        attempt = _off_record(attempt, tools)
        if attempt.failure and attempt.failure.kind in STOPPING:
            break
    return attempt


def _off_record(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt without a verdict if it left the recording that is replayed."""
    if tools.traffic is None or not tools.traffic.left:
        return attempt
    failure = Failure(kind="off_record", message=tools.redact(tools.traffic.left))
    return change(attempt, failure=failure, checks_passed=None, score=None, false_success=False)


def _spend(budget: StepBudget) -> None:
    """Leave no time for further steps, as nothing that they could do would count."""
    budget.left = 0.0


def _guarded(stage: NamedStage, attempt: Attempt, tools: Tools) -> Attempt:
    """Run a stage; an unexpected exception becomes a failure, because the run must go on."""
    try:
        return stage.run(attempt, tools)
    except Exception as error:
        from_browser = type(error).__module__.startswith("playwright")
        # Known errors explain themselves; only unknown ones need a traceback.
        known = isinstance(error, AutowebError)
        kind: FailureKind = "browser" if from_browser else "internal"
        message = tools.redact(f"{stage.name}: {named_line(error)}")
        tools.log.write(str(error) if known else traceback.format_exc())
        return change(attempt, failure=Failure(kind=kind, message=message))


def _save_attempt(attempt: Attempt, folder: Path, log: RunLog) -> None:
    """Save the attempt's texts as separate files for people who look into the folder."""
    texts = {
        "plan.txt": attempt.plan_text,
        SCRIPT_FILE: attempt.code,
        "repair.diff": attempt.code_diff,
        "run.log": "\n".join(log.lines),
        "exchanges.json": json_text(list(attempt.exchanges)) if attempt.exchanges else "",
    }
    for name, text in texts.items():
        if text:
            write_text_atomic(folder / name, text, lasting=False)
