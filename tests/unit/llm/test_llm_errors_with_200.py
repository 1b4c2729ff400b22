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


# litellm changes the process that imports it, so each error is asked for in one of its own.
ASK = """
import sys
from pytest_autoweb.llm.litellm_client import _import_litellm, cause_of
try:
    _import_litellm().completion(
        model=sys.argv[1], api_base=sys.argv[2], api_key="k", max_tokens=10, num_retries=0,
        max_retries=0, messages=[{"role": "user", "content": "hi"}],
    )
except Exception as error:
    print(cause_of(error), error)
"""


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(self.server.body).encode()  # type: ignore[attr-defined]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
@pytest.mark.parametrize("model", ERRORS)
def test_an_error_with_status_200_keeps_its_words(service: ThreadingHTTPServer, model: str) -> None:
    service.body = ERRORS[model]  # type: ignore[attr-defined]
    address = f"http://127.0.0.1:{service.server_port}"

    asked = [sys.executable, "-c", ASK, model, address]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120).stdout

    assert "the whale" in said
    # Some versions of litellm keep the words and lose the status.
    assert said.split()[0] in {"rate_limit", "unavailable"}
