"""The stage in which an outside agent drives the page.

The agent is started without secrets, given the task, monitored, stopped, and ended. Both sides
write one JSON object per line (docs/agents.md). The agent's statements are claims: only the case's
checks decide.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct, field
from playwright.sync_api import Error, Page

from pytest_autoweb.agents.act.loop import dialogs_answered
from pytest_autoweb.agents.attempt.decision_limit import decision_limit
from pytest_autoweb.agents.attempt.judging_stage import judge_outcome
from pytest_autoweb.agents.attempt.tools import Tools, change, fail, relative
from pytest_autoweb.agents.outside.adapters import Settings, settings_of
from pytest_autoweb.agents.outside.agent_page import (
    BLAMED,
    debugging_address,
    profile_of,
    target_of,
)
from pytest_autoweb.agents.outside.agent_process import (
    AgentLine,
    AgentProcess,
    agent_folder,
    running_agent,
)
from pytest_autoweb.agents.outside.agent_reach import (
    AgentPlaces,
    level_of,
    own_home,
    reach_of,
)
from pytest_autoweb.agents.outside.held_browser import HELD_BROWSER
from pytest_autoweb.agents.outside.model_endpoint import ModelEndpoint
from pytest_autoweb.agents.outside.tool_loop import with_loop
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import SandboxError, SettingsError
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.base.process_tree import (
    NO_LIMITS,
    OVER_MEMORY,
    OVER_PROCESSES,
    TreeLimits,
)
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.chromium import browser_environ
from pytest_autoweb.browser.page.opening import browser_ended
from pytest_autoweb.judging.evidence.scene import shot
from pytest_autoweb.models.messages import Request
from pytest_autoweb.results.records import Attempt, Failure, FailureKind, StepResult
from pytest_autoweb.sandbox.confined_program import (
    hold_of,
    refuse_gaps,
    walls_here,
)
from pytest_autoweb.sandbox.program_walls import NOT_HELD
from pytest_autoweb.settings.agent_command import COMMAND, AgentCommand

PROTOCOL = 1
LEAST_S = 120.0
"""The minimum time for an agent that sets none of its own, because programs start slowly."""
MAX_STEPS = 500
MAX_LOG_LINES = 2_000
"""Number of lines of an agent's own output that the log keeps."""
_LINE_CHARS = 2_000
_ANSWER_CHARS = 200_000
_TICK_MS = 50
_REFUSED = re.compile(r"Permission denied|Operation not permitted|\bEACCES\b|\bEPERM\b")
_REFUSED_CHARS = 200
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class _Told(Struct):
    """The agent's messages so far."""

    steps: list[StepResult] = field(default_factory=list)
    answered: bool = False
    answer: Any = None
    done: bool = False
    failed: str = ""
    refused: str = ""
    """The last line of its output that tells of something that it was refused."""
    logged: int = 0


def run_outside_agent(given: Settings, attempt: Attempt, tools: Tools) -> Attempt:
    """Let the agent work until it ends or its time is up, and record its messages and model calls.

    Args:
        given: returns its settings; `declared_in_case` stands for those of the model or the case.
        attempt: the attempt so far.
        tools: the stage's tools.
    """
    own = tools.case.agent if isinstance(tools.case.agent, AgentCommand) else None
    try:
        return _driven(settings_of(given, tools.spec, own), attempt, tools)
    except (SettingsError, SandboxError) as error:
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
    began, waited = tools.clock.now(), tools.budget.waited()
    with dialogs_answered(tools, tools.log.write), endpoint:
        start = _start(settings, attempt, tools, endpoint, seconds)
        tools.code_begins()
        with _running(settings, start, tools) as agent:
            agent.send(start)

            def left() -> float:
                return seconds - (tools.clock.now() - began - tools.budget.waited() + waited)

            ending = _follow(agent, told, tools, left, settings)
    spent = tools.clock.now() - began - tools.budget.waited() + waited
    tools.budget.left = max(0.0, tools.budget.left - spent)
    for exchange in endpoint.exchanges:
        attempt = attempt.charged(exchange)
    attempt = change(
        attempt,
        step_results=tuple(told.steps),
        answered=told.answered,
        answer=told.answer,
        executed=ending is None,
    )
    return _with_failure(attempt, tools, endpoint, ending)


@contextmanager
def _running(settings: AgentCommand, start: dict[str, Any], tools: Tools) -> Iterator[AgentProcess]:
    """Start the agent as it is held, and end it."""
    level = level_of(settings, tools.settings.sandbox)
    refuse_gaps(level, tools.spec.agent_name or COMMAND)
    browser = "held" if HELD_BROWSER in profile_of(tools.page) else "NOT held"
    tools.log.write(f"agent: {hold_of(level)}; its browser: {browser}")
    reach, rootdir = None, tools.settings.rootdir
    limits = NO_LIMITS if level == "off" else TreeLimits(settings.memory_mb, settings.processes)
    with ExitStack() as stack:
        env = browser_environ(os.environ)
        if level != "off" and walls_here().landlock:
            home, env = stack.enter_context(own_home(env))
            closed = (tools.folder, *([tools.case_path] if tools.case_path else []))
            places = AgentPlaces(rootdir, closed, (home,))
            reach = reach_of(settings, start, places, os.environ)
        env |= settings.env
        command = with_loop(settings).command
        yield stack.enter_context(
            running_agent(command, folder=rootdir, env=env, reach=reach, limits=limits)
        )


