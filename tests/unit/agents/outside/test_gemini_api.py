"""The endpoint's Gemini API, as Google's own client for Python uses it."""

import base64
import importlib
import json
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from endpoint_model import CALLS, PARAMETERS, PICTURE, PICTURE_DATA, ToldClient, both, served

from pytest_autoweb.agents.outside.model_endpoint import ModelEndpoint
from pytest_autoweb.base.errors import ModelError

if TYPE_CHECKING:
    from google.genai import Client

pytestmark = pytest.mark.long

SHOWN = {"inline_data": {"mime_type": "image/png", "data": base64.b64decode(PICTURE_DATA)}}
QUESTION: Any = {"role": "user", "parts": [{"text": "look at hunter2"}, SHOWN]}
DECLARED = {
    "name": "click",
    "description": "Click it.",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "n": {"type": "INTEGER", "nullable": True},
            "type": {"type": "ARRAY", "items": {"type": "STRING"}},
        },
    },
}
# The same, as the chat API has it.
CHAT_PARAMETERS = {
    "type": "object",
    "properties": {
        "n": {"type": ["integer", "null"]},
        "type": {"type": "array", "items": {"type": "string"}},
    },
}
CHAT_PICTURE = {"type": "image_url", "image_url": {"url": PICTURE}}
CHAT_QUESTION = {
    "role": "user",
    "content": [{"type": "text", "text": "look at <secret:password>"}, CHAT_PICTURE],
}
TOOLS = [{"function_declarations": [DECLARED, {"name": "wait"}]}]


@pytest.fixture
def model() -> ToldClient:
    return ToldClient()


@pytest.fixture
def endpoint(model: ToldClient) -> Iterator[ModelEndpoint]:
    with served(model, most=4) as endpoint:
        yield endpoint


@pytest.fixture
def client(endpoint: ModelEndpoint) -> "Client":
    return client_of(endpoint, endpoint.token)


def client_of(endpoint: ModelEndpoint, token: str) -> "Client":
    # Its types take seconds to import.
    genai = importlib.import_module("google.genai")
    made: Client = genai.Client(api_key=token, http_options={"base_url": endpoint.root_url})
    return made


def test_a_conversation_with_pictures_functions_and_results(
    client: "Client", model: ToldClient
) -> None:
    model.says(both("so be it", CALLS))
    model.says("it says hunter2")
    contents: list[Any] = [QUESTION]
    config: Any = {
        "system_instruction": "Be brief.",
        "tools": TOOLS,
        "tool_config": {
            "function_calling_config": {"mode": "ANY", "allowed_function_names": ["click"]}
        },
        "max_output_tokens": 50,
        "stop_sequences": ["END"],
        "automatic_function_calling": {"disable": True},
    }

    first = client.models.generate_content(model="whatever", contents=contents, config=config)

    assert first.candidates is not None
    (candidate,) = first.candidates
    assert (str(candidate.finish_reason), first.model_version) == ("FinishReason.STOP", "fake/m")
    assert [(c.id, c.name, c.args) for c in first.function_calls or ()] == [
        *(("c1", "click", {"n": 1}), ("c2", "click", {"n": 2}))
    ]
    usage = first.usage_metadata
    assert usage is not None
    counts = (usage.prompt_token_count, usage.cached_content_token_count, usage.total_token_count)
    assert counts == (9, 3, 13)
    # A candidate's tokens are those of its text, without its thoughts.
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (2, 2)
    function = {"name": "click", "description": "Click it.", "parameters": CHAT_PARAMETERS}
    assert model.chat == {
        "messages": [{"role": "system", "content": "Be brief."}, CHAT_QUESTION],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "click"}},
    }
    sent = model.requests[0]
    assert (sent.max_tokens, sent.stop, sent.messages[1].images) == (50, ("END",), (PICTURE,))

    # The client sends back what it got, and two results without ids, in order.
    answer = {"function_response": {"name": "click", "response": {"result": "clicked"}}}
    failure = {"function_response": {"name": "click", "response": {"error": "none"}}}
    contents += [candidate.content, {"role": "user", "parts": [answer, failure]}]
    second = client.models.generate_content(model="whatever", contents=contents)

    assert second.text == "it says hunter2"
    assert model.chat["messages"] == [
        CHAT_QUESTION,
        {"role": "assistant", "content": "so be it", "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "c1", "content": "clicked"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"error": "none"}'},
    ]


def test_a_stream_has_a_piece_for_each_part(
    client: "Client", model: ToldClient, endpoint: ModelEndpoint
) -> None:
    model.says(both("so be it", CALLS[:1]))
    model.says("to be cont", "length")

    pieces = list(client.models.generate_content_stream(model="m", contents="hello"))

    said, called = pieces
    assert said.text == "so be it"
    assert [c.name for c in called.function_calls or ()] == ["click"]
    reasons = [str((piece.candidates or [])[0].finish_reason) for piece in pieces]
    assert reasons == ["None", "FinishReason.STOP"]
    assert called.usage_metadata is not None
    assert called.usage_metadata.total_token_count == 13

    # Without alt=sse the service sends one list.
    request = urllib.request.Request(
        f"{endpoint.root_url}/v1beta/models/m:streamGenerateContent",
        json.dumps({"contents": [{"parts": [{"text": "go on"}]}]}).encode(),
        {"x-goog-api-key": endpoint.token},
    )
    with urllib.request.urlopen(request) as answer:
        (piece,) = json.load(answer)
    assert piece["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_tokens_are_estimated_and_the_model_is_listed(client: "Client", model: ToldClient) -> None:
    few = client.models.count_tokens(model="m", contents="word " * 100).total_tokens
    more = client.models.count_tokens(model="m", contents=[QUESTION]).total_tokens

    assert few is not None
    assert more is not None
    assert 120 < few < 160
    assert more > 1_000
    assert model.requests == []
    assert [each.name for each in client.models.list()] == ["models/fake/m"]
    assert client.models.get(model="m").display_name == "fake/m"


@pytest.mark.parametrize(
    ("config", "form"),
    [
        (
            {"response_mime_type": "application/json", "response_json_schema": PARAMETERS},
            {"type": "json_schema", "json_schema": {"name": "reply", "schema": PARAMETERS}},
        ),
        (
            {
                "response_mime_type": "application/json",
                "response_schema": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}},
            },
            {"type": "json_schema", "json_schema": {"name": "reply", "schema": PARAMETERS}},
        ),
        ({"response_mime_type": "application/json"}, {"type": "json_object"}),
        ({"response_mime_type": "text/plain"}, None),
    ],
)
def test_a_reply_can_have_a_form(
    client: "Client", model: ToldClient, config: Any, form: dict[str, Any] | None
) -> None:
    model.says('{"n": 1}')

    client.models.generate_content(model="m", contents="count", config=config)

    assert model.chat.get("response_format") == form


