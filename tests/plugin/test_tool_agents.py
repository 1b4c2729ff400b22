"""Agents that are declared as tools: the loop that lets a model call an MCP server or a program."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen

from pytest_autoweb.sandbox.confined_program import hold_of

TOOLS = Path(__file__).parents[1] / "support" / "shop_tools.mjs"
NODE = ["node", "--experimental-websocket", str(TOOLS)]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")

CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana, and say what greets you."
    files: [bill.txt]
    expect:
      - text: "Welcome, ana"
      - answer: {contains: "Welcome, ana"}
"""
CALLS: Mapping[str, list[tuple[str, dict[str, Any]]]] = {
    "server": [
        ("look", {}),
        ("hang", {}),
        ("fill", {"text": "ana"}),
        ("page_press", {"text": "Log out"}),
        ("page_press", {"text": "Log in"}),
        ("photo", {}),
        ("upload", {"text": "{folder}/bill.txt"}),
        ("look", {}),
    ],
    "remote": [("fill", {"text": "ana"}), ("page_press", {"text": "Log in"}), ("look", {})],
    "line": [
        ("run_shopctl", {"arguments": ["quit"]}),
        ("run_shopctl", {"arguments": ["flood"]}),
        ("run_shopctl", {"arguments": ["fill", "ana"]}),
        ("run_shopctl", {"arguments": "shopctl press 'Log in'"}),
        ("run_shopctl", {"arguments": ["photo"]}),
        ("run_shopctl", {"arguments": ["look"]}),
    ],
}


class LoginModel(OpenAIServer):
    """Makes the calls of whichever tools it is offered, and repeats what it read at the end."""

    def agent_of(self, seen: Seen) -> str:
        offered = [tool["function"]["name"] for tool in seen.body["tools"]]
        if "run_shopctl" in offered:
            return "line"
        return "server" if "photo" in offered else "remote"

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        self.requests.append(seen)
        agent, messages = self.agent_of(seen), seen.body["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        calls = CALLS[agent]
        if len(results) < len(calls):
            answer = called(len(results), *calls[len(results)])
        else:
            greeting = re.search(r"Welcome, \w+", results[-1])
            said = greeting[0] if greeting else "nothing"
            ending = "done" if agent == "line" else "task_done"
            # The one over HTTP says it in words, as models do, also when it is reminded.
            answer = Answer(said) if agent == "remote" else called(99, ending, {"answer": said})
        return answer, answer.body(str(seen.body["model"]))

    def shown_to(self, agent: str) -> list[dict[str, Any]]:
        """The messages of the agent's last request."""
        found: list[dict[str, Any]] = [
            seen.body for seen in self.requests if self.agent_of(seen) == agent
        ][-1]["messages"]
        return found


def called(number: int, name: str, given: dict[str, Any]) -> Answer:
    function = {"name": name, "arguments": json.dumps(given)}
    calls = [{"id": f"call-{number}", "type": "function", "function": function}]
    return Answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")


@pytest.fixture
def remote() -> Iterator[str]:
    """The address of tools that run already."""
    command, where = [*NODE, "http"], TOOLS.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=where) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


@pytest.mark.long
@needs_node
def test_a_model_calls_the_tools_of_servers_and_of_a_command_line(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 32)
    (project.path / "cases/shop.yaml").write_text(CASE)
    (project.path / "cases/bill.txt").write_text("the bill")
    (project.path / "SKILL.md").write_text("# shopctl\n\n`shopctl look` shows the page.\n")
    names = ("server", "remote", "line", "broken")
    flags = ("cases", "--autoweb-models=openai/m", f"--autoweb-agent={','.join(names)}")
    more = ("--autoweb-max-repairs=0", "--autoweb-concurrency=2")
    with LoginModel() as server:
        (project.path / "pyproject.toml").write_text(declared(server.api_base, remote))
        first = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=all")

    first.assert_outcomes(passed=3, failed=1)
    found = cells(project.path)
    assert "ended with exit status 3: no licence" in found["broken"]["reason"]
    assert found["broken"]["failure"]["kind"] == "agent"
    assert steps(found["server"]) == [
        *("look ok", "hang corrected", "fill ok", "page_press corrected", "page_press ok"),
        *("photo ok", "upload ok", "look ok"),
    ]
    assert steps(found["line"]) == ["quit corrected", *["flood ok", "fill ok"], *LINE_REST]
    for name in ("server", "remote", "line"):
        assert found[name]["attempts"][0]["answer"] == "Welcome, ana"
        assert found[name]["agent"]["held"] == str(hold_of("auto"))
    assert_what_was_sent(server, project.path)

    again = project.runpytest_subprocess(*flags, *more, "--autoweb-record-mode=none")

    again.assert_outcomes(passed=3, failed=1)
    found = cells(project.path)
    assert found["server"]["usage"]["agent"]["replayed_calls"] == len(CALLS["server"]) + 1
    assert found["line"]["usage"]["agent"]["replayed_calls"] == len(CALLS["line"]) + 1


