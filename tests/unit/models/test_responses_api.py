"""The endpoint's two APIs, as OpenAI's own client for Python uses them."""

from collections.abc import Iterator
from typing import Any

import pytest
from endpoint_model import CALLS, PARAMETERS, PICTURE, USAGE, ToldClient, both, served
from openai import BadRequestError, NotFoundError, OpenAI, RateLimitError
from openai.types.responses import Response

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Reply

TOOL: dict[str, Any] = {
    "type": "function",
    "name": "click",
    "description": "Click it.",
    "parameters": PARAMETERS,
    "strict": False,
}
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


@pytest.fixture
def model() -> ToldClient:
    return ToldClient()


@pytest.fixture
def client(model: ToldClient) -> Iterator[OpenAI]:
    with (
        served(model) as endpoint,
        OpenAI(base_url=endpoint.base_url, api_key=endpoint.token) as client,
    ):
        yield client


SHOWN: Any = {"type": "input_image", "image_url": PICTURE, "detail": "low"}
QUESTION: Any = {
    "role": "user",
    "content": [{"type": "input_text", "text": "look at hunter2"}, SHOWN],
}
# The same, as the chat API has it.
CHAT_PICTURE = {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}
CHAT_QUESTION = {
    "role": "user",
    "content": [{"type": "text", "text": "look at <secret:password>"}, CHAT_PICTURE],
}
CHAT_ANSWER = {"role": "assistant", "content": "so be it", "tool_calls": CALLS}


def begun(client: OpenAI) -> Response:
    """The response to a question with a picture and a tool."""
    tool: Any = TOOL
    return client.responses.create(
        model="whatever",
        instructions="Be brief.",
        input=[QUESTION],
        tools=[tool],
        tool_choice={"type": "function", "name": "click"},
        parallel_tool_calls=False,
        max_output_tokens=50,
    )


@pytest.mark.long
def test_a_response_is_asked_for_with_pictures_and_tools(client: OpenAI, model: ToldClient) -> None:
    model.answers.append(Reply(text=both("so be it", CALLS), usage=USAGE))

    first = begun(client)

    said, *called = first.output
    assert (first.output_text, first.status, said.type) == ("so be it", "completed", "message")
    assert [(c.call_id, c.name, c.arguments) for c in called if c.type == "function_call"] == [
        *(("c1", "click", '{"n": 1}'), ("c2", "click", '{"n": 2}'))
    ]
    assert first.usage is not None
    assert (first.usage.total_tokens, first.usage.input_tokens_details.cached_tokens) == (13, 3)
    assert first.usage.output_tokens_details.reasoning_tokens == 2
    function = {name: value for name, value in TOOL.items() if name != "type"}
    assert model.chat == {
        "messages": [{"role": "system", "content": "Be brief."}, CHAT_QUESTION],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "click"}},
        "parallel_tool_calls": False,
    }
    assert (model.requests[0].max_tokens, model.requests[0].messages[1].images) == (50, (PICTURE,))


