"""The endpoint's Messages API, as Anthropic's own client for Python uses it."""

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from endpoint_model import CALLS, PARAMETERS, PICTURE, PICTURE_DATA, ToldClient, both, served

from pytest_autoweb.base.errors import ModelError

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

pytestmark = pytest.mark.long

SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE_DATA}
SHOWN = {"type": "image", "source": SOURCE}
TOOL: Any = {"name": "click", "description": "Click it.", "input_schema": PARAMETERS}
# The same, as the chat API has it.
CHAT_PICTURE = {"type": "image_url", "image_url": {"url": PICTURE}}
CHAT_QUESTION = {
    "role": "user",
    "content": [{"type": "text", "text": "look at <secret:password>"}, CHAT_PICTURE],
}


@pytest.fixture
def model() -> ToldClient:
    return ToldClient()


@pytest.fixture
def client(model: ToldClient) -> "Iterator[Anthropic]":
    # Its hundreds of types take a second to import.
    anthropic = importlib.import_module("anthropic")
    with (
        served(model, most=6) as endpoint,
        anthropic.Anthropic(base_url=endpoint.root_url, api_key=endpoint.token) as client,
    ):
        yield client


def asked(client: "Anthropic", messages: list[Any], **more: Any) -> "Message":
    message: Message = client.messages.create(
        model="whatever", max_tokens=50, messages=messages, **more
    )
    return message


QUESTION: Any = {"role": "user", "content": [{"type": "text", "text": "look at hunter2"}, SHOWN]}


