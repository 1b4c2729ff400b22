"""Outside agents in whole sessions: what they are given, what they are held by, what is counted."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from shop_project import SITE

ROOT = Path(__file__).parents[2]
NODE = ["node", "--experimental-websocket", str(ROOT / "templates/agents/node_agent.mjs")]


@pytest.mark.long
def test_programs_of_others_drive_the_cells_and_are_held_like_the_built_in_agents(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 32)
    with OpenAIServer(LOGIN) as server:
        furnish(project.path, server.api_base)
        result = project.runpytest_subprocess(
            *("cases", "--autoweb-models=openai/m@plain-one,openai/m@hang,openai/m"),
            *("-m", "not hidden", "--autoweb-max-repairs=0", "--autoweb-record-mode=all"),
            *("--autoweb-concurrency=3",),
        )

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["autoweb: *; outside agents held: plain-one, hang; *"])
    found = cells(project.path)
    plain, hang = found["login", "openai/m@plain-one"], found["login", "openai/m@hang"]
    nosy = found["login", "openai/m"]
    assert [each["strategy"] for each in (plain, hang, nosy)] == ["plain-one", "hang", "command"]
    assert [each["outcome"] for each in (plain, hang, nosy)] == ["passed", "failed", "failed"]

    # Its calls go through the gateway: tools, usage, price and the record of the cell.
    assert [seen.body["tools"][0]["function"]["name"] for seen in server.requests] == ["click"] * 3
    assert server.requests[1].body["messages"][-2]["role"] == "tool"
    usage = plain["usage"]["agent"]
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (3, 33, 21)
    assert usage["cost_usd"] == pytest.approx((33 + 2 * 21) / 1e6)
    attempt = plain["attempts"][0]
    assert [step["description"].split()[0] for step in attempt["step_results"]] == [
        *("fill", "click", "done")
    ]
    assert attempt["executed"] is True
    # The film of an outside agent has a picture for each of its steps.
    assert [frame["step_index"] for frame in attempt["film"]][:4] == [None, 1, 2, 3]
    assert "call-fill" in attempt["exchanges"][1]["prompt"]

    # One that hangs is killed with all that it has started.
    assert hang["failure"]["kind"] == "timeout"
    assert "killed" in hang["reason"]
    assert not is_alive(int((project.path / "said/child.pid").read_text()))

    assert_saw_only_its_own(nosy, project.path / "autoweb-report" / nosy["folder"])

    # The recording serves it as well, without a service; secrets are not told.
    again = project.runpytest_subprocess(
        *("cases", "--autoweb-models=openai/m", "--autoweb-agents=plain-one,codegen"),
        *("-k", "plain-one", "--autoweb-max-repairs=0", "--autoweb-record-mode=none", "-rs"),
    )

    again.assert_outcomes(passed=1, skipped=1)
    found = cells(project.path)
    assert found["login", "openai/m@plain-one"]["usage"]["agent"]["replayed_calls"] == 3
    assert "told only with `secrets: true`" in found["hidden", "openai/m@plain-one"]["reason"]


def assert_saw_only_its_own(nosy: dict[str, Any], folder: Path) -> None:
    # It sees its own page alone, no key and no secret, and cannot use another cell's token.
    attempt = nosy["attempts"][0]
    said = [step["description"] for step in attempt["step_results"]]
    assert said == ["sees 1 page, 1 its own", "secrets {}", "another token: 401"]
    assert [step["status"] for step in attempt["step_results"]] == ["ok", "corrected", "ok"]
    assert attempt["answer"] == {"looked": True}
    assert "agent: keys: ['OWN']" in attempt["run_log_head"]
    assert "agent: no JSON {" in attempt["run_log_head"]
    assert [check["passed"] for check in attempt["checks"]] == [False, False]
    # Whatever tab it opens is recorded, and reaches no other origin than the case allows.
    har = folder / attempt["evidence"]["wire"]
    entries = json.loads(har.read_text())["log"]["entries"]
    assert any(each["request"]["url"].endswith("/tab.html") for each in entries)
    assert "blocked: http://127.0.0.2:" in attempt["run_log_head"]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for is dead all the same."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_a_program_in_node_drives_its_page_by_the_responses_api(project: pytest.Pytester) -> None:
    with OpenAIServer(LOGIN) as server:
        furnish(project.path, server.api_base)
        (project.path / "models.json").write_text(
            json.dumps({"openai/m": {"agent": {"command": NODE, "version": "1"}}})
        )
        result = project.runpytest_subprocess(
            *("cases", "--autoweb-models=openai/m", "--autoweb-models-file=models.json"),
            *("-m", "not hidden", "--autoweb-max-repairs=0"),
        )

    result.assert_outcomes(passed=1)
    cell = cells(project.path)["login", "openai/m"]
    assert (cell["strategy"], cell["agent"]["version"]) == ("command", "1")
    steps = [step["description"].split()[0] for step in cell["attempts"][0]["step_results"]]
    assert steps == ["fill", "click", "done"]
    sent = server.requests[1].body["messages"]
    assert [message["role"] for message in sent] == [
        *("system", "user", "assistant", "tool", "user")
    ]
    assert "button Log in" in sent[-1]["content"]
    assert cell["usage"]["agent"]["calls"] == 3


MODELS = """
fake/m:
  agent: {command: ["{python}", mine.py], version: "1.0", env: {MODE: quick}}