def test_a_conversation_goes_on_with_results_or_by_the_id_of_a_response(
    client: OpenAI, model: ToldClient
) -> None:
    model.answers += [
        Reply(text=both("so be it", CALLS), usage=USAGE),
        Reply(text="it says hunter2", usage=USAGE),
        Reply(text='{"ok": tr', usage=USAGE, finish_reason="length"),
        ModelError("rate_limit", "fake/m", "slow down"),
    ]
    first = begun(client)
    # The client sends back what it got, with results of which one is a picture.
    given: list[Any] = [
        QUESTION,
        {"type": "reasoning", "id": "r", "summary": []},
        *(item.model_dump(exclude_none=True) for item in first.output),
        {"type": "function_call_output", "call_id": "c1", "output": "clicked"},
        {"type": "function_call_output", "call_id": "c2", "output": [SHOWN]},
    ]

    second = client.responses.create(model="whatever", input=given)

    assert second.output_text == "it says hunter2"
    results = [
        {"role": "tool", "tool_call_id": "c1", "content": "clicked"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "user", "content": [CHAT_PICTURE]},
    ]
    assert model.chat["messages"] == [CHAT_QUESTION, CHAT_ANSWER, *results]

    # Instructions are no part of the conversation.
    form: Any = {"type": "json_schema", "name": "verdict", "schema": SCHEMA, "strict": True}
    third = client.responses.create(
        model="whatever",
        input="And now?",
        previous_response_id=first.id,
        text={"format": form},
        tool_choice="auto",
    )

    assert third.status == "incomplete"
    assert third.incomplete_details is not None
    assert third.incomplete_details.reason == "max_output_tokens"
    asked = {"role": "user", "content": "And now?"}
    assert model.chat["messages"] == [CHAT_QUESTION, CHAT_ANSWER, asked]
    schema = {"name": "verdict", "schema": SCHEMA, "strict": True}
    assert model.chat["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert "tool_choice" not in model.chat
    with pytest.raises(RateLimitError, match="slow down"):
        client.responses.create(model="whatever", input="again")


def test_streams_of_both_apis_hold_the_whole_reply(client: OpenAI, model: ToldClient) -> None:
    model.answers += [Reply(text=both("so be it", CALLS), usage=USAGE)] * 2
    model.answers.append(Reply(text="to be cont", usage=USAGE, finish_reason="length"))
    tool: Any = TOOL

    with client.responses.stream(model="m", input="hello", tools=[tool]) as stream:
        kinds = [event.type for event in stream]
        response = stream.get_final_response()
    chat_tool: Any = {"type": "function", "function": {"name": "click", "parameters": {}}}
    shown: Any = [{"type": "image_url", "image_url": {"url": PICTURE}}]
    with client.chat.completions.stream(
        model="m",
        messages=[{"role": "user", "content": shown}],
        tools=[chat_tool],
        stream_options={"include_usage": True},
    ) as chat:
        chat.until_done()
        completion = chat.get_final_completion()
    cut = list(client.responses.create(model="m", input="go on", stream=True))

    item = ["response.output_item.added", "response.output_item.done"]
    part = [f"response.{what}" for what in ("content_part.added", "output_text.delta")]
    part += [f"response.{what}" for what in ("output_text.done", "content_part.done")]
    call = [f"response.function_call_arguments.{what}" for what in ("delta", "done")]
    assert kinds == [
        *("response.created", "response.in_progress"),
        *(item[0], *part, item[1]),
        *(item[0], *call, item[1]) * 2,
        "response.completed",
    ]
    assert response.output_text == "so be it"
    assert [o.arguments for o in response.output if o.type == "function_call"] == [
        *('{"n": 1}', '{"n": 2}')
    ]
    message = completion.choices[0].message
    assert message.content == "so be it"
    assert [c.function.arguments for c in message.tool_calls or ()] == ['{"n": 1}', '{"n": 2}']
    assert completion.choices[0].finish_reason == "tool_calls"
    assert (completion.usage and completion.usage.total_tokens) == 13
    assert model.requests[1].messages[0].images == (PICTURE,)
    last = cut[-1]
    assert last.type == "response.incomplete"
    assert (last.sequence_number, last.response.output_text) == (len(cut) - 1, "to be cont")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"input": "x", "background": True}, "background is not supported"),
        ({"input": 5}, "a text or a list of items"),
        ({"input": []}, "messages are missing"),
        ({"input": ["x"]}, "is no object"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "'item_reference'"),
        ({"input": [{"role": "robot", "content": "x"}]}, "one of user, assistant"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "'input_file'"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "'web_search' run at the service"),
        ({"input": "x", "tool_choice": {"type": "mcp"}}, "'mcp'"),
    ],
)
def test_what_only_the_service_can_do_is_refused(
    client: OpenAI, model: ToldClient, asked: Any, words: str
) -> None:
    with pytest.raises(BadRequestError, match=words):
        client.responses.create(model="m", **asked)

    assert model.requests == []


def test_a_response_of_another_attempt_is_not_known(client: OpenAI) -> None:
    with pytest.raises(NotFoundError, match="no response 'resp_1'"):
        client.responses.create(model="m", input="x", previous_response_id="resp_1")


def test_functions_in_a_namespace_keep_it(client: OpenAI, model: ToldClient) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "mcp__click", "arguments": "{}"}}
    model.answers += [Reply(text=both(None, [call]), usage=USAGE), Reply(text="done", usage=USAGE)]
    grouped: Any = {"type": "namespace", "name": "mcp", "description": "Tools.", "tools": [TOOL]}

    first = client.responses.create(model="m", input="go", tools=[grouped, TOOL])

    (called,) = first.output
    assert called.type == "function_call"
    assert (called.namespace, called.name) == ("mcp", "click")
    offered = [tool["function"]["name"] for tool in model.chat["tools"]]
    assert offered == ["mcp__click", "click"]
    result: Any = {"type": "function_call_output", "call_id": "c1", "output": "clicked"}
    client.responses.create(model="m", input=[called.model_dump(), result])
    assert model.chat["messages"][0]["tool_calls"] == [call]


def test_tools_that_take_a_text_and_tools_that_an_item_adds(
    client: OpenAI, model: ToldClient
) -> None:
    given = {"name": "patch", "arguments": '{"input": "+ tea"}'}
    call = {"id": "c1", "type": "function", "function": given}
    model.answers += [Reply(text=both(None, [call]), usage=USAGE), Reply(text="done", usage=USAGE)]
    form = {"type": "grammar", "syntax": "lark", "definition": "start: TEA"}
    patch = {"type": "custom", "name": "patch", "description": "Change it.", "format": form}
    asked: Any = [
        {"type": "additional_tools", "role": "developer", "tools": [patch]},
        {"role": "user", "content": "go"},
    ]

    with client.responses.stream(model="m", input=asked) as stream:
        kinds = [event.type for event in stream if "custom" in event.type]
        (called,) = stream.get_final_response().output

    assert called.type == "custom_tool_call"
    assert (called.name, called.input) == ("patch", "+ tea")
    kind = "response.custom_tool_call_input"
    assert kinds == [f"{kind}.delta", f"{kind}.done"]
    (offered,) = model.chat["tools"]
    assert offered["function"]["parameters"]["required"] == ["input"]
    assert "start: TEA" in offered["function"]["description"]
    result: Any = {"type": "custom_tool_call_output", "call_id": "c1", "output": "changed"}
    more: Any = [*asked, called.model_dump(exclude_none=True), result]
    client.responses.create(model="m", input=more)
    assert model.chat["messages"][1:] == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "changed"},
    ]