def test_a_message_is_asked_for_with_pictures_and_tools(
    client: "Anthropic", model: ToldClient
) -> None:
    model.says(both("so be it", CALLS))

    first = asked(
        client,
        [QUESTION],
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        tools=[TOOL],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        stop_sequences=["END"],
        thinking={"type": "disabled"},
    )

    assert [block.type for block in first.content] == ["text", "tool_use", "tool_use"]
    assert [b.input for b in first.content if b.type == "tool_use"] == [{"n": 1}, {"n": 2}]
    assert (first.stop_reason, first.model, first.role) == ("tool_use", "fake/m", "assistant")
    # Tokens read from the service's cache are not among the input tokens.
    usage = first.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (6, 3, 4)
    assert usage.cache_creation_input_tokens == 0
    function = {"name": "click", "description": "Click it.", "parameters": PARAMETERS}
    assert model.chat == {
        "messages": [{"role": "system", "content": "Be brief."}, CHAT_QUESTION],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    sent = model.requests[0]
    assert (sent.max_tokens, sent.stop, sent.messages[1].images) == (50, ("END",), (PICTURE,))


def test_results_are_sent_back_one_failed_and_one_a_picture(
    client: "Anthropic", model: ToldClient
) -> None:
    model.says(both("so be it", CALLS))
    model.says("it says hunter2")
    first = asked(client, [QUESTION], tools=[TOOL])
    # The client sends back what it got.
    thought: Any = {"type": "thinking", "thinking": "hm", "signature": "s"}
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no such button"},
        {"type": "tool_result", "tool_use_id": "c2", "content": [SHOWN]},
        {"type": "text", "text": "Go on."},
    ]
    second = asked(
        client,
        [
            QUESTION,
            {"role": "assistant", "content": [thought, *first.content]},
            {"role": "user", "content": results},
        ],
        tools=[TOOL],
        tool_choice={"type": "tool", "name": "click"},
    )

    assert [block.text for block in second.content if block.type == "text"] == ["it says hunter2"]
    assert second.stop_reason == "end_turn"
    assert model.chat["messages"] == [
        CHAT_QUESTION,
        {"role": "assistant", "content": "so be it", "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "c1", "content": "The tool failed:\nno such button"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "user", "content": [CHAT_PICTURE]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]
    assert model.chat["tool_choice"] == {"type": "function", "function": {"name": "click"}}


def test_the_systems_texts_before_the_first_reply_come_first(
    client: "Anthropic", model: ToldClient
) -> None:
    model.says("fine")
    told: Any = {"role": "system", "content": [{"type": "text", "text": "Today is Friday."}]}
    say = [{"role": "user", "content": "hello"}, told]

    asked(client, [*say, {"role": "assistant", "content": "hi"}, told], system="Be brief.")

    assert [(each["role"], each["content"]) for each in model.chat["messages"]] == [
        ("system", "Be brief.\n\nToday is Friday."),
        ("user", "hello"),
        ("assistant", "hi"),
        ("system", "Today is Friday."),
    ]


def test_a_stream_has_the_events_of_the_service(client: "Anthropic", model: ToldClient) -> None:
    model.says(both("so be it", CALLS[:1]))
    model.says("to be cont", "length")
    say: list[Any] = [{"role": "user", "content": "hello"}]

    with client.messages.stream(model="m", max_tokens=9, messages=say, tools=[TOOL]) as stream:
        kinds = [event.type for event in stream if event.type not in ("text", "input_json")]
        message = stream.get_final_message()
    raw = list(client.messages.create(model="m", max_tokens=9, messages=say, stream=True))

    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", *block * 2, "message_delta", "message_stop"]
    said, called = message.content
    assert said.type == "text"
    assert called.type == "tool_use"
    assert (said.text, called.id, called.input) == ("so be it", "c1", {"n": 1})
    assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 4)
    assert message.usage.cache_read_input_tokens == 3
    start, ending = raw[0], raw[-2]
    assert start.type == "message_start"
    assert (start.message.content, start.message.stop_reason) == ([], None)
    assert ending.type == "message_delta"
    assert ending.delta.stop_reason == "max_tokens"


def test_tokens_are_estimated_without_a_call(client: "Anthropic", model: ToldClient) -> None:
    say: list[Any] = [{"role": "user", "content": "word " * 100}]

    few = client.messages.count_tokens(model="m", messages=say).input_tokens
    more = client.messages.count_tokens(model="m", messages=[*say, QUESTION], tools=[TOOL])

    assert 120 < few < 160
    assert more.input_tokens > few + 1_000
    assert model.requests == []


def test_the_model_is_listed(client: "Anthropic") -> None:
    assert [model.id for model in client.models.list()] == ["fake/m"]
    assert client.models.retrieve("fake/m").display_name == "fake/m"


def test_a_reply_can_have_a_schema(client: "Anthropic", model: ToldClient) -> None:
    model.says('{"n": 1}')
    form = {"type": "json_schema", "schema": PARAMETERS}

    asked(client, [{"role": "user", "content": "count"}], output_config={"format": form})

    schema = {"name": "reply", "schema": PARAMETERS}
    assert model.chat["response_format"] == {"type": "json_schema", "json_schema": schema}


def test_errors_are_in_the_form_of_the_service(client: "Anthropic", model: ToldClient) -> None:
    anthropic = importlib.import_module("anthropic")
    say: list[Any] = [{"role": "user", "content": "hello"}]
    model.answers += [
        ModelError("rate_limit", "fake/m", "slow down"),
        ModelError("budget", "fake/m", "too dear"),
        ModelError("timeout", "fake/m", "too late"),
    ]

    for error, kind in (
        (anthropic.RateLimitError, "rate_limit_error"),
        (anthropic.APIStatusError, "billing_error"),
        (anthropic.APIStatusError, "timeout_error"),
    ):
        with pytest.raises(error) as raised:
            asked(client, say)
        assert raised.value.body["error"]["type"] == kind
        assert raised.value.body["type"] == "error"
    # None of them was tried again.
    assert len(model.requests) == 3
    with pytest.raises(anthropic.AuthenticationError, match="one attempt of one cell"):
        asked(client.with_options(api_key="of-another-cell"), say)
    model.answers += [ModelError("rate_limit", "fake/m", "slow down")] * 3
    for _ in range(3):
        with pytest.raises(anthropic.RateLimitError, match="slow down"):
            asked(client, say)
    with pytest.raises(anthropic.RateLimitError, match="used up its calls"):
        asked(client, say)


@pytest.mark.parametrize(
    ("messages", "more", "words"),
    [
        ([{"role": "robot", "content": "x"}], {}, "user or assistant"),
        ([], {}, "messages are missing"),
        ([{"role": "user", "content": [{"type": "search_result"}]}], {}, "'search_result'"),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}],
            {},
            "'image' from 'url'",
        ),
        (
            [{"role": "user", "content": "x"}],
            {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
            "Anthropic's own",
        ),
        ([{"role": "user", "content": "x"}], {"tools": [{"name": "click"}]}, "'input_schema'"),
        ([{"role": "user", "content": "x"}], {"system": [SHOWN]}, "only texts"),
        ([{"role": "user", "content": "x"}], {"tool_choice": {"type": "some"}}, "'some'"),
    ],
)
def test_what_only_the_service_can_do_is_refused(
    client: "Anthropic", model: ToldClient, messages: list[Any], more: Any, words: str
) -> None:
    anthropic = importlib.import_module("anthropic")

    with pytest.raises(anthropic.BadRequestError, match=words) as raised:
        asked(client, messages, **more)

    assert raised.value.body["error"]["type"] == "invalid_request_error"
    assert model.requests == []
