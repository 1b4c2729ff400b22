"""A model of a dozen rules, which answers in the form of whichever agent asks (docs/agents.md).

    python -m pytest -p benchmarks.agents.rule_model benchmarks/miniwob20.yaml -k "-1]"
        --autoweb-models=rules/model --autoweb-agents=codegen,act,browser-use --autoweb-codegen=once

It stands in for a language model where none is at hand: it reads the goal of a MiniWoB task, knows
for some kinds of goals what to click and to write, and finds the elements in what the agent shows
it. So what differs between agents is what they show, what they can do and what they cost.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pytest_autoweb import Client, ModelSpec, Reply, Request, Usage
from pytest_autoweb.testing import scripted_plan

CASES = Path(__file__).parents[1] / "miniwob20.yaml"


class Move(NamedTuple):
    """One thing to do: click an element, or write into the nth field."""

    role: str
    name: str = ""
    nth: int = 0
    text: str | None = None


def _named(role: str) -> Callable[..., list[Move]]:
    return lambda *names: [Move(role, name) for name in names]


def _chosen(names: str, button: str = "Submit") -> list[Move]:
    boxes = [] if names == "nothing" else names.split(", ")
    return [*(Move("checkbox|radio", name) for name in boxes), Move("button", button)]


def _written(*texts: str, button: str = "Submit") -> list[Move]:
    fields = [Move("textbox", nth=nth, text=text) for nth, text in enumerate(texts)]
    return [*fields, Move("button", button)]


RULES: tuple[tuple[str, Callable[..., list[Move]]], ...] = (
    (r'^Click on the "(.+)" button', _named("button")),
    (r'^Click on the link "(.+)"', _named("link|generic|StaticText|text")),
    (r"^Click button (\w+), then click button (\w+)", _named("button")),
    (r"^Click button (\w+)", _named("button")),
    (r'^Close the dialog box by clicking the "x"', lambda: [Move("button", "Close")]),
    (r'labeled "x"', lambda: [Move("button", "Close")]),
    (r'labeled "(.+)"', _named("button")),
    (r"^Click on (Tab #\d+)", _named("tab|link")),
    (r"^Select (?!.* from )(.+) and click", _chosen),
    (r"^Focus into the (\d)", lambda number: [Move("textbox", nth=int(number) - 1)]),
    (r'^Enter "(.+)" into the text field', _written),
    (r'password "(.+)" into both', lambda word: _written(word, word)),
    (r'username "(.+)" and the password "(.+)" into', lambda *w: _written(*w, button="Login")),
)


def moves_of(goal: str) -> list[Move]:
    """Return what the rules say about a goal; nothing if none knows it."""
    for pattern, make in RULES:
        if found := re.search(pattern, goal):
            return make(*found.groups())
    return []


def _find(move: Move, listed: list[tuple[str, str, str]]) -> str | None:
    """Return the id of the element that a move means, among ids, roles and names."""
    fitting = [
        element
        for element, role, name in listed
        if re.fullmatch(move.role, role) and (not move.name or name == move.name)
    ]
    return fitting[move.nth] if len(fitting) > move.nth else None


def _call(name: str, /, **given: Any) -> str:
    function = {"name": name, "arguments": json.dumps(given)}
    calls = [{"id": f"call-{name}", "type": "function", "function": function}]
    return json.dumps({"assistant": {"content": None, "tool_calls": calls}})


Look = tuple[str, dict[str, Any]]
Act = Callable[[Move, str], Look]


def _by_tools(look: Look, act: Act, listed: str) -> Callable[[Request, list[Move]], str]:
    """Return what answers for tools that list a page's elements and take their ids.

    Args:
        look: the call that shows the page.
        act: returns the call for a move and an element.
        listed: a pattern for an element, with the groups `id`, `role` and `name`.
    """

    def answer(request: Request, moves: list[Move]) -> str:
        if request.turn == 0:
            return _call(look[0], **look[1])
        seen = [m.content for m in request.messages if m.content.startswith("[result of")]
        pages = [text for text in seen if re.search(listed, text)]
        elements = [
            (found["id"], found["role"], found["name"] or "")
            for found in re.finditer(listed, "".join(pages[-1:]))
        ]
        if request.turn > len(moves):
            return _call("done")
        move = moves[request.turn - 1]
        if (element := _find(move, elements)) is None:
            return _call("done", answer="the element was not found")
        name, given = act(move, element)
        return _call(name, **given)

    return answer


_REF = r"""- '?(?P<role>\w+)(?: "(?P<name>[^"]*)")?[^\n]*?\bref=(?P<id>\w+)[\],]"""
_UID = r"""uid=(?P<id>\w+) (?P<role>\w+)(?: "(?P<name>[^"]*)")?"""


