"""The endpoint through which an outside agent calls the cell's model, in the form of OpenAI's APIs.

Every call goes through the cell's own client, and so through the gateway: cassettes, the money cap,
rate limits, usage and the cell's record apply as for the built-in agents.

A request to the responses API is converted to a chat, so it takes the same path as every other
call; the reply is converted to a response, or to its stream of events, sent in one piece. Features
that run at the service itself (its tools, conversations and files) have no counterpart with other
providers and are refused.
"""

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import ValidationError

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models.agent_chat import ChatBody, as_message, as_text, is_picture
from pytest_autoweb.models.client import Client, Message, Reply, Request, ask_once
from pytest_autoweb.models.gateway import LARGEST_BODY
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Exchange, Usage

_ITEM_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = ("input_text", "output_text", "text")
_AT_THE_SERVICE = ("background", "conversation", "prompt")
"""Request fields that ask the service to store or fetch something."""
_ENDINGS = {"length": "max_output_tokens", "content_filter": "content_filter"}

_CODES = {401: "auth", 404: "not_found", 429: "limit", 503: "ended"}
"""The code of each status that says why a call was not passed on; others are invalid requests."""
_JSON, _EVENTS = "application/json", "text/event-stream"
_THERE_IS = "there is only /v1/chat/completions, /v1/responses and /v1/models"
_TAKEN = frozenset(ChatBody.model_fields)
_OF_TOOLS = frozenset(("tools", "tool_choice", "parallel_tool_calls"))
"""Fields that services refuse in requests without tools."""
_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|bmp);base64,[A-Za-z0-9+/\r\n]*={0,2}")
_DETAILS = ("auto", "low", "high", None)
_WORDS = frozenset(
    {"role", "content", "type", "text", "image_url", "url", "detail", "name", "tool_calls"}
    | {"tool_call_id", "id", "function", "arguments", "system", "developer", "user"}
    | {"assistant", "tool", "tools", "tool_choice", "parallel_tool_calls", "response_format"}
    | {"messages", "description", "parameters", "strict", "json_schema", "json_object"}
    | {"schema", "properties", "required", "items", "enum", "object", "string", "number"}
    | {"integer", "boolean", "array", "null", "anyOf", "additionalProperties", "title"}
    | {"default", "auto", "none", "refusal"}
)
"""Words of the API itself, which stay even where a secret is one of them."""
_STATUS = {"auth": 401, "budget": 402, "rate_limit": 429, "timeout": 504, "unavailable": 503}
_ROLE_OF: Mapping[str, Any] = {"system": "system", "developer": "system", "assistant": "assistant"}


