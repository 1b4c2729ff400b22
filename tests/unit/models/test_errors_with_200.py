"""An error that a service sends with status 200 keeps its words, whichever provider is asked."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest

ERRORS: dict[str, Any] = {
    "anthropic/claude-x": {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "the whale is busy"},
    },
    "gemini/gemini-x": {"error": {"code": 429, "message": "the whale is exhausted"}},
    "mistral/mistral-x": {"error": {"code": "rate_limit", "message": "the whale is busy"}},
    "ollama_chat/qwen": {"error": "the whale has too many requests"},
    "openai/hosted": {"error": {"code": 429, "message": "the whale is tired"}},
}


# litellm changes the process that imports it, so the errors are asked for in another.
ASK = """
import json
import sys
from pytest_autoweb.models.litellm_client import _import_litellm
from pytest_autoweb.models.call_failures import cause_of
said = {}
for model, address in json.loads(sys.argv[1]).items():
    try:
        _import_litellm().completion(
            model=model, api_base=address, api_key="k", max_tokens=10, num_retries=0,
            max_retries=0, messages=[{"role": "user", "content": "hi"}],
        )
    except Exception as error:
        said[model] = [str(cause_of(error)), str(error)]
print(json.dumps(said))
"""


@pytest.fixture
def addresses() -> Iterator[dict[str, str]]:
    """A service for each model, which answers with the model's error."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            port = int(self.server.server_address[1])  # type: ignore[index]
            body = json.dumps(ERRORS[models[port]]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    servers = {model: ThreadingHTTPServer(("127.0.0.1", 0), Handler) for model in ERRORS}
    models = {server.server_address[1]: model for model, server in servers.items()}
    for server in servers.values():
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield {model: f"http://127.0.0.1:{server.server_port}" for model, server in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
@pytest.mark.long
def test_an_error_with_status_200_keeps_its_words(addresses: dict[str, str]) -> None:
    asked = [sys.executable, "-c", ASK, json.dumps(addresses)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    said: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])

    assert {model: "the whale" in words for model, (_, words) in said.items()} == dict.fromkeys(
        ERRORS, True
    )
    # Some versions of litellm keep the words and lose the status.
    assert {cause for cause, _ in said.values()} <= {"rate_limit", "unavailable"}
