"""Whole-call time limits, and calls that are not made because they would fail like the last."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from slow_server import SlowServer

from pytest_autoweb.base.errors import ModelCause, ModelError
from pytest_autoweb.models.circuit_breaker import CircuitBreaker
from pytest_autoweb.models.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.time_limit import CallOverdue, within

LIMIT_S = 0.6
REFUSED = "openai/refused-key"


def test_a_call_is_given_up_when_its_time_is_over_whatever_it_is_doing() -> None:
    steps: list[float] = []

    def trickle() -> None:
        for _ in range(200):
            time.sleep(0.02)
            steps.append(time.monotonic())

    began = time.monotonic()
    with pytest.raises(CallOverdue):
        within(0.3, trickle)
    assert time.monotonic() - began < 1
    time.sleep(0.2)
    seen = len(steps)
    time.sleep(0.2)
    assert len(steps) == seen, "the thread of the call goes on"


def test_a_call_in_time_gives_its_result_or_its_error() -> None:
    assert within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 / 0)


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[GatewayClient, OpenAIServer]]:
    folder = tmp_path_factory.mktemp("limits")
    script = {"refused-key": [Answer(status=401, error="Incorrect API key")]}
    with SlowServer() as slow, OpenAIServer(by_model=script) as quick:
        limits: dict[str, Any] = {"timeout": LIMIT_S}
        models = [
            ModelSpec(name=f"openai/{kind}", api_base=f"{slow.origin}/{kind}", **limits)
            for kind in SlowServer.KINDS
        ]
        models.append(ModelSpec(name=REFUSED, api_base=quick.api_base))
        address = start_gateway(
            {spec.name: spec for spec in models},
            record_mode="off",
            cassettes=folder / "cassettes",
            run_dir=folder,
            backoff_s=0.01,
        )
        yield GatewayClient(address), quick
        stop_gateway(address)
    assert "Traceback" not in (folder / "gateway.log").read_text(), "a call was given up noisily"


def failure(client: GatewayClient, model: str) -> ModelError:
    request = Request(model=model, messages=(Message(role="user", content="hi"),), stage="generate")
    with pytest.raises(ModelError) as caught:
        client.complete(request)
    return caught.value


@pytest.mark.parametrize("kind", SlowServer.KINDS)
def test_a_server_that_never_ends_its_reply_holds_no_call_longer_than_its_limit(
    servers: tuple[GatewayClient, OpenAIServer], kind: str
) -> None:
    client, _ = servers
    failure(client, REFUSED)  # loads litellm, which takes a while
    began = time.monotonic()

    error = failure(client, f"openai/{kind}")

    assert time.monotonic() - began < 3 * LIMIT_S + 3
    assert error.cause == "timeout"
    assert "a call may take 0.6 s until the last byte" in error.detail
    assert "(after 3 tries)" in error.detail


def test_a_refused_key_is_not_asked_again_and_the_first_call_said_why(
    servers: tuple[GatewayClient, OpenAIServer],
) -> None:
    client, server = servers
    failure(client, REFUSED)
    before = len(server.requests)

    again = failure(client, REFUSED)

    assert len(server.requests) == before == 1
    assert (again.cause, again.usage and again.usage.calls) == ("auth", None)
    assert "not called: the service refused the key" in again.detail


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("cause", ["timeout", "unavailable"])
def test_a_service_that_is_down_is_left_alone_for_a_minute_and_then_tried_again(
    cause: ModelCause,
) -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(2):
        breaker.note("m", cause)
        breaker.check("m")
    breaker.note("m", cause)

    with pytest.raises(ModelError, match="the last 3 calls failed") as caught:
        breaker.check("m")
    breaker.check("another")
    assert caught.value.cause == cause
    clock.now = 61.0
    breaker.check("m")
    breaker.note("m", cause)
    with pytest.raises(ModelError, match="the last 4 calls failed"):
        breaker.check("m")
    clock.now = 122.0
    breaker.note("m", None)
    breaker.note("m", cause)
    breaker.check("m")


@pytest.mark.parametrize("between", [None, "refusal", "parse"])
def test_an_answer_of_any_kind_shows_that_the_service_is_up(between: ModelCause | None) -> None:
    breaker = CircuitBreaker()
    for cause in ("timeout", "timeout", between, "timeout", "timeout"):
        breaker.note("m", cause)

    breaker.check("m")


def test_failures_of_different_causes_are_counted_apart() -> None:
    breaker = CircuitBreaker()
    for cause in ("timeout", "unavailable", "timeout", "unavailable"):
        breaker.note("m", cause)

    breaker.check("m")


def test_threads_of_calls_that_were_given_up_are_gone() -> None:
    time.sleep(0.1)

    assert [t.name for t in threading.enumerate() if t.name == "model-call"] == []
