"""The tools of others that `autoweb agents install` brings, each solving a cell (`make agents`).

The model is scripted, and knows nothing but what the loop sends: it takes names and ids of elements
from what the tools show.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen

from pytest_autoweb.agents.outside.adapters import ADAPTERS, HOME
from pytest_autoweb.sandbox.confined_program import hold_of

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

Step = tuple[str, dict[str, Any]]


def _last(pattern: str, shown: str) -> str:
    return str(re.findall(pattern, shown)[-1])


def by_ref(shown: str, role: str, name: str) -> str:
    return _last(rf'{role} "{name}"[^\n]*?\[.*?ref=(\w+)', shown)


def of_playwright_mcp(step: int, shown: str) -> Step:
    if step == 1:
        return "browser_type", {"target": by_ref(shown, "textbox", "Name"), "text": "ana"}
    if step == 2:
        return "browser_click", {"target": by_ref(shown, "button", "Log in")}
    return "browser_snapshot", {}


def of_chrome_devtools_mcp(step: int, shown: str) -> Step:
    def uid(role: str, name: str) -> str:
        return _last(rf'uid=(\w+) {role} "{name}"', shown)

    page = {"pageId": 1}
    if step == 1:
        return "fill", {**page, "uid": uid("textbox", "Name"), "value": "ana"}
    if step == 2:
        return "click", {**page, "uid": uid("button", "Log in")}
    return "take_snapshot", page


def of_playwright_cli(step: int, shown: str) -> Step:
    words = ["snapshot"]
    if step == 1:
        words = ["fill", by_ref(shown, "textbox", "Name"), "ana"]
    if step == 2:
        words = ["click", by_ref(shown, "button", "Log in")]
    return "run_playwright_cli", {"arguments": words}


def of_agent_browser(step: int, shown: str) -> Step:
    words = ["snapshot"]
    if step == 1:
        words = ["fill", f"@{by_ref(shown, 'textbox', 'Name')}", "ana"]
    if step == 2:
        words = ["click", f"@{by_ref(shown, 'button', 'Log in')}"]
    return "run_agent_browser", {"arguments": words}


WAYS: dict[str, Callable[[int, str], Step]] = {
    "agent-browser": of_agent_browser,
    "chrome-devtools-mcp": of_chrome_devtools_mcp,
    "playwright-cli": of_playwright_cli,
    "playwright-mcp": of_playwright_mcp,
}
TOOL = {
    "run_agent_browser": "agent-browser",
    "take_snapshot": "chrome-devtools-mcp",
    "run_playwright_cli": "playwright-cli",
    "browser_snapshot": "playwright-mcp",
}
"""By which of its tools the model knows what it has."""


class LoginModel(OpenAIServer):
    """Looks at the page, logs in, looks again, and says what it was greeted with."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        self.requests.append(seen)
        offered = [tool["function"]["name"] for tool in seen.body["tools"]]
        (way,) = {WAYS[TOOL[name]] for name in offered if name in TOOL}
        results = [str(each["content"]) for each in seen.body["messages"] if each["role"] == "tool"]
        name, given = way(len(results), "\n".join(results))
        if len(results) == 4:
            greeting = re.search(r"Welcome, \w+", results[-1])
            name, given = "done", {"answer": greeting[0] if greeting else "nothing"}
        call = {"name": name, "arguments": json.dumps(given)}
        calls = [{"id": f"call-{len(results)}", "type": "function", "function": call}]
        answer = Answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")
        return answer, answer.body(str(seen.body["model"]))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    if not any(ADAPTERS[name].is_installed for name in WAYS):
        monkeypatch.setenv(HOME, str(INSTALLED_HERE))
    missing = [name for name in WAYS if not ADAPTERS[name].is_installed]
    if missing:
        pytest.skip(f"not installed: autoweb agents install {' '.join(missing)}")
    return tuple(WAYS)


@pytest.mark.long
def test_tools_of_others_solve_a_cell_and_are_replayed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 32)
    (project.path / "cases/shop.yaml").write_text(CASE)
    with LoginModel() as server:
        (project.path / "pyproject.toml").write_text(
            f'[tool.autoweb.models."openai/m"]\napi_base = "{server.api_base}"\n'
        )
        flags = ("cases", "--autoweb-models=openai/m", f"--autoweb-agent={','.join(installed)}")
        more = ("--autoweb-max-repairs=0", "--autoweb-concurrency=2")
        first = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=all")
        asked = len(server.requests)

    first.assert_outcomes(passed=len(installed))
    for name, cell in cells(project.path).items():
        attempt = cell["attempts"][0]
        assert [step["status"] for step in attempt["step_results"]] == ["ok"] * 4, name
        assert attempt["answer"] == "Welcome, ana"
        assert cell["agent"]["held"] == str(hold_of("auto"))
        assert cell["usage"]["agent"]["calls"] == len(attempt["exchanges"]) == 5
    assert asked == 5 * len(installed)

    again = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=none")

    again.assert_outcomes(passed=len(installed))
    for cell in cells(project.path).values():
        assert cell["usage"]["agent"]["replayed_calls"] == 5


def cells(folder: Path) -> dict[str, dict[str, Any]]:
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    (case,) = report["cases"]
    return {cell["strategy"]: cell for cell in case["cells"]}
