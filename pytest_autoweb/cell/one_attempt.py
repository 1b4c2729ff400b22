"""One attempt at a cell: its stages applied in turn, whatever a page or a model does.

An attempt goes through this order:

1. The web server of the case is lent, and reset; its address completes the case's texts.
2. A browser context is opened behind the egress proxy, then the sandbox (`attempt_setting`).
3. The stages of the strategy run; after a failure that leaves nothing to work on, no more do.
4. What was recorded is kept, and the failure gets its cause, while the page is still open.
5. Page, sandbox and server are closed or given back, and the attempt's files are written.

A stage that raises costs the attempt, not the run. An attempt whose browser died through no fault
of its code is made once more.
"""

import traceback
from pathlib import Path

from pytest_autoweb.agents.attempt.diagnosis import with_cause
from pytest_autoweb.agents.attempt.film import with_film, without_pictures
from pytest_autoweb.agents.attempt.judging_stage import keep_attack, keep_change, keep_records
from pytest_autoweb.agents.attempt.pictures import without_missed
from pytest_autoweb.agents.attempt.tools import (
    LOG_LINES,
    STOPPING,
    NamedStage,
    RunLog,
    Tools,
    change,
)
from pytest_autoweb.agents.correction.failure_types import cause_of
from pytest_autoweb.base.errors import (
    AutowebError,
    BrowserError,
    CaseError,
    TrafficError,
    WebServerError,
    named_line,
)
from pytest_autoweb.browser.egress.browser_watch import CALL_S, WATCH
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.attempt_setting import AttemptOrder, AttemptSetting, attempt_tools
from pytest_autoweb.cell.cell_inputs import CellResources
from pytest_autoweb.cell.cell_setting import CellSetting
from pytest_autoweb.cell.hands import lacking_told, needs_of
from pytest_autoweb.cell.lost_browser import blame_dead_browser, retry_if_browser_died
from pytest_autoweb.cell.mailbox import address_of
from pytest_autoweb.cell.rehearsed_solution import rehearsed_if_lost_for_words
from pytest_autoweb.cell.stage_clock import StageClock
from pytest_autoweb.cell.strategies import LEAVE_PAGE
from pytest_autoweb.results.analysis.price import acted
from pytest_autoweb.results.records import Attempt, Failure, FailureKind
from pytest_autoweb.results.runs.inert_copies import SCRIPT_FILE
from pytest_autoweb.results.runs.saving import json_text, write_text_atomic
from pytest_autoweb.results.runs.watched import remove_so_far

_KINDS: dict[type[AutowebError], FailureKind] = {
    TrafficError: "recording",
    WebServerError: "webserver",
    BrowserError: "browser",
    CaseError: "internal",
}
"""The failures of attempts that could not begin, or not end, by the error that says so."""


def run_attempt(
    of: CellSetting, resources: CellResources, order: AttemptOrder
) -> tuple[Attempt, Case | None]:
    """Make one attempt, and once more if its browser died through no fault of its code.

    Returns:
        The attempt, and the case with its final texts; None if its server did not start.
    """
    folder = resources.run_folder / of.cell.folder / f"{order.folder}{order.index}"
    if of.cell.called is not None:
        # Nobody but the test can open its page again.
        return _make_attempt(of, resources, order, folder)

    def make(order: AttemptOrder, folder: Path) -> tuple[Attempt, Case | None]:
        return retry_if_browser_died(lambda: _make_attempt(of, resources, order, folder), folder)

    return rehearsed_if_lost_for_words(of.cell.spec, make, order, folder)


