#!/usr/bin/env python3
"""Count the input tokens of whole tasks, really carried out by fixed actions in each tool.

    python benchmarks/capture/tasks.py --applications APPS --peers-from PEERS

A call is one request to a model. Its input is what the tool's usual loop sends: the rules and the
tools, the task, and the conversation. Turns of this package send the newest page only, as the
product does it in a real session; the peers are MCP servers and a command line program in a chat
client, where all calls and results so far are sent again. Caching is not counted.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import yaml

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.capture.applications import serve_trac
from benchmarks.capture.pages import Site, free_port, serve_bundled
from benchmarks.capture.peers import PEERS, Command, Mcp, Tool
from benchmarks.capture.run import opened, tokens_of


@dataclass(frozen=True, slots=True)
class Step:
    """One action on an element that is known by role and name."""

    action: str
    role: str
    name: str
    text: str = ""
    leads_on: bool = False
    """Another page follows, which has to be looked at."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done, for the peers step by step and for this package in turns."""

    page: str
    wanted: str
    steps: tuple[Step, ...]
    turns: tuple[str, ...]
    says: str
    """What the page says once it is done."""


TASKS = {
    "admin: deactivate a user": Task(
        "admin: users",
        "Open the user ann.abel, untick Active and save.",
        (
            Step("click", "link", "ann.abel", leads_on=True),
            Step("uncheck", "checkbox", "Active"),
            Step("click", "button", "Save", leads_on=True),
        ),
        (
            'page.get_by_role("link", name="ann.abel", exact=True).click()',
            'page.get_by_role("checkbox", name="Active", exact=True).uncheck()\n'
            'page.get_by_role("button", name="Save", exact=True).click()',
        ),
        "was changed successfully",
    ),
    "trac: new ticket": Task(
        "trac: new ticket",
        'Create a ticket with the summary "Door sticks" and the priority critical.',
        (
            Step("fill", "textbox", "Summary:", "Door sticks"),
            Step("select", "combobox", "Priority:", "critical"),
            Step("click", "button", "Create ticket", leads_on=True),
        ),
        (
            'page.get_by_label("Summary:").fill("Door sticks")\n'
            'page.get_by_label("Priority:").select_option(label="critical")\n'
            'page.get_by_role("button", name="Create ticket").click()',
        ),
        "Opened",
    ),
}


@dataclass(slots=True)
class Conversation:
    """A chat in which everything so far is sent with each call."""

    sent_always: str
    said: list[str] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0

    def call(self, asked: str, answer: str) -> str:
        """Count a call that ends in using a tool, whose answer is in all later ones."""
        self.calls += 1
        self.tokens += tokens_of("\n".join([self.sent_always, *self.said]))
        self.said += [asked, answer]
        return answer


def drive(task: Task, url: str, tool: Tool, rules: str, act: "Act") -> Conversation:
    """Carry a task out as a model would with this tool, and look at the end."""
    talk = Conversation(f"{rules}\n{task.wanted}")
    shown = talk.call(f"open {url}", act(tool, "open", "", url))
    if not _reference(shown, task.steps[0]):
        shown = talk.call("look", tool.look())
    for step in task.steps:
        reference = _reference(shown, step)
        if not reference:
            raise RuntimeError(f"{step} is not listed:\n{shown[:2000]}")
        asked = f"{step.action} {reference} {step.text}"
        answer = talk.call(asked, act(tool, step.action, reference, step.text))
        if step.leads_on and len(answer) < 500:
            answer = talk.call("look", tool.look())
        shown = answer if len(answer) > 500 else shown
    # The answer that the task is done.
    talk.call("done", "")
    return talk


def _reference(shown: str, step: Step) -> str:
    name = re.escape(step.name)
    line = re.search(rf'^.*\b{step.role} "{name}".*$', shown, re.MULTILINE)
    found = re.search(r"\bref=(\w+)|uid=(\w+)", line[0]) if line else None
    return (found[1] or found[2]) if found else ""


Act = Callable[[Tool, str, str, str], str]


def _act_in_agent_browser(tool: Tool, action: str, reference: str, text: str) -> str:
    assert isinstance(tool, Command)
    target = [text] if action == "open" else [f"@{reference}", *([text] if text else [])]
    return tool.run([*tool.base, action, *target])


