"""The computer tools of providers, as servers that speak their protocols see and answer them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.computer_tool import ComputerTool
from pytest_autoweb.models.litellm_client import LiteLLMClient
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec, resolve_target
from pytest_autoweb.models.spending import CostBudget, Ledger, Reservation

PICTURE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.long
def test_anthropics_tool_is_called_through_litellm(provider: Provider) -> None:
    reply = ask(provider, "anthropic/claude-sonnet-4-5", "computer_20250124", ANTHROPIC)

    assert json.loads(reply.text) == {
        "thinking": "I press it.",
        "computer": {"action": "left_click", "coordinate": [40, 50]},
    }
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert reply.usage.cost_usd
    assert (provider.path, provider.beta) == ("/v1/messages", "computer-use-2025-01-24")
    (tool,) = provider.body["tools"]
    assert tool == {
        "type": "computer_20250124",
        "name": "computer",
        "display_width_px": 1280,
        "display_height_px": 720,
    }
    assert provider.body["messages"][0]["content"][1]["type"] == "image"


@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "openai/own-computer"])
def test_openais_tool_is_called_in_its_responses_api(provider: Provider, model: str) -> None:
    reply = ask(provider, model, "computer_use_preview", OPENAI, "/v1", reasoning_effort="low")

    assert provider.body["reasoning"] == {"effort": "low"}
    assert json.loads(reply.text)["computer"] == {
        "type": "click",
        "button": "left",
        "x": 40,
        "y": 50,
    }
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert (reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (64, 8)
    # Only what is in the table of every litellm that we allow has a price.
    assert (reply.usage.cost_usd is not None) is (model == "openai/gpt-5-mini")
    assert provider.path == "/v1/responses"
    assert provider.body["model"] == model.removeprefix("openai/")
    (tool,) = provider.body["tools"]
    assert (tool["display_width"], tool["environment"]) == (1280, "browser")
    assert provider.body["input"][1]["content"] == [
        {"type": "input_text", "text": "Buy one."},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
    ]


def test_a_reply_without_the_tool_is_its_text_and_a_cut_one_says_so(provider: Provider) -> None:
    done = ask(provider, "openai/own-computer", "computer_use_preview", DONE, "/v1")
    cut = ask(provider, "openai/own-computer", "computer_use_preview", CUT, "/v1")

    assert (done.text, done.finish_reason) == ("42 EUR", "stop")
    assert (cut.text, cut.finish_reason) == ("42 EUR", "length")
    with pytest.raises(ModelError):
        ask(provider, "openai/own-computer", "computer_use_preview", {"error": "down"}, "/v1")


ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 20},
    "content": [
        {"type": "text", "text": "I press it."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "computer",
            "input": {"action": "left_click", "coordinate": [40, 50]},
        },
    ],
}
OPENAI = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "computer-use-preview",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "call_1",
            "status": "completed",
            "pending_safety_checks": [],
            "action": {"type": "click", "button": "left", "x": 40, "y": 50},
        },
    ],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 8},
        "total_tokens": 120,
    },
}
DONE = {
    **OPENAI,
    "output": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "42 EUR"}],
        }
    ],
}
CUT = {**DONE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


class Provider:
    """A server that gives one answer, and keeps what it was sent."""

    def __init__(self, folder: Path) -> None:
        self.budget = CostBudget(ledger=Ledger(folder))
        self.answer: dict[str, Any] = {}
        self.path, self.body, self.beta = "", dict[str, Any](), ""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                provider.path = self.path
                provider.beta = self.headers.get("anthropic-beta", "")
                provider.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = json.dumps(provider.answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    made = Provider(tmp_path)
    yield made
    made.server.shutdown()
    made.server.server_close()


def ask(
    provider: Provider,
    model: str,
    kind: str,
    answer: dict[str, Any],
    base: str = "",
    **settings: str,
) -> Reply:
    provider.answer = answer
    made = {"name": model, "api_base": provider.url + base, "computer": kind, **settings}
    spec = ModelSpec.model_validate(made)
    request = Request(
        model=model,
        messages=(
            Message(role="system", content="rules"),
            Message(role="user", content="Buy one.", images=(PICTURE,)),
        ),
        stage="decide",
        computer=ComputerTool(kind=kind, width=1280, height=720),
    )
    target = resolve_target(spec, {})
    return LiteLLMClient().complete(
        spec, request, target, lambda: Reservation(provider.budget, 0.0)
    )