def test_errors_are_in_the_form_of_the_service(
    client: "Client", endpoint: ModelEndpoint, model: ToldClient
) -> None:
    errors = importlib.import_module("google.genai.errors")
    model.answers += [
        ModelError("rate_limit", "fake/m", "slow down"),
        ModelError("timeout", "fake/m", "too late"),
    ]

    for error, code, status in (
        (errors.ClientError, 429, "RESOURCE_EXHAUSTED"),
        (errors.ServerError, 504, "DEADLINE_EXCEEDED"),
    ):
        with pytest.raises(error) as raised:
            client.models.generate_content(model="m", contents="hello")
        assert (raised.value.code, raised.value.status) == (code, status)
    assert len(model.requests) == 2
    stranger = client_of(endpoint, "of-another-cell")
    with pytest.raises(errors.ClientError, match="one attempt of one cell") as raised:
        stranger.models.count_tokens(model="m", contents="hello")
    assert raised.value.status == "UNAUTHENTICATED"


TEXT = {"role": "user", "parts": [{"text": "x"}]}


@pytest.mark.parametrize(
    ("contents", "config", "words"),
    [
        ([{"role": "robot", "parts": [{"text": "x"}]}], {}, "user or model"),
        ([{"parts": [{"file_data": {"file_uri": "gs://x"}}]}], {}, "fileData"),
        ([TEXT], {"tools": [{"google_search": {}}]}, "run at the service"),
        ([TEXT], {"candidate_count": 2}, "candidateCount must be 1"),
        ([TEXT], {"cached_content": "cachedContents/x"}, "cachedContent"),
        ([TEXT], {"system_instruction": {"parts": [SHOWN]}}, "only texts"),
        (
            [{"parts": [{"function_response": {"name": "go", "response": {"result": "x"}}}]}],
            {},
            "answers no call",
        ),
    ],
)
def test_what_only_the_service_can_do_is_refused(
    client: "Client", model: ToldClient, contents: Any, config: Any, words: str
) -> None:
    errors = importlib.import_module("google.genai.errors")

    with pytest.raises(errors.ClientError, match=words) as raised:
        client.models.generate_content(model="m", contents=contents, config=config)

    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")
    assert model.requests == []