def _start(
    settings: AgentCommand,
    attempt: Attempt,
    tools: Tools,
    endpoint: ModelEndpoint,
    seconds: float,
) -> dict[str, Any]:
    """Return the first message, which is the agent's entire input."""
    case, previous = tools.case, tools.previous
    base = tools.case_path.parent if tools.case_path else tools.settings.rootdir
    # No mail has come yet whose code it could be given.
    known = [name for name, source in case.secrets.items() if not source.mail]
    names = known if settings.secrets else ()
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
            "root_url": endpoint.root_url,
            "api_key": endpoint.token,
            "vision": tools.spec.vision,
        },
        "limits": {
            "seconds": seconds,
            "calls": settings.max_calls,
            "decisions": decision_limit(tools.settings, tools.case),
        },
        "files": [str(base / name) for name in case.files],
        "secrets": {name: tools.reveal(f"<secret:{name}>") for name in names},
        "folder": str(agent_folder(tools.folder)),
    }


def _follow(
    agent: AgentProcess,
    told: _Told,
    tools: Tools,
    left: Callable[[], float],
    settings: AgentCommand,
) -> tuple[FailureKind, str] | None:
    """Read the agent's messages until it ends; return why it was stopped, or None."""
    while True:
        for line in agent.lines():
            _take(line, told, tools)
        if (code := agent.status) is not None:
            for line in agent.lines():
                _take(line, told, tools)
            return _why_ended(code, told, settings)
        if left() <= 0:
            return "timeout", "the agent was killed, because its time was over"
        _let_events_in(tools.page)


def _why_ended(code: int, told: _Told, settings: AgentCommand) -> tuple[FailureKind, str] | None:
    """Return why an agent that exited has not done its task, or None if it claims to have."""
    if code == OVER_MEMORY:
        most = f"{settings.memory_mb:,} MB of memory (memory_mb)"
        return "limit", f"the agent was ended: with what it started it took more than {most}"
    if code == OVER_PROCESSES:
        most = f"{settings.processes:,} processes and threads (processes)"
        return "limit", f"the agent was ended: with what it started it had more than {most}"
    if code == NOT_HELD:
        return "agent", "the agent was not started, because it could not be held; see its log"
    if told.failed:
        return "step", f"the agent gave up: {told.failed}"
    if code:
        held = f": {told.refused} (`read`, `write` and `ports` let a held agent reach more)"
        return "step", f"the agent ended with exit status {code}{held if told.refused else ''}"
    return None if told.done else ("step", "the agent ended without saying that it is done")


def _let_events_in(page: Page) -> None:
    """Wait a moment so that Playwright can deliver browser events."""
    for one in (page, *page.context.pages):
        if not one.is_closed():
            try:
                one.wait_for_timeout(_TICK_MS)
            except Error:
                continue
            return
    waiting.sleep(_TICK_MS / 1000)


def _take(line: AgentLine, told: _Told, tools: Tools) -> None:
    """Process a line from the agent: a message, or text for the log."""
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
        found = read_json(text)
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
    error = None if ok else _short(message.get("error"), tools) or "the agent says it failed"
    taken = shot(tools.page, picture, tools.hidden)
    if taken:
        tools.film.add(relative(picture, tools), "step", index)
    told.steps.append(
        StepResult(
            step_index=index,
            description=said,
            ok=ok,
            # A failed step does not fail the attempt: the agent decides how to continue.
            status="ok" if ok else "corrected",
            error=error,
            screenshot=relative(picture, tools) if taken else None,
        )
    )


def _log(text: str, told: _Told, tools: Tools) -> None:
    text = _COLOURS.sub("", text).rstrip()
    if not text:
        return
    told.logged += 1
    if _REFUSED.search(text):
        told.refused = _short(text, tools)[-_REFUSED_CHARS:]
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
    """Return the attempt with its failure, if there was one."""
    lost = endpoint.failed
    evidence: dict[str, Any] = {}
    if tools.page.is_closed() or browser_ended(tools.page):
        evidence = {BLAMED: True}
        ending = "sandbox", "the agent closed its browser, or the page that the checks look at"
    elif ending and endpoint.too_many:
        ending = "limit", f"{endpoint.most} calls of the model were not enough"
    elif ending and lost is not None:
        # A failure of the model's service says nothing about the agent.
        message = tools.redact(f"agent: {lost.cause}: {lost.detail}")
        failure = Failure(kind="model", cause=lost.cause, message=message)
        return fail(attempt, failure, StepProblem.quoted("(agent)", message))
    elif ending and ending[0] == "step" and not (endpoint.exchanges or attempt.step_results):
        # Neither does a program that exited before its first model call.
        ending = "agent", f"{ending[1]}, before it had asked or done anything; see its log"
    if ending is None:
        return attempt
    kind, message = ending
    failure = Failure(kind=kind, message=message, evidence=evidence)
    return fail(attempt, failure, StepProblem.quoted("(agent)", message))


def judge_what_is_left(attempt: Attempt, tools: Tools) -> Attempt:
    """Evaluate the checks, unless the agent has closed the page that they inspect."""
    gone = attempt.failure is not None and BLAMED in attempt.failure.evidence
    # Secrets are removed from the answer only during judging.
    return change(attempt, answer=None) if gone else judge_outcome(attempt, tools)
