"""Ollama's API in front of any OpenAI-compatible server, standard library only.

    with OllamaServer("http://127.0.0.1:8080/v1", models={"qwen3:8b": "served-name"}) as server:
        ...  # point OLLAMA_API_BASE, or a model's api_base, at server.origin

It offers what Ollama's clients use: /api/version, /api/tags, /api/ps, /api/show, /api/chat and
/api/generate, both as one JSON object and as a stream of JSON lines. For experiments:
`python ollama_server.py --backend http://127.0.0.1:8080/v1 --model qwen3:8b=served-name`.
"""

import argparse
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

VERSION = "0.12.0"
Json = dict[str, Any]

_OPTIONS = {"num_predict": "max_tokens", "temperature": "temperature", "seed": "seed"}
_OPTIONS |= {"top_p": "top_p", "stop": "stop"}
_TIMEOUT_S = 600


class OllamaServer:
    """Listens on loopback from construction until `close`."""

    def __init__(
        self, backend: str, *, models: Mapping[str, str], api_key: str = "none", port: int = 0
    ) -> None:
        self.backend, self.models, self.api_key = backend.rstrip("/"), dict(models), api_key
        self.requests: list[tuple[str, Json]] = []
        """Path and body of each POST."""
        self.digests: dict[str, str] = {}
        """Digests of the loaded models, by name."""
        self._http = _Server(self, port)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        """`http://host:port`, what OLLAMA_API_BASE is set to."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()

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

    def __init__(self, owner: OllamaServer, port: int) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), _Handler)


class _Failed(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        answers: dict[str, Json] = {
            "/api/version": {"version": VERSION},
            "/api/tags": {"models": [_described(name) for name in self.server.owner.models]},
            "/api/ps": {"models": [_loaded(*each) for each in self.server.owner.digests.items()]},
        }
        known = self.path in answers
        self._send(200 if known else 404, answers.get(self.path, {"error": "not found"}))

    def do_POST(self) -> None:
        # Some clients send no content type: the body is parsed whatever it says.
        body: Json = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.server.owner.requests.append((self.path, body))
        name = str(body.get("model") or body.get("name") or "")
        try:
            if name not in self.server.owner.models:
                raise _Failed(404, f"model '{name}' not found")
            if self.path == "/api/show":
                self._send(200, _described(name) | {"capabilities": ["completion"]})
            elif self.path in ("/api/chat", "/api/generate"):
                self._talk(name, body)
            else:
                raise _Failed(404, "not found")
        except _Failed as error:
            self._send(error.status, {"error": error.message})

    def _talk(self, name: str, body: Json) -> None:
        chat, began = self.path == "/api/chat", time.monotonic_ns()
        asked = _openai_request(self.server.owner.models[name], body, chat=chat)
        if body.get("stream", True):
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
            self._stream(name, self._upstream(asked), chat=chat, began=began)
            return
        with self._upstream(asked) as response:
            answer = json.loads(response.read())
        text = answer["choices"][0]["message"].get("content") or ""
        usage = answer.get("usage") or {}
        reason = answer["choices"][0].get("finish_reason")
        self._send(
            200, _piece(name, text, chat=chat) | _ending(reason, usage, time.monotonic_ns() - began)
        )

    def _stream(self, name: str, response: Any, *, chat: bool, began: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        reason = "stop"
        usage: Json = {}
        with response:
            for event in _events(response):
                usage = event.get("usage") or usage
                for choice in event.get("choices", []):
                    reason = choice.get("finish_reason") or reason
                    if text := choice["delta"].get("content"):
                        self._line(_piece(name, text, chat=chat) | {"done": False})
        ending = _ending(reason, usage, time.monotonic_ns() - began)
        self._line(_piece(name, "", chat=chat) | ending)

    def _upstream(self, asked: Json) -> Any:
        owner = self.server.owner
        request = urllib.request.Request(
            f"{owner.backend}/chat/completions",
            data=json.dumps(asked).encode(),
            headers={
                "Content-Type": "application/json",
                "Authorization": f"Bearer {owner.api_key}",
            },
        )
        try:
            return urllib.request.urlopen(request, timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            with error:
                raise _Failed(error.code, error.read().decode("utf-8", "replace")) from None

    def _line(self, value: Json) -> None:
        self.wfile.write(json.dumps(value).encode() + b"\n")
        self.wfile.flush()

    def _send(self, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            return  # the client gave up waiting

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the tests read `requests`."""


def _openai_request(model: str, body: Json, *, chat: bool) -> Json:
    if chat:
        messages = [_message(message) for message in body.get("messages", [])]
    else:
        messages = [{"role": "user", "content": body.get("prompt", "")}]
        if body.get("system"):
            messages.insert(0, {"role": "system", "content": body["system"]})
    asked: Json = {"model": model, "messages": messages}
    options = body.get("options") or {}
    asked |= {ours: options[theirs] for theirs, ours in _OPTIONS.items() if theirs in options}
    form = body.get("format")
    if isinstance(form, dict):
        schema = {"name": "reply", "schema": form, "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form == "json":
        asked["response_format"] = {"type": "json_object"}
    return asked


def _message(message: Json) -> Json:
    if not message.get("images"):
        return {"role": message["role"], "content": message.get("content", "")}
    pictures = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        for data in message["images"]
    ]
    text = {"type": "text", "text": message.get("content", "")}
    return {"role": message["role"], "content": [text, *pictures]}


def _events(response: Any) -> Iterator[Json]:
    """The objects of a stream of server-sent events."""
    for line in response:
        data = line.decode().strip().removeprefix("data:").strip()
        if data and data != "[DONE]":
            yield json.loads(data)


def _piece(name: str, text: str, *, chat: bool) -> Json:
    content = {"message": {"role": "assistant", "content": text}} if chat else {"response": text}
    return {"model": name, "created_at": datetime.now(UTC).isoformat(), **content}


def _ending(reason: str | None, usage: Json, nanoseconds: int) -> Json:
    return {
        "done": True,
        "done_reason": reason or "stop",
        "total_duration": nanoseconds,
        "prompt_eval_count": usage.get("prompt_tokens", 0),
        "eval_count": usage.get("completion_tokens", 0),
    }


def _described(name: str) -> Json:
    details = {"format": "gguf", "family": "", "parameter_size": "", "quantization_level": ""}
    return {"name": name, "model": name, "size": 0, "digest": "", "details": details}


def _loaded(name: str, digest: str) -> Json:
    described = _described(name)
    details = {**described["details"], "quantization_level": "Q4_K_M"}
    return {**described, "digest": digest, "details": details, "size_vram": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description="Ollama's API in front of an OpenAI-like server.")
    parser.add_argument("--backend", required=True, help="base URL, e.g. http://127.0.0.1:8080/v1")
    parser.add_argument("--model", action="append", required=True, metavar="NAME=SERVED")
    parser.add_argument("--port", type=int, default=11434)
    args = parser.parse_args()
    models = dict(pair.split("=", 1) for pair in args.model)
    key = os.environ.get("BACKEND_API_KEY", "none")
    server = OllamaServer(args.backend, models=models, api_key=key, port=args.port)
    print(f"listening on {server.origin}")
    threading.Event().wait()


if __name__ == "__main__":
    main()
