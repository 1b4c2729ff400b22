"""The stage in which an outside agent drives the page, and the agent's process.

The agent is started without secrets, given the task, monitored, stopped, and ended with everything
that it has started. Both sides write one JSON object per line (docs/agents.md). The agent's
statements are claims: only the case's checks decide. It connects to a browser that belongs to its
cell alone.
"""

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, BrowserType, Error, Page

from pytest_autoweb.agents.act.loop import dialogs_answered
from pytest_autoweb.agents.attempt.decision_limit import decision_limit
from pytest_autoweb.agents.attempt.judging_stage import judge_outcome
from pytest_autoweb.agents.attempt.tools import Tools, change, fail, relative
from pytest_autoweb.agents.outside.adapters import Settings, settings_of
from pytest_autoweb.agents.outside.agent_reach import (
    AgentPlaces,
    level_of,
    own_home,
    reach_of,
)
from pytest_autoweb.agents.outside.held_browser import HELD_BROWSER, held_launch
from pytest_autoweb.agents.outside.model_endpoint import ModelEndpoint
from pytest_autoweb.agents.outside.tool_loop import with_loop
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import BrowserError, SandboxError, SettingsError
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.base.process_tree import (
    NO_LIMITS,
    OVER_MEMORY,
    OVER_PROCESSES,
    OWN_GROUP,
    TreeLimits,
    end_kept,
    kept,
)
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.chromium import browser_environ
from pytest_autoweb.browser.page.opening import browser_ended
from pytest_autoweb.judging.evidence.scene import shot
from pytest_autoweb.models.client import Request
from pytest_autoweb.results.records import Attempt, Failure, FailureKind, StepResult
from pytest_autoweb.sandbox.confined_program import (
    ProgramReach,
    confined,
    hold_of,
    refuse_gaps,
    walls_here,
)
from pytest_autoweb.sandbox.program_walls import NOT_HELD
from pytest_autoweb.settings.agent_command import COMMAND, PYTHON, AgentCommand

LINE_BYTES = 1_000_000
"""Limit on a line from the agent; a longer one arrives in pieces, none of them a valid message."""
_LINES = 500

_PORT_FLAG = "--remote-debugging-port=0"
_PROFILE = re.compile(r"--user-data-dir=(.+?)(?: --|$)")
_PORT_FILE = "DevToolsActivePort"
_PORT_S = 10.0

PROTOCOL = 1
LEAST_S = 120.0
"""The minimum time for an agent that sets none of its own, because programs start slowly."""
MAX_STEPS = 500
MAX_LOG_LINES = 2_000
"""Number of lines of an agent's own output that the log keeps."""
BLAMED = "agent"
"""Name of the evidence that a lost page or browser was under an agent's control."""
_LINE_CHARS = 2_000
_ANSWER_CHARS = 200_000
_TICK_MS = 50
_REFUSED = re.compile(r"Permission denied|Operation not permitted|\bEACCES\b|\bEPERM\b")
_REFUSED_CHARS = 200
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class AgentLine(NamedTuple):
    """One line that an agent wrote."""

    text: str
    is_output: bool
    """Whether it came from standard output, which carries messages, rather than standard error."""


