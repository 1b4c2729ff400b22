"""The stage in which an outside agent drives the page: it is told the task, followed, and stopped.

Both sides write one JSON object a line (docs/agents.md). What the agent says is a claim: only the
checks of the case decide.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Error, Page

from pytest_autoweb import waiting
from pytest_autoweb.act.loop import dialogs_answered
from pytest_autoweb.agents.agent_identity import Settings, settings_of
from pytest_autoweb.agents.agent_process import (
    AgentLine,
    AgentProcess,
    debugging_address,
    running_agent,
    target_of,
)
from pytest_autoweb.agents.model_endpoint import ModelEndpoint
from pytest_autoweb.attempt.execute import relative
from pytest_autoweb.attempt.first_and_last import judge_outcome
from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.errors import SettingsError
from pytest_autoweb.evidence.page_state import shot
from pytest_autoweb.language import StepProblem
from pytest_autoweb.llm.client import Request
from pytest_autoweb.page.opening import browser_ended
from pytest_autoweb.results import Attempt, Failure, FailureKind, PlanStep, StepResult
from pytest_autoweb.specs import AgentCommand

PROTOCOL = 1
LEAST_S = 120.0
"""The time of an agent that names none, if the case's is shorter: programs start slowly."""
MAX_STEPS = 500
MAX_LOG_LINES = 2_000
"""How many lines of an agent's own output the log keeps."""
BLAMED = "agent"
"""The name of the evidence that a lost page or browser was in an agent's hands."""
_LINE_CHARS = 2_000
_ANSWER_CHARS = 200_000
_TICK_MS = 50
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True)
class _Told:
    """What an agent has said so far."""

    steps: list[StepResult] = field(default_factory=list)
    plan: list[PlanStep] = field(default_factory=list)
    answered: bool = False
    answer: Any = None
    done: bool = False
    failed: str = ""
    logged: int = 0


def run_outside_agent(given: Settings, attempt: Attempt, tools: Tools) -> Attempt:
    """Let the agent work until it ends or its time is over, and keep what it said and asked.

    Args:
        given: returns its settings; `declared_in_case` stands for those of the model or the case.
        attempt: the attempt so far.
        tools: what the stage may use.
    """
    own = tools.case.agent if isinstance(tools.case.agent, AgentCommand) else None
    try:
        return _driven(settings_of(given, tools.spec, own), attempt, tools)
    except SettingsError as error:
        failure = Failure(kind="agent", message=tools.redact(str(error)))
        return fail(attempt, failure, StepProblem.quoted("(agent)", failure.message))


def _driven(settings: AgentCommand, attempt: Attempt, tools: Tools) -> Attempt:
    told, seconds = _Told(), settings.timeout or max(tools.budget.left, LEAST_S)
    like = Request(
        model=tools.spec.name,
        messages=(),
        stage="agent",
        case_id=tools.case.id,
        capture_mode=tools.mode,
        repeat=tools.repeat,
        attempt=attempt.attempt_index,
    )
    limit = settings.max_calls
    endpoint = ModelEndpoint(
        tools.client, tools.spec, like, tools.redact, most=limit, now=tools.clock.now
    )
    folder, env = tools.settings.rootdir, settings.env
    began, waited = tools.clock.now(), tools.budget.waited()
    with dialogs_answered(tools, tools.log.write), endpoint:
        start = _start(settings, attempt, tools, endpoint, seconds)
        tools.wire.counting = True
        with running_agent(settings.command, folder=folder, env=env) as agent:
            agent.send(start)

            def left() -> float:
                return seconds - (tools.clock.now() - began - tools.budget.waited() + waited)

            ending = _follow(agent, told, tools, left)
    spent = tools.clock.now() - began - tools.budget.waited() + waited
    tools.budget.left = max(0.0, tools.budget.left - spent)
    for exchange in endpoint.exchanges:
        attempt = attempt.charged(exchange)
    attempt = change(
        attempt,
        plan_steps=tuple(told.plan) or attempt.plan_steps,
        step_results=tuple(told.steps),
        answered=told.answered,
        answer=told.answer,
        executed=ending is None,
    )
    return _with_failure(attempt, tools, endpoint, ending)


def _start(
    settings: AgentCommand,
    attempt: Attempt,
    tools: Tools,
    endpoint: ModelEndpoint,
    seconds: float,
) -> dict[str, Any]:
    """Return the first message: all that an agent is told."""
    case, previous = tools.case, tools.previous
    base = tools.case_path.parent if tools.case_path else tools.settings.rootdir
    work = tools.folder / "agent"
    work.mkdir(parents=True, exist_ok=True)
    names = case.secrets if settings.secrets else ()
    problems = [problem.line("en") for problem in previous.problems] if previous else []
    return {
        "type": "start",
        "protocol": PROTOCOL,
        "task": case.user_task,
        "case_id": case.id,
        "entry_url": case.entry_url,
        "attempt": attempt.attempt_index,
        "previous_problems": problems or (list(previous.formatted_errors) if previous else []),
        "browser": {
            "cdp_url": debugging_address(tools.page),
            "target_id": target_of(tools.page),
            "storage_state": tools.page.context.storage_state(),
        },
        "model": {
            "name": tools.spec.litellm_model,
            "base_url": endpoint.base_url,
            "api_key": endpoint.token,
            "vision": tools.spec.vision,
        },
        "limits": {
            "seconds": seconds,
            "calls": settings.max_calls,
            "decisions": tools.settings.max_decisions,
        },
        "files": [str(base / name) for name in case.files],
        "secrets": {name: tools.reveal(f"<secret:{name}>") for name in names},
        "folder": str(work),
    }


