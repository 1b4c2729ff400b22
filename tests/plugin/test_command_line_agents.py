"""Claude Code and Codex as they are, each solving a cell through the endpoint (`make agents`)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen

from pytest_autoweb.agents.outside.adapters import ADAPTERS, HOME

NAMES = ("claude-code", "codex")
INSTALLED_HERE = Path(__file__).parents[2] / ".venv" / "agents"
"""Where `make agents` installs them."""

CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana, and say what greets you."
    expect:
      - text: "Welcome, ana"
      - answer: {contains: "Welcome, ana"}
"""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if not all(ADAPTERS[name].is_installed for name in NAMES):
        monkeypatch.setenv(HOME, str(INSTALLED_HERE))
    missing = [name for name in NAMES if not ADAPTERS[name].is_installed]
    if missing:
        pytest.skip(f"not installed: autoweb agents install {' '.join(missing)}")


class LoginModel(OpenAIServer):
    """Reads the page in what the agent shows, logs in, and repeats what it is greeted with."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        self.requests.append(seen)
        answer = decided(seen.body["messages"])
        return answer, answer.body(str(seen.body["model"]))


def decided(messages: list[dict[str, Any]]) -> Answer:
    results = [str(message["content"]) for message in messages if message["role"] == "tool"]
    shown = "\n".join(results)
    if not results:
        return called(0, "browser_snapshot")
    if len(results) == 1:
        return called(1, "browser_type", **element("textbox", "Name", shown), text="ana")
    if len(results) == 2:
        return called(2, "browser_click", **element("button", "Log in", shown))
    if len(results) == 3:
        return called(3, "browser_snapshot")
    greeting = re.search(r"Welcome, \w+", results[-1])
    return Answer(greeting[0] if greeting else "nothing")


def element(role: str, name: str, shown: str) -> dict[str, str]:
    ref = re.findall(rf'{role} "{name}"[^\n]*?\[ref=(\w+)\]', shown)[-1]
    return {"element": name, "target": ref, "ref": ref}


def called(number: int, tool: str, **given: str) -> Answer:
    function = {"name": f"mcp__browser__{tool}", "arguments": json.dumps(given)}
    calls = [{"id": f"call-{number}", "type": "function", "function": function}]
    return Answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_claude_code_and_codex_solve_a_cell_and_are_replayed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 32)
    (project.path / "cases/shop.yaml").write_text(CASE)
    with LoginModel() as server:
        (project.path / "pyproject.toml").write_text(
            f'[tool.autoweb.models."openai/m"]\napi_base = "{server.api_base}"\n'
        )
        flags = ("cases", "--autoweb-models=openai/m", f"--autoweb-agents={','.join(NAMES)}")
        more = ("--autoweb-max-repairs=0", "--autoweb-concurrency=2")
        first = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=all")
        asked = len(server.requests)

    first.assert_outcomes(passed=2)
    for name, cell in cells(project.path).items():
        attempt = cell["attempts"][0]
        said = [step["description"].split()[0] for step in attempt["step_results"]]
        assert said == ["browser_snapshot", "browser_type", "browser_click", "browser_snapshot"], (
            name
        )
        assert attempt["answer"] == "Welcome, ana"
        # Every call of the model is one of the loop: nothing is asked beside it.
        assert cell["usage"]["agent"]["calls"] == len(attempt["exchanges"]) == 5
    assert asked == 10
    offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    assert not [name for name in offered if "Bash" in name or "exec" in name]

    again = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=none")

    again.assert_outcomes(passed=2)
    for cell in cells(project.path).values():
        assert cell["usage"]["agent"]["replayed_calls"] == 5


def cells(folder: Path) -> dict[str, dict[str, Any]]:
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    (case,) = report["cases"]
    return {cell["strategy"]: cell for cell in case["cells"]}