def _act_in_playwright_mcp(tool: Tool, action: str, reference: str, text: str) -> str:
    assert isinstance(tool, Mcp)
    if action == "open":
        return tool.call("browser_navigate", {"url": text})
    given = {"element": "the element", "target": reference}
    if action == "fill":
        return tool.call("browser_type", {**given, "text": text})
    if action == "select":
        return tool.call("browser_select_option", {**given, "values": [text]})
    return tool.call("browser_click", given)


def _act_in_devtools_mcp(tool: Tool, action: str, reference: str, text: str) -> str:
    assert isinstance(tool, Mcp)
    if action == "open":
        return tool.call("navigate_page", {"pageId": 1, "type": "url", "url": text})
    given = {"pageId": 1, "uid": reference}
    if action in {"fill", "select"}:
        return tool.call("fill", {**given, "value": text})
    return tool.call("click", given)


DRIVEN: dict[str, Act] = {
    "agent-browser -i": _act_in_agent_browser,
    "Playwright MCP": _act_in_playwright_mcp,
    "chrome-devtools-mcp": _act_in_devtools_mcp,
}


def _rules(tool: Tool) -> str:
    if isinstance(tool, Mcp):
        return tool.tools()
    assert isinstance(tool, Command)
    return tool.run([tool.base[0], "skills", "get", "core"])


_CONFTEST = """
import json
from pathlib import Path
from pytest_autoweb.models.messages import Reply

class Scripted:
    def __init__(self, replies):
        self.replies = iter(replies)
    def complete(self, request):
        with Path(__file__).with_name("calls.jsonl").open("a") as file:
            file.write(json.dumps([m.content for m in request.messages]) + chr(10))
        return Reply(text=next(self.replies))

REPLIES = {replies}

def pytest_autoweb_client(spec):
    return Scripted(REPLIES)
"""


def drive_turns(task: Task, url: str) -> Conversation:
    """Carry a task out in a session of this package, and count what its model was sent."""
    blocks = [f"I go on.\n```python\n{code}\n```" for code in task.turns]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(
            _CONFTEST.replace("{replies}", repr([*blocks, "DONE"])).replace("\\\\n", "\\n")
        )
        session = {
            "name": "sessionid",
            "value": "demo0session0of0the0administrator",
            "url": url.split("/admin")[0],
        }
        case = {
            "id": "task",
            "entry_url": url,
            "user_task": task.wanted,
            "setup": {"cookies": [session]},
            "expect": [{"text": task.says}],
        }
        cases = {"version": 1, "cases": [case]}
        (folder / "task.yaml").write_text(yaml.safe_dump(cases))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "task.yaml",
            "--autoweb-models=own/scripted",
        ]
        command += ["--autoweb-agent=codegen:turns", "--autoweb-max-repairs=0"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        calls = (folder / "calls.jsonl").read_text().splitlines()
    if done.returncode or len(calls) != len(task.turns) + 1:
        raise RuntimeError(done.stdout[-2_000:])
    talk = Conversation("")
    talk.calls = len(calls)
    talk.tokens = sum(tokens_of("\n".join(json.loads(call))) for call in calls)
    return talk


def main(arguments: Sequence[str] | None = None) -> None:
    """Carry the tasks out and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--applications", type=Path, required=True)
    parser.add_argument("--peers-from", type=Path, required=True)
    parser.add_argument("--peers", nargs="*", default=list(DRIVEN), choices=list(DRIVEN))
    options = parser.parse_args(arguments)
    print("| task | this package, turns | " + " | ".join(options.peers) + " |")
    print("|---|--:|" + "--:|" * len(options.peers))
    with ExitStack() as stack:
        site = Site(Path(stack.enter_context(tempfile.TemporaryDirectory())), stack)
        serve_bundled(site)
        serve_trac(site, options.applications.absolute() / "trac/bin")
        port = free_port()
        page = opened(stack, site.folder / "profile", port, None)
        for log_in in site.log_in:
            log_in(page)
        for name, task in TASKS.items():
            url = site.pages[task.page]
            made = [drive_turns(task, url)]
            for peer in options.peers:
                page.goto("about:blank")
                with closing(PEERS[peer].attach(options.peers_from.absolute(), port)) as tool:
                    made.append(drive(task, url, tool, _rules(tool), DRIVEN[peer]))
                page.get_by_text(task.says).first.wait_for(timeout=5_000)
            cells = " | ".join(f"{talk.tokens:,} ({talk.calls})" for talk in made)
            print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