def _follow(
    agent: AgentProcess, told: _Told, tools: Tools, left: Callable[[], float]
) -> tuple[FailureKind, str] | None:
    """Read what the agent says until it ends; return why it was stopped, or None."""
    while True:
        for line in agent.lines():
            _take(line, told, tools)
        if (code := agent.status) is not None:
            for line in agent.lines():
                _take(line, told, tools)
            return _why_ended(code, told)
        if left() <= 0:
            return "timeout", "the agent was killed, because its time was over"
        _let_events_in(tools.page)


def _why_ended(code: int, told: _Told) -> tuple[FailureKind, str] | None:
    """Return why an agent that ended by itself has not done its task, or None if it says it has."""
    if told.failed:
        return "step", f"the agent gave up: {told.failed}"
    if code:
        return "step", f"the agent ended with exit status {code}"
    return None if told.done else ("step", "the agent ended without saying that it is done")


def _let_events_in(page: Page) -> None:
    """Wait a moment, in which Playwright tells what happens in the browser."""
    for one in (page, *page.context.pages):
        if not one.is_closed():
            try:
                one.wait_for_timeout(_TICK_MS)
            except Error:
                continue
            return
    waiting.sleep(_TICK_MS / 1000)


def _take(line: AgentLine, told: _Told, tools: Tools) -> None:
    """Take a line of the agent: a message, or words for the log."""
    message = _message(line.text) if line.is_output else None
    kind = message.get("type") if message else None
    if message is None or kind not in ("step", "answer", "done", "failed", "log"):
        _log(line.text, told, tools)
    elif kind == "step":
        _take_step(message, told, tools)
    elif kind == "answer":
        if len(line.text) <= _ANSWER_CHARS:
            told.answered, told.answer = True, message.get("value")
        else:
            _log("(an answer that is too long was not taken)", told, tools)
    elif kind == "done":
        told.done = True
    elif kind == "failed":
        told.failed = _short(message.get("reason"), tools) or "it gave no reason"
    else:
        _log(str(message.get("text", "")), told, tools)


def _message(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _take_step(message: dict[str, Any], told: _Told, tools: Tools) -> None:
    if len(told.steps) >= MAX_STEPS:
        return
    index = len(told.steps) + 1
    ok = message.get("ok") is not False
    said = _short(message.get("description"), tools)
    picture = tools.folder / f"step-{index}.jpg"
    tools.progress(f"agent: step {index}")
    tools.log.write(f"agent: step {index}: {said}")
    told.plan.append(PlanStep(index=index, description=said, status="CONFIRMED"))
    error = None if ok else _short(message.get("error"), tools) or "the agent says it failed"
    told.steps.append(
        StepResult(
            step_index=index,
            ok=ok,
            # A step that failed is the agent's own affair: it goes on as it likes.
            status="ok" if ok else "corrected",
            error=error,
            screenshot=relative(picture, tools)
            if shot(tools.page, picture, tools.hidden)
            else None,
        )
    )


def _log(text: str, told: _Told, tools: Tools) -> None:
    text = _COLOURS.sub("", text).rstrip()
    if not text:
        return
    told.logged += 1
    if told.logged <= MAX_LOG_LINES:
        tools.log.write(f"agent: {text[:_LINE_CHARS]}")
    elif told.logged == MAX_LOG_LINES + 1:
        tools.log.write(f"agent: (more than {MAX_LOG_LINES} lines; the rest is left out)")


def _short(said: Any, tools: Tools) -> str:
    return tools.redact(" ".join(str(said or "").split()))[:_LINE_CHARS]


def _with_failure(
    attempt: Attempt,
    tools: Tools,
    endpoint: ModelEndpoint,
    ending: tuple[FailureKind, str] | None,
) -> Attempt:
    """Return the attempt with what went wrong, if anything did."""
    lost = endpoint.failed
    evidence: dict[str, Any] = {}
    if tools.page.is_closed() or browser_ended(tools.page):
        evidence = {BLAMED: True}
        ending = "sandbox", "the agent closed its browser, or the page that the checks look at"
    elif ending and endpoint.too_many:
        ending = "limit", f"{endpoint.most} calls of the model were not enough"
    elif ending and lost is not None:
        # What the model's service did wrong says nothing about the agent.
        message = tools.redact(f"agent: {lost.cause}: {lost.detail}")
        failure = Failure(kind="model", cause=lost.cause, message=message)
        return fail(attempt, failure, StepProblem.quoted("(agent)", message))
    elif ending and ending[0] == "step" and not (endpoint.exchanges or attempt.step_results):
        # Neither has a program that did not get as far as a first question.
        ending = "agent", f"{ending[1]}, before it had asked or done anything; see its log"
    if ending is None:
        return attempt
    kind, message = ending
    failure = Failure(kind=kind, message=message, evidence=evidence)
    return fail(attempt, failure, StepProblem.quoted("(agent)", message))


def judge_what_is_left(attempt: Attempt, tools: Tools) -> Attempt:
    """Evaluate the checks, unless the agent has closed the page that they would look at."""
    gone = attempt.failure is not None and BLAMED in attempt.failure.evidence
    # Only judging takes secrets out of the answer.
    return change(attempt, answer=None) if gone else judge_outcome(attempt, tools)