def _with_playwright(move: Move, ref: str) -> Look:
    about = {"element": move.name or move.role, "ref": ref, "target": ref}
    if move.text is None:
        return "browser_click", about
    return "browser_type", {**about, "text": move.text}


def _with_devtools(move: Move, uid: str) -> Look:
    about = {"pageId": 1, "uid": uid}
    return ("click", about) if move.text is None else ("fill", {**about, "value": move.text})


def _with_words(tool: str, mark: str) -> Act:
    def act(move: Move, ref: str) -> Look:
        words = ["click", mark + ref] if move.text is None else ["fill", mark + ref, move.text]
        return tool, {"arguments": words}

    return act


_for_mcp = _by_tools(("browser_snapshot", {}), _with_playwright, _REF)
_for_devtools = _by_tools(("take_snapshot", {"pageId": 1}), _with_devtools, _UID)
_for_playwright_cli = _by_tools(
    ("run_playwright_cli", {"arguments": ["snapshot"]}),
    _with_words("run_playwright_cli", ""),
    _REF,
)
_for_agent_browser = _by_tools(
    ("run_agent_browser", {"arguments": ["snapshot"]}), _with_words("run_agent_browser", "@"), _REF
)


def _for_coding_agent(request: Request, moves: list[Move]) -> str:
    """Claude Code and Codex: the same tools under longer names, and the end is a text."""
    (call,) = json.loads(_for_mcp(request, moves))["assistant"]["tool_calls"]
    name, given = call["function"]["name"], call["function"]["arguments"]
    if name == "done":
        return "done"
    function = {"name": f"mcp__browser__{name}", "arguments": given}
    calls = [{"id": f"call-{request.turn}", "type": "function", "function": function}]
    return json.dumps({"assistant": {"content": None, "tool_calls": calls}})


_TAGS = {"a": "link", "input": "textbox", "span": "generic", "li": "tab"}


def _for_browser_use(request: Request, moves: list[Move]) -> str:
    """Elements are `[12]<button id=x />` with their text on the lines below."""
    shown = request.messages[-1].content
    listed = []
    for number, tag, fields, text in re.findall(r"\[(\d+)\]<(\w+)([^>]*)>\s*([^\n\[|<]*)", shown):
        kind = re.search(r"type=(\w+)", fields)
        role = _TAGS.get(tag, tag)
        if kind and kind[1] in ("checkbox", "radio", "submit", "button"):
            role = "button" if kind[1] in ("submit", "button") else kind[1]
        label = re.search(r"(?:aria-label|value|title)=([^=]+?)(?: [\w-]+=|\s*/?$)", fields)
        listed.append((number, role, text.strip() or (label[1].strip() if label else "")))
    action: dict[str, Any] = {"done": {"text": "done", "success": True, "files_to_display": []}}
    if request.turn < len(moves):
        move = moves[request.turn]
        found = _find(move, listed)
        if found is not None and move.text is None:
            action = {"click": {"index": int(found)}}
        elif found is not None:
            action = {"input": {"index": int(found), "text": move.text, "clear": True}}
    thought = {"thinking": "", "evaluation_previous_goal": "", "memory": "", "next_goal": ""}
    return json.dumps({**thought, "action": [action]})


def _for_browsergym(request: Request, moves: list[Move]) -> str:
    listed = re.findall(r"\[(\w+)\] (\w+) '([^']*)'", request.messages[-1].content)
    if request.turn >= len(moves) or (
        (bid := _find(moves[request.turn], [(b, r, n.strip()) for b, r, n in listed])) is None
    ):
        return '```send_msg_to_user("done")```'
    text = moves[request.turn].text
    return f"```click({bid!r})```" if text is None else f"```fill({bid!r}, {text!r})```"