fake/judge: {}
"""
MINE = """
import json, sys
start = json.loads(sys.stdin.readline())
for message in ({"type": "answer", "value": "Shop"}, {"type": "done"}):
    print(json.dumps(message), flush=True)
"""
TITLE = """version: 1
webserver: {static: ../site}
cases:
  - id: title
    entry_url: "{{ webserver.url }}index.html"
    user_task: What is the heading?
    expect:
      - {answer: {equals: Shop}}
      - judge: {rubric: It names the shop.}
"""
VERDICT = {"verdict": "pass", "reason": "So it is.", "quotes": ["Shop"]}
NOTE = (
    "outside the sandbox, as processes of their own, held: files, TCP ports, other processes, UDP, "
    "Unix sockets, memory and processes"
)


@pytest.mark.long
def test_an_agent_of_a_models_settings_is_told_from_its_next_version(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    folder = project.path
    answers: dict[str, Any] = {"fake/judge": {"judge": json.dumps(VERDICT)}}
    scripted(repr(answers | {"fake/m": {}, "fake/plain@steady": {}}))
    (folder / "cases/shop.yaml").write_text(TITLE)
    (folder / "models.yaml").write_text(MODELS)
    for name in ("mine.py", "steady.py"):
        (folder / name).write_text(MINE)
    (folder / "pyproject.toml").write_text(
        '[tool.autoweb.agents.steady]\ncommand = ["{python}", "steady.py"]\n'
    )
    flags = [
        *("cases", "--autoweb-models=fake/m,fake/plain@steady"),
        *("--autoweb-judge-model=fake/judge", "--autoweb-models-file=models.yaml"),
        *("--autoweb-save=base", "--junitxml=j.xml", "-v"),
    ]

    first = project.runpytest_subprocess(*flags, "--autoweb-min-pass-rate=100")

    first.assert_outcomes(passed=2)
    first.stdout.fnmatch_lines(
        [f"autoweb agents: command (1.0), steady: {NOTE}*", "outside agents: command (1.0), steady"]
    )
    before = json.loads((folder / "autoweb-report/report.json").read_text())
    told = {agent["name"]: agent for agent in before["agents"]}
    assert {name: agent["models"] for name, agent in told.items()} == {
        "command": ["fake/m"],
        "steady": ["fake/plain@steady"],
    }
    assert (told["command"]["version"], told["command"]["cells"]) == ("1.0", 1)
    assert told["command"]["command"] == ["{python}", "mine.py"]
    assert all(agent["not_held"].startswith(NOTE) for agent in told.values())
    assert NOTE in (folder / "autoweb-report/summary.md").read_text()
    found = cells(folder)
    mine, steady = found["title", "fake/m"], found["title", "fake/plain@steady"]
    assert mine["checksums"]["agent"] == told["command"]["checksum"] == mine["agent"]["checksum"]
    assert [check["passed"] for check in mine["attempts"][0]["checks"]] == [True, True]
    assert '"autoweb.model" value="fake/plain@steady"' in (folder / "j.xml").read_text()
    assert [gate["model"] for gate in before["gates"]] == ["fake/m", "fake/plain@steady"]

    # What the command names belongs to the agent, as its version does.
    (folder / "mine.py").write_text(MINE + "# better\n")
    again = project.runpytest_subprocess(
        *flags, "--autoweb-resume=latest", "--autoweb-compare=base"
    )

    assert again.ret == 0
    after = json.loads((folder / "autoweb-report/report.json").read_text())
    changed = {c["b"]["model"]: c["changed"] for c in after["comparisons"] if c["kind"] == "runs"}
    assert changed == {"fake/m": ["agent"], "fake/plain@steady": []}
    info = json.loads((folder / "autoweb-report/run.json").read_text())
    assert info["resumed"][0]["ran"] == {"changed since: the outside agent": 1}
    found = cells(folder)
    assert found["title", "fake/plain@steady"]["started"] == steady["started"]
    assert found["title", "fake/m"]["agent"] != mine["agent"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("{comand: [x]}", "*model 'fake/m': agent: unknown setting 'comand'*command*"),
        ("{command: []}", "*model 'fake/m': agent.command: *written as agent: {command: *"),
        ("{command: [x], timeout: -1}", "*model 'fake/m': agent.timeout: *"),
        ("mien", "*model 'fake/m': unknown agent 'mien'*"),
    ],
)
def test_wrong_settings_of_a_models_agent_are_named(
    project: pytest.Pytester, settings: str, words: str
) -> None:
    (project.path / "models.yaml").write_text(f"fake/m: {{agent: {settings}}}\n")

    result = project.runpytest(
        "cases", "--autoweb-models=fake/m", "--autoweb-models-file=models.yaml"
    )

    assert result.ret == 4
    result.stderr.fnmatch_lines([words])


def test_an_agent_that_is_not_there_is_refused_at_once(project: pytest.Pytester) -> None:
    (project.path / "pyproject.toml").write_text(
        '[tool.autoweb.agents.gone]\ncommand = ["no-such-program"]\n'
    )
    project.makeconftest(
        "def pytest_autoweb_register(registry):\n"
        "    registry.add_agent('mine', ['{python}', 'mine.py'], max_calls=3)\n"
    )

    result = project.runpytest("cases", "--autoweb-models=fake/m", "--autoweb-agents=gone")
    unknown = project.runpytest("cases", "--autoweb-models=fake/m", "--autoweb-agents=mien")
    both = project.runpytest(
        "cases", "--autoweb-models=fake/m", "--autoweb-agents=act", "--autoweb-strategy=act"
    )

    assert {result.ret, unknown.ret, both.ret} == {4}
    result.stderr.fnmatch_lines(["*the agent 'gone' cannot be started: 'no-such-program' is no *"])
    unknown.stderr.fnmatch_lines(["*--autoweb-agents: unknown agent 'mien'*mine*"])
    both.stderr.fnmatch_lines(["*--autoweb-agents and --autoweb-strategy both name*"])


@pytest.mark.long
def test_what_a_second_client_of_a_browser_sees_is_what_the_docs_say() -> None:
    command = [sys.executable, "benchmarks/agents/second_client.py"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    version, _, told = done.stdout.partition("\n")
    assert version.startswith("Chromium ")
    assert told in (ROOT / "docs/agents.md").read_text(encoding="utf-8")


PLAIN = ROOT / "templates/agents/plain_agent.py"
CASES = """
version: 1
webserver: {{static: ../site}}
cases:
  - id: login
    entry_url: "{{{{ webserver.url }}}}index.html"
    user_task: "Log in as ana."
    agent: {{command: ["{{python}}", {nosy}], timeout: 30, env: {{OWN: given}}}}
    expect:
      - text: "Welcome, ana"
      - request: {{url: "**/logged-in"}}
  - id: hidden
    entry_url: "{{{{ webserver.url }}}}index.html"
    user_task: "Log in with {{{{ secrets.word }}}}."
    tags: [hidden]
    secrets: {{word: {{default: xyzzy-plugh}}}}
    expect: [{{text: "Welcome, ana"}}]
