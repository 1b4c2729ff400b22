"""A scripted server that speaks OpenAI's chat API over real HTTP, for tests.

    with OpenAIServer([Answer("hello"), Answer(status=429)]) as server:
        ...  # call server.api_base with any OpenAI client
        assert server.requests[0].body["model"] == "m"

Answers are given out in order and the last one repeats, so a server made with one answer always
gives that one. `by_model` scripts several models on one server.
"""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """What the server says to one request."""

    text: str | None = "ok"
    status: int = 200
    error: str = ""
    """Message of the error object; used when the status is not 200."""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    finish_reason: str = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message, e.g. `reasoning_content` or `refusal`."""
    raw: str | None = None
    """Sent as the body as it is, e.g. broken JSON."""
    prompt_tokens: int = 11
    completion_tokens: int = 7
    served: str = ""
    """The model that the reply names; by default the one that was asked, with an ending."""
    fingerprint: str = ""
    pause: float = 0.0
    """Seconds before each piece of a reply that is streamed."""
    breaks_off: bool = False
    """A streamed reply ends before its end."""

    def body(self, model: str) -> bytes:
        """The JSON of the response."""
        if self.raw is not None:
            return self.raw.encode()
        if self.status != 200:
            error = {"message": self.error or "scripted error", "type": self.code or "error"}
            return json.dumps({"error": error | {"code": self.code or str(self.status)}}).encode()
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self.text, **self.message},
            "finish_reason": self.finish_reason,
        }
        usage = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }
        return json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": self.served or f"{model}-served",
                **({"system_fingerprint": told} if (told := self.fingerprint) else {}),
                "choices": [choice],
                "usage": usage,
            }
        ).encode()

    def pieces(self, model: str) -> list[bytes]:
        """The same as events of a stream, the text in pieces of three characters."""
        whole = json.loads(self.body(model))
        if "choices" not in whole:
            return [_event(whole)]
        (choice,) = whole["choices"]
        message = dict(choice["message"])
        text, calls = message.pop("content") or "", message.pop("tool_calls", None) or []
        deltas: list[dict[str, Any]] = [{"role": message.pop("role")}]
        deltas += [{"content": text[at : at + 3]} for at in range(0, len(text), 3)]
        deltas += [{name: value} for name, value in message.items()]
        for place, call in enumerate(calls):
            name, said = call["function"]["name"], call["function"]["arguments"]
            begun = {**call, "index": place, "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [begun]})
            for piece in (said[:2], said[2:]):
                deltas.append({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        shared = {"id": whole["id"], "created": 1, "model": whole["model"]}
        shared["object"] = "chat.completion.chunk"
        if self.fingerprint:
            shared["system_fingerprint"] = self.fingerprint
        told = [
            _event(shared | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            for delta in deltas
        ]
        if self.breaks_off:
            return told
        last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        told.append(_event(shared | {"choices": [last]}))
        told.append(_event(shared | {"choices": [], "usage": whole["usage"]}))
        return [*told, b"data: [DONE]\n\n"]


def _event(value: Mapping[str, Any]) -> bytes:
    return f": alive\n\ndata: {json.dumps(value)}\n\n".encode()


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: Message
    body: dict[str, Any]


class OpenAIServer:
    """Listens on a free loopback port from construction until `close`."""

    def __init__(
        self,
        answers: Sequence[Answer] = (Answer(),),
        *,
        by_model: Mapping[str, Sequence[Answer]] | None = None,
    ) -> None:
        self.requests: list[Seen] = []
        self.connections: list[socket.socket] = []
        """Every connection there was; clients keep them open between requests."""
        self.peaks: Counter[str] = Counter()
        """Per model, the most requests that were being answered at the same moment."""
        self._scripts = {"": list(answers), **{k: list(v) for k, v in (by_model or {}).items()}}
        self._active: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._http = _Server(self)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def origin(self) -> str:
        """`http://host:port`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def api_base(self) -> str:
        """What an OpenAI client is given as its base URL."""
        return f"{self.origin}/v1"

    def requests_of(self, model: str) -> list[Seen]:
        """The requests that named this model."""
        return [seen for seen in self.requests if seen.body.get("model") == model]

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        """Note a request and take the next answer of its script."""
        model = str(seen.body.get("model", ""))
        with self._lock:
            self.requests.append(seen)
            self._active[model] += 1
            self.peaks[model] = max(self.peaks[model], self._active[model])
            script = self._scripts.get(model) or self._scripts[""]
            answer = script.pop(0) if len(script) > 1 else script[0]
        try:
            time.sleep(answer.delay)
        finally:
            with self._lock:
                self._active[model] -= 1
        return answer, answer.body(model)

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: OpenAIServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections.append(self.connection)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = Seen(self.path, self.headers, json.loads(raw or b"{}"))
        answer, body = self.server.owner.answer(seen)
        if seen.body.get("stream") and answer.status == 200 and answer.raw is None:
            self._stream(answer, str(seen.body["model"]))
            return
        try:
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return  # the client gave up waiting

    def _stream(self, answer: Answer, model: str) -> None:
        try:
            self.send_response(200)
            for name, value in {"Content-Type": "text/event-stream", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (*answer.pieces(model), b""):
                time.sleep(answer.pause)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        except OSError:
            return  # the client gave up waiting

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the tests read `requests`."""
