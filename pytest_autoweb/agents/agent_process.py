"""The process of an outside agent: started without secrets, read within limits, killed whole.

Its browser is for its cell alone; the agent connects to it.
"""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, BrowserType, Page

from pytest_autoweb.egress.chromium import browser_environ
from pytest_autoweb.errors import BrowserError, SettingsError

LINE_BYTES = 1_000_000
"""Limit on one line of an agent; what is longer arrives in pieces, none of which is a message."""
_PYTHON = "{python}"
_LINES = 500
_END_S = 5.0

_PORT_FLAG = "--remote-debugging-port=0"
_PROFILE = re.compile(r"--user-data-dir=(.+?)(?: --|$)")
_PORT_FILE = "DevToolsActivePort"
_PORT_S = 10.0


class AgentLine(NamedTuple):
    """One line that an agent wrote."""

    text: str
    is_output: bool
    """Whether it came from standard output, where messages are, and not from standard error."""


class AgentProcess:
    """A running agent; `running_agent` starts and ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        # A full queue makes the agent wait, so that one that writes without end fills no memory.
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
        """Hand the agent its task; one that is gone already is found out soon enough."""
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
        """Return the exit status once the process has ended and all it wrote was read."""
        code = self._process.poll()
        if code is None or not self._lines.empty():
            return None
        # What it has started may hold the pipes open for ever.
        for reader in self._readers:
            reader.join(0.2)
        return code if self._lines.empty() else None

    def end(self) -> None:
        """Kill the process and whatever of its group is left, and wait for it."""
        self._ended = True
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


def check_command(name: str, command: Sequence[str], folder: Path) -> None:
    """Refuse an agent whose program is not there.

    Raises:
        SettingsError: it is neither on the path nor a file of the folder.
    """
    program = command[0]
    if program == _PYTHON or shutil.which(program) or shutil.which(str(folder / program)):
        return
    raise SettingsError(
        f"the agent {name!r} cannot be started: {program!r} is no program on the PATH and none in "
        f"{folder}"
    )


@contextmanager
def running_agent(
    command: Sequence[str], *, folder: Path, env: Mapping[str, str]
) -> Iterator[AgentProcess]:
    """Start an agent in a process group of its own, and kill the group at the end.

    Of this process's environment it gets what every program needs, and no keys.

    Args:
        command: the program with its arguments; `{python}` is this interpreter.
        folder: the working folder.
        env: further variables.

    Raises:
        SettingsError: the program cannot be started.
    """
    words = [sys.executable if word == _PYTHON else word for word in command]
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**browser_environ(os.environ), **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
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
    browser_type: BrowserType, launch_args: dict[str, Any], context_args: dict[str, Any]
) -> Page:
    """Return the page of a new browser that listens for other programs on this machine.

    Args:
        browser_type: Chromium.
        launch_args: how browsers of cells are launched.
        context_args: the arguments for the context.

    Raises:
        BrowserError: the browser is no Chromium.
    """
    if browser_type.name != "chromium":
        raise BrowserError(
            f"outside agents connect to Chromium, and this session runs {browser_type.name}"
        )
    # A default context takes the state of its storage only once it is there.
    state = context_args.get("storage_state")
    arguments = {**launch_args, **context_args}
    arguments.pop("storage_state", None)
    arguments["args"] = [*(launch_args.get("args") or ()), _PORT_FLAG]
    context: BrowserContext = browser_type.launch_persistent_context("", **arguments)
    if state is not None:
        context.set_storage_state(state)
    return context.pages[0] if context.pages else context.new_page()


def debugging_address(page: Page) -> str:
    """Return the URL at which the page's browser listens, for this machine only.

    Raises:
        BrowserError: it does not listen.
    """
    browser = page.context.browser
    found = _PROFILE.search(_command_line(browser)) if browser else None
    deadline = time.monotonic() + _PORT_S
    while found and time.monotonic() < deadline:
        file = Path(found[1]) / _PORT_FILE
        # The browser writes it while it starts.
        if file.is_file() and (lines := file.read_text(encoding="utf-8").splitlines()):
            return f"http://127.0.0.1:{lines[0]}"
        page.wait_for_timeout(50)
    raise BrowserError("the browser of an outside agent does not listen for it")


def _command_line(browser: Browser) -> str:
    session = browser.new_browser_cdp_session()
    try:
        return str(session.send("SystemInfo.getInfo")["commandLine"])
    finally:
        session.detach()


def target_of(page: Page) -> str:
    """Return the id by which CDP clients know the page."""
    session = page.context.new_cdp_session(page)
    try:
        return str(session.send("Target.getTargetInfo")["targetInfo"]["targetId"])
    finally:
        session.detach()
