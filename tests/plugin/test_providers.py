"""Whole sessions with the models of large providers, on a server that speaks their protocols.

Each first reply of a model that writes code has nothing but thoughts, which used up its room.
"""

import json
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest
from provider_server import SHAPES, ProviderServer, Seen, protocol_of

pytestmark = pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
PRESSED = """<style>body {margin: 0} button {position: absolute; left: 20px; top: 80px}</style>
<button onclick="out.textContent = 'sent'">Send</button><p id=out></p>"""
POINTERS = {
    "tool-of-openai": ("openai/computer-use-preview", "/v1", "computer_use_preview"),
    "tool-of-anthropic": ("anthropic/claude-sonnet-4-5", "", "computer_20250124"),
}


@pytest.mark.long
def test_models_of_all_protocols_drive_a_page_by_turns_and_by_their_tools(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    (project.path / "site/press.html").write_text(PRESSED, encoding="utf-8")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")

    with Services() as server:
        models: dict[str, dict[str, str]] = {
            name: {"api_base": server.origin + path} for name, path in WRITERS.items()
        }
        for name, (model, path, tool) in POINTERS.items():
            base = server.origin + path
            models[name] = {"model": model, "api_base": base, "computer": tool}
        file = project.path / "models.json"
        file.write_text(json.dumps({"models": models}), encoding="utf-8")
        ran = project.runpytest_subprocess(
            *("cases", "-k", "(write and not tool-of) or (point and tool-of)"),
            f"--autoweb-models={','.join(models)}",
            *("--autoweb-models-file=models.json", "--autoweb-codegen=auto"),
        )

    report = json.loads((project.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    cells = {cell["model"]: cell for case in report["cases"] for cell in case["cells"]}
    told = "\n".join(ran.outlines)
    assert {name: cell["outcome"] for name, cell in cells.items()} == dict.fromkeys(
        models, "passed"
    ), told
    for name in WRITERS:
        (attempt,) = cells[name]["attempts"]
        usage = cells[name]["usage"]["generate"]
        # One call more than turns, as the first reply of each was cut off and asked for again.
        assert (attempt["turns"], usage["calls"]) == (2, 3), name
        assert usage["output_tokens"] > 800, name
        assert usage["cost_usd"] if not name.startswith("ollama") else usage["unpriced_calls"], name
    for name in POINTERS:
        (attempt,) = cells[name]["attempts"]
        assert 'get_by_mark(1, expected_text="Send")' in attempt["code"]
        assert [d["status"] for d in attempt["decisions"]] == ["performed", "performed"]


CODE = """I log in.
```python
page.get_by_label("Name").fill("ana")
page.get_by_role("button", name="Log in").click()
```"""
CASES = """version: 1
webserver: {static: ../site}
cases:
  - {id: write, entry_url: "{{ webserver.url }}index.html", user_task: Log in as ana.,
     expect: [{text: "Welcome, ana"}]}
  - {id: point, entry_url: "{{ webserver.url }}press.html", user_task: Press Send.,
     strategy: act, expect: [{text: sent}]}
"""
CUT = {
    "openai": "length",
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
    "ollama": "length",
    "bedrock": "max_tokens",
}
WRITERS = {
    "openai/gpt-5-mini": "/v1",
    "anthropic/claude-sonnet-4-5": "",
    "gemini/gemini-2.5-flash": "",
    "ollama_chat/qwen3:32b": "",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0": "",
}
AT_BUTTON: dict[str, dict[str, Any]] = {
    "openai": {
        "object": "response",
        "status": "completed",
        "model": "computer-use-preview",
        "output": [
            {
                "type": "computer_call",
                "call_id": "call_1",
                "pending_safety_checks": [],
                "action": {"type": "click", "button": "left", "x": 40, "y": 90},
            }
        ],
        "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
    },
    "anthropic": {
        **SHAPES["anthropic"]("I press it.", "tool_use"),
        "content": [
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "computer",
                "input": {"action": "left_click", "coordinate": [40, 90]},
            }
        ],
    },
}
SENT = {
    "openai": {
        **AT_BUTTON["openai"],
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Sent."}]}],
    },
    "anthropic": SHAPES["anthropic"]("Sent."),
}


class Services(ProviderServer):
    """All services at one address; what they say depends on what they are shown."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = Counter[str]()

    def answer(self, seen: Seen) -> tuple[int, Any]:
        self.seen.append(seen)
        protocol, text = protocol_of(seen.path), json.dumps(seen.body)
        if "tools" in seen.body:
            return 200, (SENT if 'click \\"Send\\"' in text else AT_BUTTON)[protocol]
        if "TURN 2 OF" in text:
            return 200, SHAPES[protocol]("DONE")
        self.begun[protocol] += 1
        if self.begun[protocol] == 1:
            return 200, SHAPES[protocol]("", CUT[protocol])
        return 200, SHAPES[protocol](CODE)
