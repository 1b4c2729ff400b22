"""What a service's limits of its rate do to calls that are made at the same time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.litellm_client import LiteLLMClient
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import Endpoint, ModelSpec
from pytest_autoweb.models.spending import CostBudget, Ledger, TokenBound


def test_calls_in_flight_wait_together_and_come_back_one_by_one(
    service: Services, call: Callable[..., Reply]
) -> None:
    strict = service(closed_s=0.5, at_once=4)

    with ThreadPoolExecutor(24) as threads:
        replies = list(threads.map(lambda _: call(strict.endpoint), range(24)))

    assert [reply.text for reply in replies] == ["ok"] * 24
    assert len(strict.taken) == 24
    # Each of them once while they do not know, then few: the number at once grows by one a reply.
    assert len(strict.refused) <= 24 + 12
    opened = strict.taken[0]
    assert sum(opened < when < opened + 0.05 for when in strict.taken + strict.refused) == 0


def test_a_service_with_no_tokens_left_is_not_asked_before_it_has_some(
    service: Services, call: Callable[..., Reply]
) -> None:
    left = {"x-ratelimit-remaining-tokens": "999", "x-ratelimit-reset-tokens": "0s300ms"}
    strict = service(headers={**left, "x-ratelimit-remaining-requests": "7"})

    call(strict.endpoint)
    strict.headers = {"x-ratelimit-remaining-tokens": "1000", "x-ratelimit-reset-tokens": "9s"}
    for _ in range(2):
        call(strict.endpoint)

    first, second, third = strict.taken
    assert second - first >= 0.3
    assert third - second < 5
    assert strict.refused == []


def test_nobody_waits_longer_than_the_timeout_of_the_model(
    service: Services, call: Callable[..., Reply]
) -> None:
    strict = service(closed_s=30.0)

    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        call(strict.endpoint, timeout=0.4)

    assert time.monotonic() - began < 10
    assert caught.value.cause == "rate_limit"
    assert "one waits 0.4 s at most" in caught.value.detail
    assert len(strict.refused) == 1


REPLY = {
    "model": "m",
    "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1_000},
}


class StrictService:
    """A service with OpenAI's API that takes few calls at once, and none for a while at first."""

    def __init__(self, *, closed_s: float, at_once: int, headers: dict[str, str]) -> None:
        self.refused: list[float] = []
        self.taken: list[float] = []
        self.headers, self._at_once = headers, at_once
        self._lock, self._busy = threading.Lock(), 0
        self._opens = time.monotonic() + closed_s
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, wait_s = service.take()
                body = json.dumps(REPLY if status == 200 else {"error": {"message": "slow down"}})
                self.send_response(status)
                given = service.headers if status == 200 else {"Retry-After": f"{wait_s:.3f}"}
                for name, value in {"Content-Length": str(len(body)), **given}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

        self._http = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.endpoint = Endpoint("openai/m", f"http://127.0.0.1:{self._http.server_port}/v1")

    def take(self) -> tuple[int, float]:
        """Decide on a call; one that is taken is worked on for a moment."""
        with self._lock:
            now = time.monotonic()
            full = self._busy >= self._at_once
            if now < self._opens or full:
                self.refused.append(now)
                return 429, max(self._opens - now, 0.1)
            self._busy += 1
            self.taken.append(now)
        time.sleep(0.05)
        with self._lock:
            self._busy -= 1
        return 200, 0.0

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


Services = Callable[..., StrictService]


@pytest.fixture
def service() -> Iterator[Services]:
    made: list[StrictService] = []

    def make(
        closed_s: float = 0.0, at_once: int = 99, headers: dict[str, str] | None = None
    ) -> StrictService:
        made.append(StrictService(closed_s=closed_s, at_once=at_once, headers=headers or {}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Reply]:
    client, budget = LiteLLMClient(backoff_s=0.01), CostBudget(ledger=Ledger(tmp_path))
    request = Request(
        model="openai/m", messages=(Message(role="user", content="hi"),), stage="generate"
    )

    def call(endpoint: Endpoint, timeout: float = 20.0) -> Reply:
        spec = ModelSpec(name="openai/m", api_base=endpoint.api_base, timeout=timeout)
        most = TokenBound(input_tokens=1, output_tokens=1)
        return client.complete(
            spec, request, endpoint, lambda: budget.reserve(spec.name, None, most)
        )

    return call
