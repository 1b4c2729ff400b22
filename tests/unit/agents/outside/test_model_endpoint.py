"""The endpoint of an outside agent, asked as clients of OpenAI's API ask."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_autoweb.agents.outside.model_endpoint import ModelEndpoint, redacted_chat
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.testing import ScriptedClient
from pytest_autoweb.testing.scripted import Answer

CALL = {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"n": 1}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,hunter2=="}}
CHAT = {
    "model": "whatever",
    "messages": [
        {"role": "system", "content": "Be brief; never say hunter2."},
        {"role": "user", "content": [{"type": "text", "text": "look at hunter2"}, PICTURE]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "hunter2 was typed"},
    ],
    "tools": [{"type": "function", "function": {"name": "click", "parameters": {}}}],
    "tool_choice": "auto",
    "max_tokens": 50,
    "temperature": 1.5,
}
ANSWERS: list[Answer] = [
    "all is well",
    json.dumps({"assistant": {"content": "so be it", "tool_calls": [CALL]}}),
    ModelError("rate_limit", "fake/m", "slow down"),
    "the end",
]


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient({"agent": ANSWERS})


@pytest.fixture
def endpoint(client: ScriptedClient) -> Iterator[ModelEndpoint]:
    like = Request(model="fake/m", messages=(), stage="agent", case_id="case", attempt=2)
    spec = ModelSpec(name="fake/m")

    def redact(text: str) -> str:
        return text.replace("hunter2", "<secret:password>")

    with ModelEndpoint(client, spec, like, redact, most=4) as served:
        yield served


def asked(
    endpoint: ModelEndpoint, body: Any = None, *, path: str = "/chat/completions", token: str = ""
) -> tuple[int, Any]:
    request = urllib.request.Request(
        endpoint.base_url + path,
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {token or endpoint.token}"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            status, content = answer.status, answer.read().decode()
            again = answer.headers["x-should-retry"]
    except urllib.error.HTTPError as error:
        with error:
            status, content = error.code, error.read().decode()
            again = error.headers["x-should-retry"]
    # The gateway has tried again where that may help.
    assert again == "false"
    return status, content if content.startswith("data:") else json.loads(content)


def test_calls_are_passed_on_without_secrets_and_counted_up_to_the_limit(
    endpoint: ModelEndpoint, client: ScriptedClient
) -> None:
    status, first = asked(endpoint, CHAT)

    assert (status, first["choices"][0]["message"]["content"]) == (200, "all is well")
    assert first["usage"]["completion_tokens"] == 3
    (sent,) = client.requests
    assert (sent.case_id, sent.attempt, sent.turn, sent.max_tokens) == ("case", 2, 0, 50)
    assert sent.chat is not None
    assert sent.chat.messages[2]["tool_calls"] == [CALL]
    assert sent.chat.beside_messages() == {"tools": CHAT["tools"], "tool_choice": "auto"}
    # A picture is no text in which a secret could be found.
    told = json.dumps([each.model_dump() for each in sent.messages])
    assert (told.count("hunter2"), told.count("<secret:password>")) == (1, 3)
    assert json.dumps(sent.chat.messages).count("hunter2") == 1
    assert sent.messages[1].images == (PICTURE["image_url"]["url"],)  # type: ignore[index]
    shown = sent.chat.shown_to(vision=False)
    assert shown[1]["content"] == [{"type": "text", "text": "look at <secret:password>"}]

    status, events = asked(
        endpoint, {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    )
    *chunks, end = [event.removeprefix("data: ") for event in events.strip().split("\n\n")]
    assert (status, end) == (200, "[DONE]")
    delta, last, counted = map(json.loads, chunks)
    assert delta["choices"][0]["delta"]["content"] == "so be it"
    assert delta["choices"][0]["delta"]["tool_calls"] == [{"index": 0, **CALL}]
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert counted["usage"]["total_tokens"] > 0

    status, refused = asked(endpoint, CHAT)
    assert (status, refused["error"]["code"], refused["error"]["message"]) == (
        *(429, "rate_limit"),
        "slow down",
    )
    assert endpoint.failed is not None
    assert asked(endpoint, CHAT)[0] == 200
    assert endpoint.failed is None
    assert not endpoint.too_many
    status, over = asked(endpoint, CHAT)
    assert (status, over["error"]["code"], endpoint.too_many) == (429, "limit", True)
    assert [each.turn for each in endpoint.exchanges] == [0, 1, 2, 3]
    assert [each.cause for each in endpoint.exchanges] == ["", "", "rate_limit", ""]


@pytest.mark.parametrize(
    ("body", "path", "token", "status", "words"),
    [
        (CHAT, "/chat/completions", "of-another-cell", 401, "one attempt of one cell"),
        (None, "/models", "of-another-cell", 401, "wrong token"),
        (CHAT, "/completions", "", 404, "/v1/chat/completions"),
        ({"messages": []}, "/chat/completions", "", 400, "messages are missing"),
        ({"messages": "hi"}, "/chat/completions", "", 400, "not a chat request"),
        ({**CHAT, "n": 2}, "/chat/completions", "", 400, "n must be 1"),
        ([], "/chat/completions", "", 400, "no JSON object"),
    ],
)
def test_what_is_no_call_of_this_attempt_is_refused(
    endpoint: ModelEndpoint, body: Any, path: str, token: str, status: int, words: str
) -> None:
    found, answer = asked(endpoint, body, path=path, token=token)

    assert (found, endpoint.exchanges) == (status, [])
    assert words in answer["error"]["message"]


def test_the_model_is_listed(endpoint: ModelEndpoint) -> None:
    assert asked(endpoint, path="/models")[1]["data"][0]["id"] == "fake/m"


@pytest.mark.parametrize(
    "text",
    [
        "data:image/ the password is hunter2",
        "data:image/png;base64,AAAA hunter2",
        "data:image/png;base64,AAAA\n\nhunter2!",
    ],
)
def test_only_the_picture_of_an_image_part_is_left_alone(
    endpoint: ModelEndpoint, client: ScriptedClient, text: str
) -> None:
    parts = [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": text}},
        {"type": "image_url", "image_url": text},
        {"type": "image_url", "image_url": {**PICTURE["image_url"], "alt": "hunter2"}},  # type: ignore[dict-item]
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,hunter2"}},
        {"type": "file", "image_url": PICTURE["image_url"]},
        PICTURE,
    ]
    body = {"messages": [{"role": "user", "content": parts}, {"role": "user", "content": text}]}
    assert asked(endpoint, body)[0] == 200

    (sent,) = client.requests
    assert sent.chat is not None
    assert json.dumps(sent.chat.messages).count("hunter2") == 1
    assert sent.chat.messages[0]["content"][-1] == PICTURE


@pytest.mark.parametrize("stop", ["hunter2", ["END", "hunter2"]])
def test_ends_of_replies_are_redacted(
    endpoint: ModelEndpoint, client: ScriptedClient, stop: str | list[str]
) -> None:
    assert asked(endpoint, {**CHAT, "stop": stop})[0] == 200

    assert "hunter2" not in str(client.requests[0].stop)


def test_names_in_objects_are_redacted_and_words_of_the_api_are_not() -> None:
    def redact(text: str) -> str:
        return {"user": "<secret:name>"}.get(text, text.replace("hunter2", "<secret:password>"))

    of = {"hunter2": {"type": "string", "user": "user"}, "role": {"enum": ["user", 1, None]}}
    schema = {"type": "object", "properties": of}
    sent = {"role": "user", "content": "user", "tools": [{"parameters": schema}]}
    assert redacted_chat(sent, redact) == {
        "role": "user",
        "content": "<secret:name>",
        "tools": [
            {
                "parameters": {
                    "type": "object",
                    "properties": {
                        "<secret:password>": {"type": "string", "user": "<secret:name>"},
                        "role": {"enum": ["<secret:name>", 1, None]},
                    },
                }
            }
        ],
    }


def test_half_of_an_emoji_in_what_an_agent_sends_can_be_passed_on(
    endpoint: ModelEndpoint, client: ScriptedClient
) -> None:
    status, _ = asked(endpoint, {"messages": [{"role": "user", "content": "Tea \ud83d"}]})

    assert status == 200
    assert client.requests[0].messages[-1].content == "Tea \ufffd"
    client.requests[0].model_dump_json()
