"""The endpoint through which an outside agent calls the cell's model.

Every call goes through the cell's own client, and so through the gateway: cassettes, the money cap,
rate limits, usage and the cell's record apply as for the built-in agents. `protocols` has the APIs
that it speaks; whichever is used, the same chat is redacted, passed on and recorded.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from pydantic import ValidationError

from pytest_autoweb.agents.outside.protocols.anthropic_api import AnthropicApi
from pytest_autoweb.agents.outside.protocols.chat_api import ChatApi
from pytest_autoweb.agents.outside.protocols.gemini_api import GeminiApi
from pytest_autoweb.agents.outside.protocols.one_form import ModelProtocol, Sent, as_json
from pytest_autoweb.agents.outside.protocols.responses_api import ResponsesApi
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models.agent_chat import ChatBody, as_text, is_picture
from pytest_autoweb.models.client import Client, ask_once
from pytest_autoweb.models.gateway_messages import LARGEST_BODY
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Exchange

_CODES = {401: "auth", 404: "not_found", 429: "limit", 503: "ended"}
"""The code of each status that says why a call was not passed on; others are invalid requests."""
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
        self._responses = ResponsesApi(spec.name)
        self.token = secrets.token_urlsafe(24)
        self.exchanges: list[Exchange] = []
        """The calls so far."""
        self.failed: ModelError | None = None
        """The error of the most recent call, if it failed."""
        self._http = _Server(self)

    @property
    def base_url(self) -> str:
        """Return the base URL for clients of OpenAI's APIs."""
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """Return the base URL for clients of Anthropic's and Gemini's APIs."""
        return f"http://127.0.0.1:{self._http.server_port}"

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

    def protocol_of(self, path: str, query: str, headers: Iterable[str]) -> ModelProtocol:
        """Return the protocol that a request is in: OpenAI's chat API unless it is another one."""
        given = {name.lower() for name in headers}
        if path.startswith(("/v1beta/", "/v1alpha/")) or "x-goog-api-key" in given:
            return GeminiApi(self.model, events="alt=sse" in query.split("&"))
        if path.startswith("/v1/messages") or "anthropic-version" in given:
            return AnthropicApi(self.model)
        return self._responses if path == "/v1/responses" else ChatApi(self.model)

    def answer(self, protocol: ModelProtocol, path: str, body: bytes) -> Sent:
        """Answer a request's body.

        Raises:
            ModelError: the call failed.
            RequestRefused: it was not made.
        """
        return protocol.answer(path, _object(body), self._reply)

    def _reply(self, asked: Mapping[str, Any]) -> Reply:
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
            raise RequestRefused(400, f"not a chat request: {error}") from None
        most = asked.get("max_completion_tokens") or asked.get("max_tokens")
        stop = asked.get("stop") or []
        return self._asked(
            ChatBody.model_validate(redacted_chat(chat.model_dump(), self._redact)),
            max_tokens=most if isinstance(most, int) and most > 0 else None,
            stop=tuple(
                self._redact(str(end)) for end in (stop if isinstance(stop, list) else [stop])
            ),
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


class _Server(LocalServer):
    def __init__(self, endpoint: ModelEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(endpoint.token, _Handler)


class _Handler(LocalHandler):
    server: _Server
    wrong_token = "wrong token: it belongs to one attempt of one cell"
    token_headers = ("x-api-key", "x-goog-api-key")

    def do_GET(self) -> None:
        self._serve(self._listed)

    def do_POST(self) -> None:
        self._serve(self._posted)

    def _serve(self, answer: Callable[[ModelProtocol, str], Sent]) -> None:
        path, _, query = self.path.partition("?")
        protocol = self.server.endpoint.protocol_of(path, query, self.headers.keys())
        try:
            self.check_token()
            status, sent = 200, answer(protocol, path)
        except RequestRefused as error:
            status = error.status
            code = _CODES.get(status, "invalid_request")
            sent = as_json(protocol.error(status, code, error.reason))
        except ModelError as error:
            status = _STATUS.get(error.cause, 400)
            sent = as_json(protocol.error(status, error.cause, error.detail))
        # The gateway has already retried where that may help.
        self.send(status, sent.body, sent.kind, {"x-should-retry": "false"})

    def _listed(self, protocol: ModelProtocol, path: str) -> Sent:
        listing = protocol.listing(path.rstrip("/"))
        if listing is None:
            raise RequestRefused(404, f"there is nothing to GET at {path}")
        return as_json(listing)

    def _posted(self, protocol: ModelProtocol, path: str) -> Sent:
        return self.server.endpoint.answer(protocol, path, self.read_body(LARGEST_BODY))