class AgentProcess:
    """A running agent; `running_agent` starts and ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        # A full queue blocks the agent, so that endless output cannot exhaust memory.
        self._lines: queue.Queue[AgentLine] = queue.Queue(_LINES)
        self._ended = False
        self._readers = [
            self._reader(stream, is_output)
            for stream, is_output in ((process.stdout, True), (process.stderr, False))
            if stream is not None
        ]

    def _reader(self, stream: IO[bytes], is_output: bool) -> threading.Thread:
        def read() -> None:
            with stream:
                while (line := stream.readline(LINE_BYTES)) and not self._ended:
                    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
                    self._put(AgentLine(text, is_output))

        thread = threading.Thread(target=read, name="autoweb-agent", daemon=True)
        thread.start()
        return thread

    def _put(self, line: AgentLine) -> None:
        while not self._ended:
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the agent its task; if it has already exited, `lines` and `status` will show it."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def lines(self) -> Iterator[AgentLine]:
        """Yield what the agent has written since the last time."""
        for _ in range(_LINES):
            try:
                yield self._lines.get_nowait()
            except queue.Empty:
                return

    @property
    def status(self) -> int | None:
        """Return the exit status once the process has ended and all its output was read."""
        code = self._process.poll()
        if code is None or not self._lines.empty():
            return None
        # Its child processes may keep the pipes open indefinitely.
        for reader in self._readers:
            reader.join(0.2)
        return code if self._lines.empty() else None

    def end(self) -> None:
        """End the agent and all that came from it, and wait for that."""
        self._ended = True
        end_kept(self._process)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


def check_command(name: str, command: Sequence[str], folder: Path) -> None:
    """Reject an agent whose program does not exist.

    Raises:
        SettingsError: it is neither on the path nor a file in the folder.
    """
    program = command[0]
    if program == PYTHON or shutil.which(program) or shutil.which(str(folder / program)):
        return
    raise SettingsError(
        f"the agent {name!r} cannot be started: {program!r} is no program on the PATH and none in "
        f"{folder}"
    )


@contextmanager
def running_agent(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    reach: ProgramReach | None = None,
    limits: TreeLimits = NO_LIMITS,
) -> Iterator[AgentProcess]:
    """Start an agent, and end it at the end with everything that it has started.

    It also ends when this process does, however that happens.

    Args:
        command: the program with its arguments; `{python}` is this interpreter.
        folder: the working folder.
        env: its environment variables.
        reach: what it may reach; None for a program that is not held.
        limits: what it may use with all that it starts.

    Raises:
        SettingsError: the program cannot be started.
    """
    words = [sys.executable if word == PYTHON else word for word in command]
    check_command("command", words, folder)
    held = words if reach is None else confined(words, reach)
    try:
        process = subprocess.Popen(
            kept(held, os.getpid(), limits),
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **OWN_GROUP,
        )
    except OSError as error:
        raise SettingsError(
            f"the agent's command cannot be started: {words[0]}: {error.strerror or error}"
        ) from None
    agent = AgentProcess(process)
    try:
        yield agent
    finally:
        agent.end()


def open_agent_page(
    browser_type: BrowserType,
    launch_args: dict[str, Any],
    context_args: dict[str, Any],
    held: Sequence[str] | None = None,
) -> Page:
    """Return the page of a new browser that listens for other programs on this machine.

    Args:
        browser_type: Chromium.
        launch_args: the launch arguments of cells' browsers.
        context_args: the arguments for the context.
        held: the files that a held browser may read besides its own; None if it is not held.

    Raises:
        BrowserError: the browser is not Chromium.
    """
    if browser_type.name != "chromium":
        raise BrowserError(
            f"outside agents connect to Chromium, and this session runs {browser_type.name}"
        )
    # A default context accepts a storage state only after it was created.
    state = context_args.get("storage_state")
    arguments = {**launch_args, **context_args}
    arguments.pop("storage_state", None)
    arguments["args"] = [*(launch_args.get("args") or ()), _PORT_FLAG]
    hold = None if held is None else held_launch(browser_type, arguments, held)
    profile, arguments = (hold.profile, hold.arguments) if hold else ("", arguments)
    context: BrowserContext = browser_type.launch_persistent_context(profile, **arguments)
    if hold:
        context.on("close", lambda _: hold.folder.cleanup())
    if state is not None:
        context.set_storage_state(state)
    return context.pages[0] if context.pages else context.new_page()


def debugging_address(page: Page) -> str:
    """Return the URL at which the page's browser listens, on this machine only.

    Raises:
        BrowserError: it does not listen.
    """
    profile = _profile_of(page)
    deadline = time.monotonic() + _PORT_S
    while profile and time.monotonic() < deadline:
        file = Path(profile) / _PORT_FILE
        # The browser writes the file while it starts.
        if file.is_file() and (lines := file.read_text(encoding="utf-8").splitlines()):
            return f"http://127.0.0.1:{lines[0]}"
        page.wait_for_timeout(50)
    raise BrowserError("the browser of an outside agent does not listen for it")


def _profile_of(page: Page) -> str:
    """Return the folder of the browser's profile, or "" if it is not known."""
    browser = page.context.browser
    found = _PROFILE.search(_command_line(browser)) if browser else None
    return found[1] if found else ""


def _command_line(browser: Browser) -> str:
    session = browser.new_browser_cdp_session()
    try:
        return str(session.send("SystemInfo.getInfo")["commandLine"])
    finally:
        session.detach()


def target_of(page: Page) -> str:
    """Return the id that identifies the page to CDP clients."""
    session = page.context.new_cdp_session(page)
    try:
        return str(session.send("Target.getTargetInfo")["targetInfo"]["targetId"])
    finally:
        session.detach()


@dataclass(slots=True)
class _Told:
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
    browser = "held" if HELD_BROWSER in _profile_of(tools.page) else "NOT held"
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


def agent_folder(attempt: Path) -> Path:
    """Return the folder of an agent in that of its attempt, and make it."""
    folder = attempt / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
