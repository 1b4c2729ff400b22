"""A conftest for sessions in which something is killed. Its models kill while they answer.

`fake/worker:500` and its like kill that much later (ms), while the model's code runs.
"""

import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_autoweb.testing import ScriptedClient, scripted_plan

CODE = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.wait_for_timeout({pause})
page.get_by_role("button", name="Log in").click()
```"""
WORDS = {
    "worker": "boot = json.loads",
    "browser": "--remote-debugging-pipe",
    "driver": "run-driver",
}
"""What the command line of each kind of process holds."""
WORDS["server"] = "supervise"


def below(pid: int) -> Iterator[int]:
    """All processes that this one started, and theirs."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = path.read_text().partition(" (")
        except OSError:
            continue
        if int(rest.rpartition(") ")[2].split()[1]) == pid:
            yield int(number)
            yield from below(int(number))


def kill(kind: str) -> None:
    """Kill what the word names: this very process, or processes below it."""
    if kind == "main":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    elif kind == "disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    elif kind == "room":
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    for pid in list(below(os.getpid())) if kind in WORDS else ():
        try:
            if WORDS[kind].encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def answer(kind: str, milliseconds: int) -> Callable[[Any], str]:
    """Writes the code, and kills at once or while the code runs."""

    def generate(_request: Any) -> str:
        if milliseconds:
            threading.Timer(milliseconds / 1000, kill, (kind,)).start()
        else:
            kill(kind)
        return CODE.format(pause=2 * milliseconds + 1)

    return generate


def pytest_autoweb_client(spec: Any) -> ScriptedClient | None:
    """Models by what they kill."""
    kind, _, later = spec.name.removeprefix("fake/").partition(":")
    if not spec.name.startswith("fake/"):
        return None
    return ScriptedClient(
        {"plan": scripted_plan("log in"), "generate": answer(kind, int(later or 0))}
    )
