"""A server that speaks the protocols of OpenAI, Anthropic, Gemini, Vertex AI, Bedrock, Ollama.

The answers have the shapes that the services send, as recorded in their documentation, with what
they say about thoughts, caches and limits.

    with ProviderServer() as server:
        server.say("anthropic", {"stop_reason": "max_tokens"}, {})
        ...  # two calls
        assert server.seen[0].body["max_tokens"] == 8192
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

TEXT = "page.get_by_role('button', name='Save').click()"


def openai(text: str = TEXT, finish: str = "stop", **usage: Any) -> dict[str, Any]:
    counts = {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "total_tokens": 2306,
        "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 192,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": [],
    }
    return {
        "id": "chatcmpl-CNx1",
        "object": "chat.completion",
        "created": 1759900000,
        "model": "gpt-5-mini-2025-08-07",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": counts | usage,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def anthropic(text: str = TEXT, finish: str = "end_turn", **usage: Any) -> dict[str, Any]:
    counts = {
        "input_tokens": 21,
        "cache_creation_input_tokens": 188,
        "cache_read_input_tokens": 1800,
        "cache_creation": {"ephemeral_5m_input_tokens": 188, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 393,
        "service_tier": "standard",
    }
    thinking = {"type": "thinking", "thinking": "The button is named Save.", "signature": "EqQB"}
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [thinking, *([{"type": "text", "text": text}] if text else [])],
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": counts | usage,
    }


def gemini(text: str = TEXT, finish: str = "STOP", **usage: Any) -> dict[str, Any]:
    counts = {
        "promptTokenCount": 2152,
        "candidatesTokenCount": 11,
        "totalTokenCount": 2500,
        "cachedContentTokenCount": 2027,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2152}],
        "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 2027}],
        "thoughtsTokenCount": 337,
    }
    # A model that only thought has no parts at all.
    content = {"role": "model"} | ({"parts": [{"text": text}]} if text else {})
    return {
        "candidates": [{"content": content, "finishReason": finish, "index": 0}],
        "usageMetadata": counts | usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "dGVzdA",
    }


def ollama(text: str = TEXT, finish: str = "stop", **counts: Any) -> dict[str, Any]:
    times = {"total_duration": 5, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 2}
    return {
        "model": "qwen3:8b",
        "created_at": "2025-10-01T10:00:00.000000Z",
        "message": {"role": "assistant", "content": text, "thinking": "The button is named Save."},
        "done_reason": finish,
        "done": True,
        "prompt_eval_count": 26,
        "eval_count": 298,
        **times,
        **counts,
    }


def bedrock(text: str = TEXT, finish: str = "end_turn", **usage: Any) -> dict[str, Any]:
    counts = {
        "inputTokens": 21,
        "outputTokens": 393,
        "totalTokens": 2402,
        "cacheReadInputTokens": 1800,
        "cacheReadInputTokenCount": 1800,
        "cacheWriteInputTokens": 188,
        "cacheWriteInputTokenCount": 188,
        "serverToolUsage": {},
    }
    thought = {"text": "The button is named Save.", "signature": "EqQB"}
    content = [{"reasoningContent": {"reasoningText": thought}}, *([{"text": text}] * bool(text))]
    return {
        "metrics": {"latencyMs": 1275},
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": finish,
        "usage": counts | usage,
    }


def google_token() -> dict[str, Any]:
    """What Google gives for the signed claim of a service account."""
    return {"access_token": "ya29.made-up", "expires_in": 3599, "token_type": "Bearer"}


SHAPES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "openai": openai,
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "bedrock": bedrock,
    "token": google_token,
}
REFUSALS: Mapping[str, tuple[int, Any]] = {
    "openai": (
        400,
        {
            "error": {
                "message": "Invalid schema for response_format 'reply': In context=('properties', "
                "'decision'), 'anyOf' is not permitted.",
                "type": "invalid_request_error",
                "param": "response_format",
                "code": None,
            }
        },
    ),
    "anthropic": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "output_format.schema: Schema is too complex for compilation.",
            },
        },
    ),
    "gemini": (
        400,
        {
            "error": {
                "code": 400,
                "message": 'Invalid JSON payload received. Unknown name "const" at '
                "'generation_config.response_schema': Cannot find field.",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
}
"""What the services say to a schema that they do not take: the status and the body."""


class Seen(NamedTuple):
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    when: float
    """By `time.monotonic`."""
    login: str = ""
    """The header `Authorization`."""


class ProviderServer:
    """Listens on a free loopback port; an answer that nobody scripted is the usual one."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.headers: dict[str, str] = {}
        self._scripts: defaultdict[str, list[tuple[int, Any]]] = defaultdict(list)
        self._http = _Server(self)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def say(self, protocol: str, *answers: dict[str, Any] | tuple[int, Any]) -> None:
        """Forget what was asked, and give these bodies to the next requests."""
        self.seen.clear()
        given = [answer if isinstance(answer, tuple) else (200, answer) for answer in answers]
        self._scripts[protocol] = given

    def answer(self, seen: Seen) -> tuple[int, Any]:
        # litellm asks Ollama about a model whenever it has forgotten what it was told.
        if seen.path.endswith("/api/show"):
            return 200, {"model_info": {}}
        protocol = protocol_of(seen.path)
        self.seen.append(seen)
        script = self._scripts[protocol]
        return script.pop(0) if script else (200, SHAPES[protocol]())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


TOKEN_PATH = "/google/token"


def protocol_of(path: str) -> str:
    """Which of the protocols a path belongs to."""
    if path.endswith("/api/chat"):
        return "ollama"
    if path.endswith("/converse"):
        return "bedrock"
    if path == TOKEN_PATH:
        return "token"
    if "generateContent" in path:
        return "gemini"
    return "anthropic" if path.endswith("/messages") else "openai"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: ProviderServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length) or b"{}"
        # Google's token is asked for by a form, and nothing in it is looked at.
        body = {} if self.path == TOKEN_PATH else json.loads(sent)
        login = self.headers.get("Authorization", "")
        seen = Seen(self.path, body, time.monotonic(), login)
        status, answer = self.server.owner.answer(seen)
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in self.server.owner.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""