LINE_REST = ["shopctl press 'Log in' ok", "photo ok", "look ok"]


def assert_what_was_sent(server: LoginModel, folder: Path) -> None:
    offered = {
        tool["function"]["name"]: tool["function"]["parameters"]
        for seen in server.requests
        if server.agent_of(seen) == "server"
        for tool in seen.body["tools"]
    }
    # All pages of the list, but for what the settings leave out; `done` is taken.
    assert set(offered) == {"look", "fill", "page_press", "done", "hang", "photo", "upload"} | {
        "task_done"
    }
    assert offered["look"] == {"type": "object", "properties": {"text": {"type": "string"}}}

    messages = server.shown_to("server")
    assert "Be kind." in messages[0]["content"]
    results = [each["content"] for each in messages if each["role"] == "tool"]
    assert re.fullmatch(r"<<result (\w{8})>>\n(?s:.*)\n<<end result \1>>", results[0])
    assert "{cdp_url} {folder}" in results[0]
    assert "hang gave no answer in 8 s" in results[1]
    assert "Cannot read properties" in results[3]
    assert "the bill" in results[6]
    (picture,) = [each for each in messages if isinstance(each["content"], list)]
    assert picture["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")

    messages = server.shown_to("line")
    assert "`shopctl look` shows the page." in messages[0]["content"]
    results = [each["content"] for each in messages if each["role"] == "tool"]
    assert "shopctl quit is not available here" in results[0]
    assert len(results[1]) < 21_000
    assert "(cut: " in results[1]
    assert "page-{time}.png" in results[4]
    assert [each for each in messages if isinstance(each["content"], list)]
    assert "Call a tool." in server.shown_to("remote")[-1]["content"]
    # Nothing of this machine or hour stands in a request.
    assert str(folder) not in json.dumps([seen.body for seen in server.requests])


def steps(cell: dict[str, Any]) -> list[str]:
    """What the agent did, without arguments of tools, and how that went."""
    results = cell["attempts"][0]["step_results"]
    return [f"{short(step['description'])} {step['status']}" for step in results]


def short(description: str) -> str:
    words = description.removeprefix("run_shopctl ")
    if words.startswith("{'arguments': "):
        return str(words.removeprefix("{'arguments': ").strip('}"'))
    return words.split()[0]


def declared(api_base: str, remote: str) -> str:
    tools: dict[str, dict[str, Any]] = {
        "server": {
            "mcp": {
                "command": [*NODE, "mcp", "{cdp_url}", "{target_id}"],
                "disabled": ["quit"],
                "vision": ["photo"],
                "call_timeout": 8.0,
            }
        },
        "remote": {
            "mcp": {
                "url": f"{remote}/?port={{cdp_port}}&target={{target_id}}",
                "disabled": ["photo"],
            }
        },
        "line": {
            "cli": {
                "command": [*NODE, "cli"],
                "skill": "SKILL.md",
                "name": "shopctl",
                "start": [["attach"]],
                "disabled": ["quit"],
            },
            "env": {"SHOP_CDP": "{cdp_url}", "SHOP_TARGET": "{target_id}"},
        },
        "broken": {
            "mcp": {"command": ["node", "-e", "console.error('no licence'); process.exit(3)"]}
        },
    }
    lines = [f'[tool.autoweb.models."openai/m"]\napi_base = "{api_base}"\nvision = true\n']
    for name, settings in tools.items():
        fields = "".join(f"{key} = {inline(value)}\n" for key, value in settings.items())
        lines.append(f"[tool.autoweb.agents.{name}]\n{fields}")
    return "\n".join(lines)


def inline(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)


def cells(folder: Path) -> dict[str, dict[str, Any]]:
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    (case,) = report["cases"]
    return {cell["strategy"]: cell for cell in case["cells"]}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('mcp = {command = ["node", "{cdp_ulr}"]}', "*unknown placeholder {cdp_ulr} in *cdp_url*"),
        ('mcp = {command = ["no-such-server"]}', "*'mine' cannot be started: 'no-such-server' is*"),
        ("mcp = {}", "*mine*mcp*takes one of command, url*"),
        ('cli = {command = ["git"], skill = "NO.md"}', "*skill of the agent 'mine' is not there*"),
        ('cli = {command = ["git"]}', "*mine*cli.skill: Field required*"),
        ('command = ["git"]\nmcp = {command = ["git"]}', "*takes one of command *, mcp, cli*"),
        ("timeout = 3", "*takes one of command *, mcp, cli*"),
    ],
)
def test_wrong_settings_of_tools_are_refused_at_once(
    project: pytest.Pytester, settings: str, words: str
) -> None:
    (project.path / "pyproject.toml").write_text(f"[tool.autoweb.agents.mine]\n{settings}\n")

    result = project.runpytest("cases", "--autoweb-models=fake/m", "--autoweb-agent=mine")

    assert result.ret == 4
    result.stderr.fnmatch_lines([words])
