"""A reply that comes in pieces is the reply that would have come at once."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_server import Answer, OpenAIServer

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.agent_chat import ChatBody, as_message
from pytest_autoweb.models.gateway import GatewayAddress, GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.openai_api import whole_reply

TEXT = "Step 1\npage.get_by_text('注册 ✓').click()\n"
CALL = {"id": "a", "type": "function", "function": {"name": "click", "arguments": '{"x": 1}'}}
ANSWERS = {
    "plain": Answer(TEXT),
    "slow": Answer("abc", pause=0.2),
    "endless": Answer("abc" * 100, pause=0.2),
    "refused": Answer(None, message={"refusal": "I will not"}),
    "cut": Answer(TEXT, finish_reason="length", served="cut-2025-01-01", fingerprint="fp_7"),
    "calls": Answer(None, message={"tool_calls": [CALL]}, finish_reason="tool_calls"),
    "limited": Answer(status=429, error="slow down"),
    "error-200": Answer(raw=json.dumps({"error": {"code": 429, "message": "slow down"}})),
}
SETTINGS: dict[str, dict[str, Any]] = {"endless": {"timeout": 1}}


class Gateway:
    """A gateway whose models stream, and the server behind it."""

    def __init__(self, client: GatewayClient, server: OpenAIServer) -> None:
        self._client, self.server = client, server

    def reply(self, model: str, **changes: Any) -> Reply:
        """Ask a model."""
        values: dict[str, Any] = {"messages": (Message(role="user", content="hi"),)}
        values |= {"model": model, "stage": "generate", "case_id": "login", **changes}
        return self._client.complete(Request(**values))

    def failure(self, model: str) -> ModelError:
        """Ask a model in vain."""
        with pytest.raises(ModelError) as caught:
            self.reply(model)
        return caught.value


# To import litellm takes seconds.
@pytest.fixture(
    scope="module",
    params=[pytest.param("custom_openai", marks=pytest.mark.long), "openai"],
    ids=["litellm", "without"],
)
def gateway(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    scripts = {name: [answer] for name, answer in ANSWERS.items()}
    scripts["broken"] = [Answer(TEXT, breaks_off=True), Answer(TEXT)]
    folder = tmp_path_factory.mktemp("streams")
    with OpenAIServer(by_model=scripts) as server:
        base: dict[str, Any] = {"api_base": server.api_base, "stream": True}
        specs = {
            name: ModelSpec(
                name=name, model=f"{request.param}/{name}", **base | SETTINGS.get(name, {})
            )
            for name in scripts
        }
        address = start_gateway(
            specs, record_mode="off", cassettes=folder, run_dir=folder / "run", backoff_s=0.01
        )
        yield Gateway(GatewayClient(GatewayAddress.parse(str(address))), server)
        stop_gateway(address)


@pytest.mark.long
def test_the_reply_has_all_that_it_has_without_streaming(gateway: Gateway) -> None:
    reply = gateway.reply("plain")

    assert (reply.text, reply.finish_reason) == (TEXT, "stop")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)
    assert reply.model_served == "plain-served"
    assert gateway.server.requests_of("plain")[-1].body["stream"] is True


def test_a_reply_that_was_cut_off_by_its_limit_says_so(gateway: Gateway) -> None:
    reply = gateway.reply("cut")

    assert reply.finish_reason == "length"
    # Which model answered is told in the pieces, too.
    assert (reply.model_served, reply.fingerprint) == ("cut-2025-01-01", "fp_7")


def test_calls_of_tools_are_put_together(gateway: Gateway) -> None:
    offered = {"type": "function", "function": {"name": "click", "parameters": {}}}
    chat = ChatBody(messages=({"role": "user", "content": "hi"},), tools=(offered,))

    reply = gateway.reply("calls", stage="agent", chat=chat)

    (call,) = as_message(reply.text)["tool_calls"]
    assert call["function"] == CALL["function"]


def test_refusals_and_errors_keep_their_causes(gateway: Gateway) -> None:
    causes = {name: gateway.failure(name).cause for name in ("refused", "limited", "error-200")}

    assert causes == {"refused": "refusal", "limited": "rate_limit", "error-200": "rate_limit"}


def test_a_stream_that_breaks_off_is_asked_for_again(gateway: Gateway) -> None:
    assert gateway.reply("broken").text == TEXT
    assert len(gateway.server.requests_of("broken")) == 2


def test_pieces_do_not_prolong_the_limit_of_a_call(gateway: Gateway) -> None:
    assert gateway.reply("slow").text == "abc"
    assert gateway.failure("endless").cause == "timeout"


def stream(deltas: list[dict[str, Any]], newline: str = "\n", end: bool = True) -> str:
    """Write the events of a stream."""
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    events = [{"choices": [{"delta": delta}]} for delta in deltas] + [last] * end
    lines = [line for event in events for line in (f"data: {json.dumps(event)}", "")]
    return newline.join([*lines, ""])


@given(st.lists(st.text()), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_text_in_any_pieces_comes_whole(pieces: list[str], newline: str) -> None:
    found = whole_reply(stream([{"content": piece} for piece in pieces], newline))

    assert (found["choices"][0]["message"]["content"] or "") == "".join(pieces)


@given(st.text())
def test_a_body_that_is_no_stream_is_an_error_and_never_a_reply(body: str) -> None:
    with suppress(ValueError):
        assert list(whole_reply(body)) == ["error"]


def test_an_event_may_have_several_lines_and_no_space() -> None:
    body = 'data:{"choices": [{"delta":\ndata: {"content": "hi"}, "finish_reason": "stop"}]}\n\n'

    assert whole_reply(body)["choices"][0]["message"]["content"] == "hi"


def test_what_comes_after_the_end_does_not_count() -> None:
    body = stream([{"content": "hi"}]) + "data: [DONE]\n\n" + stream([{"content": " there"}])

    assert whole_reply(body)["choices"][0]["message"]["content"] == "hi"


NAMES = st.sampled_from(
    ["choices", "delta", "content", "tool_calls", "function", "index", "finish_reason", "error"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.just("choices"), st.lists(JSON)) | JSON))
def test_events_of_any_other_form_are_errors_and_no_crash(events: list[Any]) -> None:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)

    with suppress(ValueError):
        assert whole_reply(body).keys() & {"error", "choices"}


def test_other_providers_are_refused_when_they_are_to_stream() -> None:
    with pytest.raises(ValueError, match=r"OpenAI's API.*not for 'anthropic"):
        ModelSpec(name="anthropic/claude-x", stream=True)
