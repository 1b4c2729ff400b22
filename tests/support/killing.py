"""A conftest for sessions in which something is killed. Its models kill while they answer.

`fake/worker:500` and its like kill that much later (ms), while the model's code runs;
`fake/worker:500:once` only at the first time.
"""

import contextlib
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from pytest_autoweb.testing import ScriptedClient, scripted_plan

CODE = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.wait_for_timeout({pause})
page.get_by_role("button", name="Log in").click()
```"""
WORDS = {
    "worker": ("boot = json.loads",),
    "browser": ("--no-startup-window",),
    "renderer": ("--type=renderer",),
    "driver": ("run-driver",),
    "frozen": ("run-driver",),
    "gpu": ("--type=gpu-process",),
    "server": ("webserver_process.py",),
    # Where setproctitle is installed, workers have a title in place of their command line.
    "xdist": ("exec(eval(sys.stdin.readline()))", "[pytest-xdist "),
}
"""What the command line of each kind of process holds."""
MARK = "AUTOWEB_KILLING"
"""A variable by which processes are known that left their parents, as the web server's does."""

os.environ.setdefault(MARK, str(os.getpid()))
if threading.current_thread() is threading.main_thread():
    # A session that was started in the background would ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ours(pid: int, mark: str) -> Iterator[tuple[int, str]]:
    """Processes that this one started, and those that carry the mark, with their command lines."""
    below = set(psutil.Process(pid).children(recursive=True))
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != pid and (process in below or process.environ().get(MARK) == mark):
                yield process.pid, " ".join(process.cmdline())


def is_kind(kind: str, line: str) -> bool:
    """Whether a command line is that of a kind of process."""
    return any(word in line for word in WORDS[kind])


def kill(kind: str) -> None:
    """Kill what the word names: this very process, or processes below it."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    match kind:
        case "main":
            os.kill(os.getpid(), signal.SIGKILL)
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        case "disk" | "room":
            size = 0 if kind == "disk" else most
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        case "none":
            return
        case _:
            for pid, line in list(ours(os.getpid(), os.environ[MARK])):
                if is_kind(kind, line):
                    os.kill(pid, signal.SIGSTOP if kind == "frozen" else signal.SIGKILL)
                    with Path("killed").open("a") as file:
                        file.write(f"{kind}\n")


def answer(kind: str, milliseconds: int, *, once: bool = False) -> Callable[[Any], str]:
    """Writes the code, and kills at once or while the code runs."""

    def generate(_request: Any) -> str:
        done = Path("killed").read_text().split() if Path("killed").exists() else []
        if once and kind in done:
            return CODE.format(pause=1)
        if milliseconds:
            threading.Timer(milliseconds / 1000, kill, (kind,)).start()
        else:
            kill(kind)
        return CODE.format(pause=2 * milliseconds + 1)

    return generate


def pytest_autoweb_client(spec: Any) -> ScriptedClient | None:
    """Models by what they kill."""
    kind, later, once = (*spec.name.removeprefix("fake/").split(":"), "", "")[:3]
    if not spec.name.startswith("fake/"):
        return None
    return ScriptedClient(
        {
            "plan": scripted_plan("log in"),
            "generate": answer(kind, int(later or 0), once=bool(once)),
        }
    )