def _for_agentlab(request: Request, moves: list[Move]) -> str:
    """The tree of the page is BrowserGym's; the reply stands in tags."""
    decided = _for_browsergym(request, moves).strip("`")
    return f"<think>\nThe rules say so.\n</think>\n<action>\n{decided}\n</action>"


def _for_stagehand(request: Request, moves: list[Move]) -> str:
    """Its agent names an act, and asks for the element in the tree of the page."""
    assert request.chat is not None
    offered = [tool["function"]["name"] for tool in request.chat.tools]
    done = sum(message["role"] == "tool" for message in request.chat.messages)
    if "act" in offered:
        return _call("act", action=f"make move {done}") if done < len(moves) else "done"
    if offered:
        return _call("done", reasoning="done", taskComplete=True)
    shown = request.messages[-1].content
    asked = re.search(r"make move (\d+)", shown)
    move = moves[int(asked[1])] if asked else Move("")
    listed = re.findall(r"\[(\d+-\d+)\] (?:[\w]+, )*(\w+)(?:: (.*))?", shown)
    found = _find(move, [(number, role, name.strip()) for number, role, name in listed])
    if found is None:
        return json.dumps({"action": None, "twoStep": False})
    way = ("click", []) if move.text is None else ("fill", [move.text])
    about = {"elementId": found, "description": move.name, "method": way[0], "arguments": way[1]}
    return json.dumps({"action": about, "twoStep": False})


def _for_act(request: Request, moves: list[Move]) -> str:
    shown = request.messages[-1].content
    listed = re.findall(r'\[(\d+)\] (\w+)(?: "([^"\n]*)")?', shown)
    # Decisions are counted from 1.
    if request.turn > len(moves):
        return json.dumps({"action": "done"})
    move = moves[request.turn - 1]
    if (mark := _find(move, listed)) is None:
        return json.dumps({"action": "done"})
    name = next(name for number, _, name in listed if number == mark)
    chosen = {"mark_id": int(mark), "expected_text": name, "confidence": 0.9}
    if move.text is None:
        return json.dumps({"action": "click", **chosen})
    return json.dumps({"action": "type", **chosen, "text": move.text})


def _for_codegen(request: Request, moves: list[Move]) -> str:
    if request.stage == "plan":
        return scripted_plan("do what the rules say")
    lines = ["# Step 1"]
    for move in moves:
        roles = [role for role in move.role.split("|") if role not in ("StaticText", "text")]
        ways = [
            f"page.get_by_role({role!r}, name={move.name!r}, exact=True)"
            if move.name
            else f"page.get_by_role({role!r})"
            for role in roles
        ]
        found = ways[0] + "".join(f".or_({way})" for way in ways[1:])
        act = "click()" if move.text is None else f"fill({move.text!r})"
        lines.append(f"{found}.nth({move.nth}).{act}")
    return "```python\n" + "\n".join(lines if moves else [*lines, "log('no rule')"]) + "\n```"


FORMS = {
    "claude-code": _for_coding_agent,
    "codex": _for_coding_agent,
    "agent-browser": _for_agent_browser,
    "chrome-devtools-mcp": _for_devtools,
    "playwright-cli": _for_playwright_cli,
    "playwright-mcp": _for_mcp,
    "browser-use": _for_browser_use,
    "browsergym": _for_browsergym,
    "agentlab": _for_agentlab,
    "stagehand": _for_stagehand,
    "act": _for_act,
}


class RuleModel:
    """Answers for one model and agent."""

    def __init__(self, agent: str) -> None:
        self._form = FORMS.get(agent, _for_codegen)
        text = yaml.safe_load(CASES.read_text(encoding="utf-8"))
        self._goals: dict[str, dict[int, str]] = text["vars"]["goals"]

    def complete(self, request: Request) -> Reply:
        """Answer by the rule that knows the case's goal."""
        task, _, seed = request.case_id.removeprefix("miniwob-").rpartition("-")
        text = self._form(request, moves_of(self._goals[task][int(seed)]))
        words = sum(len(message.content.split()) for message in request.messages)
        usage = Usage(calls=1, input_tokens=words, output_tokens=len(text.split()), cost_usd=0.0)
        return Reply(text=text, usage=usage, model_served="rules")


def pytest_autoweb_client(spec: ModelSpec) -> Client | None:
    """Answer for the model of rules."""
    return RuleModel(spec.agent_name) if spec.litellm_model == "rules/model" else None