def chat_of(asked: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert a request of the responses API to one of the chat API.

    Args:
        asked: the request's body.
        earlier: the messages up to and including the response that the request continues.

    Raises:
        ValueError: it asks for a feature that only the service itself offers.
    """
    for name in _AT_THE_SERVICE:
        if asked.get(name):
            raise ValueError(f"{name} is not supported: nothing is kept at a service")
    given = asked.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    if not isinstance(items, list):
        raise ValueError("input must be a text or a list of items")
    chat: dict[str, Any] = {
        "messages": [*_instructions(asked), *earlier, *_messages(items)],
        "tools": [_tool(tool) for tool in asked.get("tools") or ()],
        "tool_choice": _choice(asked.get("tool_choice")),
        "parallel_tool_calls": asked.get("parallel_tool_calls"),
        "response_format": _format(asked.get("text")),
        "max_tokens": asked.get("max_output_tokens"),
    }
    return {name: value for name, value in chat.items() if value not in (None, [])}


def _instructions(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    words = asked.get("instructions")
    return [{"role": "system", "content": words}] if words else []


def _messages(items: Sequence[Any]) -> list[dict[str, Any]]:
    """Return items as messages: calls in the message they came with, pictures after results."""
    found: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    for item in items:
        if not isinstance(item, Mapping):
            raise ValueError("an item of input is no object")
        kind = item.get("type") or "message"
        if kind == "function_call_output":
            texts, shown = _output(item.get("output"))
            pictures += shown
            found.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": texts})
            continue
        # A chat allows no pictures in results, and no messages between the results of one reply.
        found += [{"role": "user", "content": pictures}] if pictures else []
        pictures = []
        if kind == "message":
            found.append(_said(item))
        elif kind == "function_call":
            _add_call(found, item)
        elif kind != "reasoning":
            raise ValueError(f"items of type {kind!r} are not supported")
    return found + ([{"role": "user", "content": pictures}] if pictures else [])


def _said(item: Mapping[str, Any]) -> dict[str, Any]:
    role, content = item.get("role"), item.get("content")
    if role not in _ITEM_ROLES:
        raise ValueError(f"a message's role must be one of {', '.join(_ITEM_ROLES)}")
    if isinstance(content, str):
        return {"role": role, "content": content}
    parts = [_part(part) for part in content or ()]
    if role == "assistant":
        return {"role": role, "content": "\n".join(part.get("text", "") for part in parts)}
    return {"role": role, "content": parts}


def _part(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in _TEXTS:
        return {"type": "text", "text": part.get("text") or ""}
    if kind == "refusal":
        return {"type": "text", "text": part.get("refusal") or ""}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        picture = {"url": part["image_url"]}
        if part.get("detail") in ("low", "high"):
            picture["detail"] = part["detail"]
        return {"type": "image_url", "image_url": picture}
    raise ValueError(
        f"content of type {kind!r} is not supported: there are texts, and pictures by image_url"
    )


def _output(output: Any) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(output, str):
        return output, []
    parts = [_part(part) for part in output or ()]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(texts), [part for part in parts if part["type"] == "image_url"]


def _add_call(found: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
    call = {"id": item.get("call_id"), "type": "function", "function": function}
    if not found or found[-1]["role"] != "assistant":
        found.append({"role": "assistant", "content": None})
    found[-1].setdefault("tool_calls", []).append(call)


def _tool(tool: Any) -> dict[str, Any]:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    if kind != "function":
        raise ValueError(
            f"tools of type {kind!r} run at the service, and are not supported; there is 'function'"
        )
    names = ("name", "description", "parameters", "strict")
    function = {name: tool[name] for name in names if tool.get(name) is not None}
    return {"type": "function", "function": function}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, Mapping):
        return choice
    if choice.get("type") != "function":
        raise ValueError(f"tool_choice of type {choice.get('type')!r} is not supported")
    return {"type": "function", "function": {"name": choice.get("name")}}


def _format(text: Any) -> dict[str, Any] | None:
    form = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(form, Mapping) or form.get("type") in (None, "text"):
        return None
    if form["type"] != "json_schema":
        return {"type": form["type"]}
    names = ("name", "description", "schema", "strict")
    schema = {name: form[name] for name in names if form.get(name) is not None}
    return {"type": "json_schema", "json_schema": schema}


def response_of(
    message: Mapping[str, Any], finish: str, usage: Usage, model: str, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a reply as a response.

    Args:
        message: the reply as a message of the chat API.
        finish: the reason why it ended.
        usage: its token usage.
        model: the model's name.
        asked: the request's body.
    """
    cut = _ENDINGS.get(finish)
    state = "incomplete" if cut else "completed"
    output: list[dict[str, Any]] = []
    if message.get("content"):
        part = {
            "type": "output_text",
            "text": message["content"],
            "annotations": [],
            "logprobs": [],
        }
        output.append({"type": "message", "role": "assistant", "status": state, "content": [part]})
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        about = {"name": function.get("name"), "arguments": function.get("arguments") or "{}"}
        output.append(
            {"type": "function_call", "call_id": call["id"], "status": "completed", **about}
        )
    return {
        "id": f"resp_{secrets.token_hex(12)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": state,
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": asked.get("instructions"),
        "metadata": asked.get("metadata") or {},
        "model": model,
        "output": [{"id": f"item_{secrets.token_hex(8)}", **item} for item in output],
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "previous_response_id": asked.get("previous_response_id"),
        "temperature": None,
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": None,
        "usage": {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def events_of(response: Mapping[str, Any]) -> bytes:
    """Return a whole response as the events of a stream."""
    events = [
        {**event, "sequence_number": number} for number, event in enumerate(_events(response))
    ]
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(lines).encode()


def _events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    for kind in ("created", "in_progress"):
        yield {"type": f"response.{kind}", "response": begun}
    for number, item in enumerate(response["output"]):
        place = {"output_index": number}
        blank: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, **blank, "status": "in_progress"}
        yield {"type": "response.output_item.added", **place, "item": added}
        yield from _parts(item, {**place, "item_id": item["id"]})
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _parts(item: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == "function_call":
        kind, said = "response.function_call_arguments", item["arguments"]
        yield {"type": f"{kind}.delta", **place, "delta": said}
        yield {"type": f"{kind}.done", **place, "arguments": said, "name": item["name"]}
        return
    (part,) = item["content"]
    place, text = {**place, "content_index": 0}, part["text"]
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


class ModelEndpoint:
    """A server on this machine for one attempt, with a token that no other attempt has.

    Args:
        client: the client that answers the calls.
        spec: the model to call, regardless of the name that the agent gives.
        like: a request that locates the calls within the run.
        redact: removes the case's secrets from everything sent and recorded.
        most: the maximum number of calls passed on.
        now: a clock in seconds.
    """

    def __init__(
        self,
        client: Client,
        spec: ModelSpec,
        like: Request,
        redact: Callable[[str], str],
        *,
        most: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._spec, self._like, self._redact = client, spec, like, redact
        self._most, self._now = most, now
        self._lock = threading.Lock()
        self._refused, self._ended = 0, False
        self._responses: dict[str, tuple[Mapping[str, Any], ...]] = {}
        self.token = secrets.token_urlsafe(24)
        self.exchanges: list[Exchange] = []
        """The calls so far."""
        self.failed: ModelError | None = None
        """The error of the most recent call, if it failed."""
        self._http = _Server(self)

    @property
    def base_url(self) -> str:
        """Return the base URL for a client of OpenAI's API."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def most(self) -> int:
        return self._most

    @property
    def too_many(self) -> bool:
        """Return whether calls were refused because the maximum was reached."""
        return self._refused > 0

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._http.serve_forever, args=(0.05,), name="autoweb-endpoint", daemon=True
        ).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        if kind is None:
            # A call in flight costs money, so it has to be counted.
            with self._lock:
                self._ended = True

    def chat(self, body: bytes) -> tuple[bytes, str]:
        """Answer a body of the chat API; return the answer's body and its type.

        Raises:
            ModelError: the call failed.
            RequestRefused: it was not made.
        """
        asked = _object(body)
        if asked.get("n") not in (None, 1):
            raise RequestRefused(400, "n must be 1")
        completion = _completion(self._reply(asked, "chat"), self.model)
        if not asked.get("stream"):
            return json.dumps(completion).encode(), _JSON
        options = asked.get("stream_options") or {}
        return _chunks(completion, bool(options.get("include_usage"))), _EVENTS

    def respond(self, body: bytes) -> tuple[bytes, str]:
        """Answer a body of the responses API; return the answer's body and its type.

        Raises:
            ModelError: the call failed.
            RequestRefused: it was not made.
        """
        asked = _object(body)
        before = asked.get("previous_response_id")
        if before and before not in self._responses:
            raise RequestRefused(404, f"this attempt has had no response {before!r}")
        try:
            chat = chat_of(asked, self._responses[before] if before else ())
        except (ValueError, TypeError, AttributeError) as error:
            raise RequestRefused(400, f"not a response request: {error}") from None
        reply = self._reply(chat, "response")
        message = as_message(reply.text)
        response = response_of(message, reply.finish_reason, reply.usage, self.model, asked)
        # Instructions apply to a single response.
        said = chat["messages"][1 if asked.get("instructions") else 0 :]
        self._responses[response["id"]] = (*said, message)
        if asked.get("stream"):
            return events_of(response), _EVENTS
        return json.dumps(response).encode(), _JSON

    def _reply(self, asked: Mapping[str, Any], kind: str) -> Reply:
        try:
            if not asked.get("messages"):
                raise ValueError("messages are missing")
            taken = _TAKEN if asked.get("tools") else _TAKEN - _OF_TOOLS
            chat = ChatBody.model_validate(
                {
                    name: value
                    for name, value in asked.items()
                    if name in taken and value is not None
                }
            )
        except (ValueError, ValidationError) as error:
            raise RequestRefused(400, f"not a {kind} request: {error}") from None
        most = asked.get("max_completion_tokens") or asked.get("max_tokens")
        stop = asked.get("stop") or ()
        return self._asked(
            ChatBody.model_validate(redacted_chat(chat.model_dump(), self._redact)),
            max_tokens=most if isinstance(most, int) and most > 0 else None,
            stop=tuple(map(self._redact, (stop,) if isinstance(stop, str) else stop)),
        )

    def _asked(self, chat: ChatBody, **settings: Any) -> Reply:
        # One at a time, so that a recording replays the calls in the same order.
        with self._lock:
            if self._ended:
                raise RequestRefused(503, "this attempt is over")
            if len(self.exchanges) >= self._most:
                self._refused += 1
                raise RequestRefused(429, "this attempt has used up its calls of the model")
            update = {
                "chat": chat,
                "messages": tuple(map(_message, chat.messages)),
                "turn": len(self.exchanges),
                **settings,
            }
            request = self._like.model_copy(update=update)
            answered = ask_once(
                self._client, request, self._redact, now=self._now, usable=lambda text: text
            )
            self.exchanges.append(answered.exchange)
            self.failed = answered.outcome if isinstance(answered.outcome, ModelError) else None
        if isinstance(answered.outcome, ModelError):
            raise answered.outcome
        return answered.outcome

    @property
    def model(self) -> str:
        return self._spec.name


def _object(body: bytes) -> dict[str, Any]:
    try:
        asked = read_json(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise RequestRefused(400, "the body is no JSON object")
    return asked


def redacted_chat(value: Any, redact: Callable[[str], str]) -> Any:
    """Return what an agent sends without secrets: every text, the names in objects, not pictures.

    Args:
        value: a request in OpenAI's form, or a part of one.
        redact: removes the case's secrets from a text.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redacted_chat(inner, redact) for inner in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name if name in _WORDS else redact(str(name)): inner
        if name == "image_url" and is_picture(value) and _is_only_picture(inner)
        else inner
        if name in ("role", "type") and isinstance(inner, str) and inner in _WORDS
        else redacted_chat(inner, redact)
        for name, inner in value.items()
    }


def _is_only_picture(given: Any) -> bool:
    """Tell whether an image part holds a picture and nothing else; a picture has no text in it."""
    url = given
    if isinstance(given, Mapping):
        if given.keys() - {"url", "detail"} or given.get("detail", "auto") not in _DETAILS:
            return False
        url = given.get("url")
    return isinstance(url, str) and bool(_PICTURE.fullmatch(url))


def _message(sent: Mapping[str, Any]) -> Message:
    """Return a message for the record, with all its text and pictures."""
    content = sent.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    texts = [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    if calls := sent.get("tool_calls"):
        texts.append(as_text({"tool_calls": calls}))
    role = str(sent.get("role"))
    if role == "tool":
        texts.insert(0, f"[result of {sent.get('tool_call_id') or 'a tool'}]")
    pictures = (part["image_url"] for part in parts if is_picture(part))
    return Message(
        role=_ROLE_OF.get(role, "user"),
        content="\n".join(filter(None, texts)),
        images=tuple(str(one.get("url") if isinstance(one, dict) else one) for one in pictures),
    )


def _completion(reply: Reply, model: str) -> dict[str, Any]:
    message, usage = as_message(reply.text), reply.usage
    ending = "tool_calls" if message.get("tool_calls") else reply.finish_reason or "stop"
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": ending, "logprobs": None}],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def _chunks(completion: dict[str, Any], with_usage: bool) -> bytes:
    """Return a whole reply as the events of a stream."""
    (choice,) = completion["choices"]
    delta = dict(choice["message"])
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage")
    first = {"index": 0, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events: list[dict[str, Any]] = [{**head, "choices": [each]} for each in (first, last)]
    if with_usage:
        events.append({**head, "choices": [], "usage": usage})
    lines = [*(json.dumps(event) for event in events), "[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


class _Server(LocalServer):
    def __init__(self, endpoint: ModelEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(endpoint.token, _Handler)


class _Handler(LocalHandler):
    server: _Server
    wrong_token = "wrong token: it belongs to one attempt of one cell"

    def do_GET(self) -> None:
        self._serve(self._models)

    def do_POST(self) -> None:
        self._serve(self._posted)

    def _serve(self, answer: Callable[[], tuple[bytes, str]]) -> None:
        try:
            self.check_token()
            data, kind = answer()
        except RequestRefused as error:
            self._fail(error.status, _CODES.get(error.status, "invalid_request"), error.reason)
        except ModelError as error:
            self._fail(_STATUS.get(error.cause, 400), error.cause, error.detail)
        else:
            self._answer(200, data, kind)

    def _models(self) -> tuple[bytes, str]:
        if self.path.rstrip("/") != "/v1/models":
            raise RequestRefused(404, _THERE_IS)
        listed = [{"id": self.server.endpoint.model, "object": "model", "owned_by": "autoweb"}]
        return json.dumps({"object": "list", "data": listed}).encode(), _JSON

    def _posted(self) -> tuple[bytes, str]:
        endpoint = self.server.endpoint
        routes = {"/v1/chat/completions": endpoint.chat, "/v1/responses": endpoint.respond}
        answer = routes.get(self.path.partition("?")[0])
        if answer is None:
            raise RequestRefused(404, _THERE_IS)
        return answer(self.read_body(LARGEST_BODY))

    def _fail(self, status: int, code: str, message: str) -> None:
        error = {"message": message, "type": code, "code": code, "param": None}
        self._answer(status, json.dumps({"error": error}).encode(), _JSON)

    def _answer(self, status: int, data: bytes, kind: str) -> None:
        # The gateway has already retried where that may help.
        self.send(status, data, kind, {"x-should-retry": "false"})
