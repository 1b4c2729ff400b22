"""The tools beside which this package stands, each attached to the same tab by the debugging port.

python3.12 -m venv PEERS/browsergym && PEERS/browsergym/bin/pip install browsergym-core
python3.12 -m venv PEERS/browser-use && PEERS/browser-use/bin/pip install browser-use
npm install --prefix PEERS agent-browser @playwright/cli @playwright/mcp chrome-devtools-mcp
npm install --prefix PEERS --ignore-scripts @browserbasehq/stagehand@3.7.3
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.capture.entries import Entry, outline_entries, tag_entries

HERE = Path(__file__).parent
QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_LOGGING_LEVEL": "result",
    "CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1",
}


class Tool(Protocol):
    """A tool that is attached to the browser."""

    def look(self) -> str:
        """Return what it gives to a model of the tab that is open."""

    def close(self) -> None:
        """Leave the browser as it is."""


class Peer(NamedTuple):
    """A tool, and how its notation is read."""

    attach: Callable[[Path, int], Tool]
    read: Callable[[str], Iterable[Entry]]
    version: Callable[[Path], str]


class Spoken:
    """A process that is asked by one line of JSON and answers by one."""

    def __init__(self, command: Sequence[str]) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the process
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **QUIET},
            text=True,
        )

    def ask(self, message: Mapping[str, Any], is_answer: Callable[[Any], bool]) -> Any:
        """Send a message, and return what answers it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{") and is_answer(answer := json.loads(line)):
                return answer
        self.log.seek(0)
        raise RuntimeError(self.log.read().decode()[-2_000:])

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Script(Spoken):
    """A peer's own library, in a script of ours that lists the page when it is asked."""

    def look(self) -> str:
        return str(self.ask({}, lambda answer: "listing" in answer)["listing"])


class Mcp(Spoken):
    """A server that offers tools to a model."""

    def __init__(self, command: Sequence[str], tool: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(command)
        self.sent = 0
        self.tool, self.arguments = tool, arguments
        client = {"name": "capture", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self._request("initialize", hello)
        assert self.process.stdin is not None
        self.process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        self.sent += 1
        asked = {"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}
        answer = self.ask(
            asked, lambda found: found.get("id") == self.sent and "method" not in found
        )
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer["result"]

    def tools(self) -> str:
        """Return the tools as a model is told of them."""
        return json.dumps(self._request("tools/list", {})["tools"])

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call one tool, and return its text."""
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in result["content"])

    def look(self) -> str:
        return self.call(self.tool, self.arguments)


class Command:
    """A program that is run once a look."""

    def __init__(
        self, first: Sequence[str], look: Sequence[str], last: Sequence[str], *, folder: Path
    ) -> None:
        self.folder, self._look, self._last = folder, look, last
        self.base = first[:3]
        self.run(first)

    def run(self, command: Sequence[str]) -> str:
        """Run one command, and return what it prints."""
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=120,
            check=False,
            env={**os.environ, **QUIET},
        )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stdout[-800:]}{done.stderr[-800:]}")
        return done.stdout

    def look(self) -> str:
        text = self.run(self._look)
        # The Playwright CLI names a file, which the model reads.
        named = re.search(r"\[Snapshot\]\((.+?\.yml)\)", text)
        return (self.folder / named[1]).read_text(encoding="utf-8") if named else text

    def close(self) -> None:
        self.run(self._last)


def _program(peers: Path, name: str) -> str:
    return str(peers / "node_modules/.bin" / name)


def _agent_browser(interactive: bool, peers: Path, port: int) -> Tool:
    base = [_program(peers, "agent-browser"), "--session", f"capture{port}"]
    look = [*base, "snapshot", *(["-i"] if interactive else [])]
    first = [*base, "connect", str(port)]
    return Command(first, look, [*base, "close"], folder=Path(tempfile.mkdtemp()))


def _playwright_cli(peers: Path, port: int) -> Tool:
    base = [_program(peers, "playwright-cli"), f"-s=c{port}"]
    first = [*base, "attach", f"--cdp=http://127.0.0.1:{port}"]
    folder = Path(tempfile.mkdtemp())
    return Command(first, [*base, "snapshot"], [*base, "detach"], folder=folder)


def _playwright_mcp(peers: Path, port: int) -> Tool:
    command = [_program(peers, "playwright-mcp"), "--cdp-endpoint", f"http://127.0.0.1:{port}"]
    return Mcp(command, "browser_snapshot", {})


def _devtools_mcp(peers: Path, port: int) -> Tool:
    command = [_program(peers, "chrome-devtools-mcp"), "--browserUrl", f"http://127.0.0.1:{port}"]
    return Mcp(command, "take_snapshot", {"pageId": 1})


def _stagehand(peers: Path, port: int) -> Tool:
    script = (HERE / "stagehand_peer.mjs").read_text(encoding="utf-8")
    # An import is looked up from where the file is.
    copy = peers / "stagehand_peer.mjs"
    copy.write_text(script, encoding="utf-8")
    return Script(["node", str(copy), f"http://127.0.0.1:{port}"])


def _python(name: str, peers: Path, port: int) -> Tool:
    script = str(HERE / f"{name.replace('-', '_')}_peer.py")
    return Script([str(peers / name / "bin/python"), script, f"http://127.0.0.1:{port}"])


def _npm_version(package: str, peers: Path) -> str:
    file = peers / "node_modules" / package / "package.json"
    return str(json.loads(file.read_text())["version"])


def _pip_version(name: str, package: str, peers: Path) -> str:
    code = f"from importlib.metadata import version; print(version('{package}'))"
    command = [str(peers / name / "bin/python"), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


_READ_ALL = partial(outline_entries, all_numbered=True)
PEERS: Mapping[str, Peer] = {
    "agent-browser -i": Peer(
        partial(_agent_browser, True), _READ_ALL, partial(_npm_version, "agent-browser")
    ),
    "agent-browser": Peer(
        partial(_agent_browser, False), outline_entries, partial(_npm_version, "agent-browser")
    ),
    "Playwright CLI": Peer(
        _playwright_cli, outline_entries, partial(_npm_version, "@playwright/cli")
    ),
    "Playwright MCP": Peer(
        _playwright_mcp, outline_entries, partial(_npm_version, "@playwright/mcp")
    ),
    "chrome-devtools-mcp": Peer(
        _devtools_mcp, outline_entries, partial(_npm_version, "chrome-devtools-mcp")
    ),
    "Stagehand": Peer(
        _stagehand,
        partial(outline_entries, bare_names=True),
        partial(_npm_version, "@browserbasehq/stagehand"),
    ),
    "browser-use": Peer(
        partial(_python, "browser-use"),
        tag_entries,
        partial(_pip_version, "browser-use", "browser-use"),
    ),
    "BrowserGym": Peer(
        partial(_python, "browsergym"),
        outline_entries,
        partial(_pip_version, "browsergym", "browsergym-core"),
    ),
}