"""
# Tells what it sees and may do, and acts on nothing.
NOSY = """
import json, os, sys, time, urllib.error, urllib.request

def say(**message):
    print(json.dumps(message), flush=True)

def seen(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)

start = json.loads(sys.stdin.readline())
targets = seen(start["browser"]["cdp_url"] + "/json/list")
pages = [one for one in targets if one["type"] == "page"]
mine = [one for one in pages if one["id"] == start["browser"]["target_id"]]
print("keys:", sorted(name for name in os.environ if "KEY" in name or name == "OWN"))
print("no JSON \\x1b[31m{", file=sys.stderr)
say(type="step", description=f"sees {len(pages)} page, {len(mine)} its own")
say(type="step", description=f"secrets {start['secrets']}", ok=False, error="none")
asking = urllib.request.Request(
    start["model"]["base_url"] + "/chat/completions", b"{}", {"Authorization": "Bearer other"}
)
try:
    urllib.request.urlopen(asking)
except urllib.error.HTTPError as error:
    say(type="step", description=f"another token: {error.code}")
listening, entry = start["browser"]["cdp_url"], start["entry_url"]
tabs = (entry.replace("index", "tab"), entry.replace("127.0.0.1", "127.0.0.2"))
for url in tabs:
    seen(urllib.request.Request(listening + "/json/new?" + url, method="PUT"))
