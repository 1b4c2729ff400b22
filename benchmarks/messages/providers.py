"""What a cell is told when a model service refuses, fails or falls silent.

The service is a local HTTP server that answers with a status and an error object in the form of
OpenAI's API; the text that counts is the one the gateway makes of it.
"""

import json
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from provoked import Provoked

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.llm.model_spec import ModelSpec

REFUSALS = {
    "temperature": (400, "Invalid value for 'temperature'", "PARAMETER_ERROR"),
    "context": (400, "This model's maximum context length is 8192 tokens", "PARAMETER_ERROR"),
    "key": (401, "Incorrect API key provided", "PERMISSION_ERROR"),
    "access": (403, "You do not have access to this model", "PERMISSION_ERROR"),
    "model": (404, "The model 'gpt-9' does not exist", "DATA_NOT_FOUND"),
    "rate": (429, "Rate limit reached for requests", "SERVICE_UNAVAILABLE"),
    "broken": (500, "The server had an error while processing", "SERVICE_UNAVAILABLE"),
    "overloaded": (503, "The engine is currently overloaded", "SERVICE_UNAVAILABLE"),
    "gateway": (502, "Bad gateway", "SERVICE_UNAVAILABLE"),
    "slow": (504, "upstream timed out", "SERVICE_UNAVAILABLE"),
    "large": (413, "Request too large", "PARAMETER_ERROR"),
    "form": (422, "messages: field required", "VALIDATION_ERROR"),
    "hang": (0, "", "SERVICE_UNAVAILABLE"),
    "notjson": (200, "<html>", "SERVICE_UNAVAILABLE"),
    "empty": (200, "", "SERVICE_UNAVAILABLE"),
}


class _Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, text, _ = REFUSALS[asked["model"]]
        if not status:
            threading.Event().wait(3)
            return
        body = json.dumps({"error": {"message": text, "code": asked["model"]}})
        if status == 200:
            body = text or json.dumps({"choices": [{"message": {"content": ""}}]})
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def provider_errors() -> Iterator[Provoked]:
    """Yield one call to each kind of failing service, through the real gateway."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/v1"
    models = {f"openai/{name}": label for name, (_, _, label) in REFUSALS.items()}
    specs = {
        name: ModelSpec(name=name, api_base=base, timeout=1.5, api_key_env="PROVOKED_KEY")
        for name in models
    }
    specs["openai/off"] = ModelSpec(
        name="openai/off", api_base="http://127.0.0.1:9/v1", api_key_env="PROVOKED_KEY"
    )
    models["openai/off"] = "SERVICE_UNAVAILABLE"
    with tempfile.TemporaryDirectory() as folder:
        address = start_gateway(
            specs, record_mode="off", cassettes=Path(folder), run_dir=Path(folder),
            live=list(specs), backoff_s=0.01,
        )  # fmt: skip
        client = GatewayClient(address)
        for name, label in models.items():
            question = Request(
                model=name, messages=(Message(role="user", content="hello"),), stage="plan"
            )
            try:
                client.complete(question)
            except ModelError as error:
                text = f"plan: {error.cause}: {error.detail}"
                yield Provoked("ModelError", text, None, label, "llm_error", f"gateway: {name}")
        stop_gateway(address)
    server.shutdown()
