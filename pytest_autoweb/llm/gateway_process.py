"""The gateway process: `python -m pytest_autoweb.llm.gateway_process`.

It holds litellm, the providers' keys, the cassettes and the embedded engines, and serves all
test processes of a session over loopback HTTP with a bearer token. It ends with its owner.
"""

import hmac
import os
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import BaseModel, ValidationError

from pytest_autoweb.errors import CassetteMiss, ModelError
from pytest_autoweb.llm.client import Request
from pytest_autoweb.llm.gateway_service import GatewayService
from pytest_autoweb.llm.keys import drop_empty_secrets
from pytest_autoweb.llm.owned_process import answer_owner, die_with_owner, read_config
from pytest_autoweb.llm.wire import (
    LARGEST_BODY,
    Acknowledgement,
    CallFailed,
    CheckReply,
    CheckRequest,
    NewModels,
    Prices,
    StartConfig,
    Started,
    read_specs,
)

_BODY_TIMEOUT_S = 60.0
_EXIT_DELAY_S = 0.1


class _Gateway(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: GatewayService, token: str) -> None:
        self.service, self.token = service, token
        super().__init__(("127.0.0.1", 0), _Handler)

    def end(self) -> None:
        """Stop the engines now and this process once the answer has been sent."""
        self.service.stop()
        threading.Timer(_EXIT_DELAY_S, os._exit, args=(0,)).start()


class _Refused(Exception):
    """Raised when the HTTP request itself is invalid."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason


class _Handler(BaseHTTPRequestHandler):
    server: _Gateway
    server_version = "autoweb"
    sys_version = ""
    timeout = _BODY_TIMEOUT_S

    def do_POST(self) -> None:
        try:
            status, answer = self._route(self._body())
        except _Refused as error:
            self.send_error(error.status, error.reason)
        except Exception:  # one broken request must not end the session's gateway
            traceback.print_exc(file=sys.stderr)
            self.send_error(500, "internal error, see gateway.log")
        else:
            self._send(status, answer)

    def _body(self) -> bytes:
        given = self.headers.get("Authorization", "").encode("utf-8", "replace")
        # Compared in constant time, so that the answer's delay reveals nothing about the token.
        if not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            raise _Refused(401, "wrong token")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            raise _Refused(411, "length required")
        if int(length) > LARGEST_BODY:
            raise _Refused(413, "request too large")
        return self.rfile.read(int(length))

    def _route(self, body: bytes) -> tuple[int, BaseModel]:
        service = self.server.service
        try:
            if self.path == "/complete":
                return self._complete(Request.model_validate_json(body))
            if self.path == "/check":
                asked = CheckRequest.model_validate_json(body)
                checks = service.check(asked.models, asked.case_ids)
                return 200, CheckReply(checks=tuple(checks))
            if self.path == "/prices":
                names = CheckRequest.model_validate_json(body).models
                return 200, Prices(prices=service.prices(names))
            if self.path == "/models":
                service.add(read_specs(NewModels.model_validate_json(body).specs))
                return 200, Acknowledgement()
        except ModelError as error:
            return 422, CallFailed(cause=error.cause, detail=error.detail)
        except ValidationError:
            raise _Refused(400, "the body does not fit this path") from None
        if self.path == "/stats":
            return 200, service.stats()
        if self.path == "/stop":
            self.server.end()
            return 200, Acknowledgement()
        raise _Refused(404, "no such path")

    def _complete(self, request: Request) -> tuple[int, BaseModel]:
        try:
            return 200, self.server.service.complete(request)
        except ModelError as error:
            miss = isinstance(error, CassetteMiss)
            return 422, CallFailed(
                cause=error.cause, detail=error.detail, miss=miss, usage=error.usage
            )

    def _send(self, status: int, answer: BaseModel) -> None:
        data = answer.model_dump_json().encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            return  # the test process is gone; the reply has been recorded and counted

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: each cell records its own exchanges with models."""


def main() -> None:
    """Serve until the owner is gone."""
    config = StartConfig.model_validate(read_config())
    # CI sets secrets to empty strings for forks; litellm would take those for keys.
    drop_empty_secrets(os.environ)
    service = GatewayService(config)
    gateway = _Gateway(service, config.token)
    die_with_owner(config.owner_pid, service.stop, with_starter=not config.lasting)
    answer_owner(Started(port=gateway.server_port).model_dump())
    gateway.serve_forever()


if __name__ == "__main__":
    main()