while not set(tabs) <= {one["url"] for one in seen(listening + "/json/list")}:
    time.sleep(0.05)
say(type="answer", value={"looked": True})
say(type="done")
"""
# Starts a process of its own, and never ends.
HANG = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("said/child.pid", "w").write(str(child.pid))
time.sleep(600)
"""


def call(name: str, /, **given: str) -> Answer:
    """A reply that calls a tool."""
    function = {"name": name, "arguments": json.dumps(given)}
    calls = [{"id": f"call-{name}", "type": "function", "function": function}]
    return Answer(None, message={"tool_calls": calls}, finish_reason="tool_calls")


LOGIN = (
    call("fill", label="Name", value="ana"),
    call("click", role="button", name="Log in"),
    call("done"),
)


def furnish(folder: Path, api_base: str) -> None:
    page = SITE["index.html"].replace('onclick="', "onclick=\"fetch('logged-in');")
    (folder / "site/index.html").write_text(page)
    (folder / "cases/shop.yaml").write_text(CASES.format(nosy=json.dumps("nosy.py")))
    (folder / "nosy.py").write_text(NOSY)
    (folder / "hang.py").write_text(HANG)
    (folder / "said").mkdir()
    (folder / "pyproject.toml").write_text(
        '[tool.autoweb.models."openai/m"]\n'
        f'api_base = "{api_base}"\ninput_cost_per_mtok = 1.0\noutput_cost_per_mtok = 2.0\n'
        f'[tool.autoweb.agents.plain-one]\ncommand = ["{{python}}", {json.dumps(str(PLAIN))}]\n'
        '[tool.autoweb.agents.hang]\ncommand = ["{python}", "hang.py"]\ntimeout = 10\n'
        'write = ["said"]\n'
    )


def cells(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    return {(case["id"], cell["model"]): cell for case in report["cases"] for cell in case["cells"]}