def _make_attempt(
    of: CellSetting, resources: CellResources, order: AttemptOrder, folder: Path
) -> tuple[Attempt, Case | None]:
    """Make one attempt with a fresh server state, browser context, sandbox and log."""
    case: Case | None = None
    attempt = Attempt(
        attempt_index=order.index,
        repair_attempt=order.index > 1,
        correction=order.guidance.correction if order.guidance else None,
    )
    times = StageClock("server")
    folder.mkdir(parents=True, exist_ok=True)
    # The secrets are known only once the case is resolved; nothing is logged before that.
    log = RunLog(redact=lambda text: text, stream=resources.stream)
    try:
        with resources.servers.lend(of.cell.case) as server:
            if server is not None and server.mail_folders:
                address = address_of(of.cell.case.id, of.cell.nodeid)
                server = server.model_copy(update={"address": address})
            case = of.cell.case.resolve(server)
            if of.cell.mutant:
                case = of.cell.mutant.changed(case)
            order = order.at(case.entry_url)
            times.enter("browser")
            setting = AttemptSetting(of, resources, order, case, server, folder, log)
            with attempt_tools(setting) as tools, WATCH.within(lambda: tools.budget.left):
                if lacking := needs_of(case) & of.strategy.lacks:
                    attempt = change(attempt, code_notes=(lacking_told(lacking),))
                attempt = _run_stages(attempt, tools, setting, times)
    except tuple(_KINDS) as error:
        kind = next(kind for known, kind in _KINDS.items() if isinstance(error, known))
        attempt = change(attempt, failure=Failure(kind=kind, message=str(error)))
    attempt = change(
        attempt,
        classification=attempt.classification or cause_of(attempt.failure, ()),
        formatted_errors=tuple(p.line(of.settings.language) for p in attempt.problems),
        run_log_head="\n".join(log.lines[:LOG_LINES]),
        run_log_tail="\n".join(log.lines[LOG_LINES:][-LOG_LINES:]),
        blocked_origins=tuple(log.blocked),
        actions=acted(attempt.tool_calls),
    )
    _save_attempt(attempt, folder, log)
    return _timed(attempt, times), case


def _run_stages(
    attempt: Attempt, tools: Tools, setting: AttemptSetting, times: StageClock
) -> Attempt:
    """Run the stages of the attempt, and what has to happen before its page closes."""
    order, resources = setting.order, setting.resources
    stages = setting.of.strategy.stages(order.failed, order.arm)
    if order.judge is not None:
        stages = (*stages[:-1], NamedStage(stages[-1].name, order.judge(setting)))
    if order.guidance and order.guidance.correction.relogin:
        stages = (_relogin(resources), *stages)
    attempt = _fold(attempt, tools, stages, times)
    times.enter("close")
    attempt = keep_records(blame_dead_browser(attempt, tools), tools)
    attempt = keep_change(keep_attack(attempt, tools), tools)
    attempt = with_cause(_off_record(attempt, tools), tools)
    attempt = _with_pictures(attempt, tools, resources)
    if resources.pause and not attempt.checks_passed and not tools.page.is_closed():
        times.enter("pause")
        with WATCH.within(lambda: CALL_S):
            resources.pause(attempt, tools.page)
        times.enter("close")
    return attempt


def _with_pictures(attempt: Attempt, tools: Tools, resources: CellResources) -> Attempt:
    """Return the attempt with its film, or without any picture if its case wants none."""
    if not tools.case.pictures:
        return without_pictures(attempt, tools.folder)
    share = tools.settings.film_total // resources.cells
    most = min(tools.settings.film, share) // (1 + tools.settings.retries)
    return with_film(attempt, tools.film, tools.cell_folder, most)


def _relogin(resources: CellResources) -> NamedStage:
    def run(attempt: Attempt, tools: Tools) -> Attempt:
        if resources.relogin:
            with WATCH.within(lambda: CALL_S):
                resources.relogin(tools.case, tools.page)
        return attempt

    return NamedStage("relogin", run)


def _fold(
    attempt: Attempt, tools: Tools, stages: tuple[NamedStage, ...], times: StageClock
) -> Attempt:
    for stage in stages:
        tools.progress(stage.name)
        times.enter(stage.name)
        if stage.run not in LEAVE_PAGE:
            tools.newest.settle()
        attempt = _guarded(stage, attempt, tools)
        tools.follow(attempt)
        attempt = _off_record(attempt, tools)
        if attempt.failure and attempt.failure.kind in STOPPING:
            break
    tools.newest.settle()
    return without_missed(attempt, tools)


def _off_record(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt without a verdict if it left the recording that is replayed."""
    if tools.traffic is None or not tools.traffic.left:
        return attempt
    failure = Failure(kind="off_record", message=tools.redact(tools.traffic.left))
    return change(attempt, failure=failure, checks_passed=None, score=None, false_success=False)


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
    remove_so_far(folder.parent)


def _timed(attempt: Attempt, times: StageClock) -> Attempt:
    """Return the attempt with its time, all of which lies in its stages."""
    spent = times.stop()
    return change(
        attempt, stage_ms=spent, stage_started=times.started, duration_ms=sum(spent.values())
    )
