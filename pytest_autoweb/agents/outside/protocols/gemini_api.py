"""Gemini's API: `generateContent`, `streamGenerateContent` and `countTokens` of any model's name.

Sources: https://ai.google.dev/api/generate-content, `…/api/tokens`, `…/api/models` and, for errors,
https://cloud.google.com/apis/design/errors. As there, names may be written `inlineData` or
`inline_data`. Thoughts and their signatures are not passed on; what runs at Google (its own tools,
files, caches) is refused.
"""

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_autoweb.agents.outside.protocols.one_form import (
    Conversation,
    PassOn,
    Sent,
    as_events,
    as_json,
    calls_of,
    chosen_function,
    function_tool,
    json_form,
    picture_part,
    text_of,
    text_part,
    tokens_of,
    understood,
    without_blanks,
)
from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.models.messages import Reply
from pytest_autoweb.results.records import Usage

METHODS = (GENERATE, STREAM, COUNT) = ("generateContent", "streamGenerateContent", "countTokens")
_MODELS = re.compile(r"/v1(?:beta|alpha)?/models(?:/(?P<name>[^:]+))?")
_STATUS: Mapping[int, str] = {
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ENDINGS: Mapping[str, str] = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_MODES: Mapping[str, str] = {"NONE": "none", "ANY": "required"}
"""The modes of function calling that say more than that the model decides."""


class GeminiApi:
    """Gemini's API of an attempt's endpoint.

    Args:
        model: the name of the cell's model.
        events: whether streams are events, as `alt=sse` in the URL asks, and not one list.
    """

    def __init__(self, model: str, *, events: bool = True) -> None:
        self._model, self._events = model, events

    def answer(self, path: str, asked: Mapping[str, Any], pass_on: PassOn) -> Sent:
        """Answer a request; see `ModelProtocol`."""
        method = path.rpartition(":")[2]
        if method not in METHODS:
            raise RequestRefused(404, f"there is only models/NAME with {', '.join(METHODS)}")
        if method == COUNT:
            given = _field(asked, "generateContentRequest") or asked
            return as_json({"totalTokens": tokens_of(understood(_chat_of, given, kind=method))})
        answered = _answer_of(pass_on(understood(_chat_of, asked, kind=method)), self._model)
        if method == GENERATE:
            return as_json(answered)
        pieces = list(_pieces(answered))
        return as_events(pieces, named=False) if self._events else as_json(pieces)

    def listing(self, path: str) -> Mapping[str, Any] | None:
        """Return the list of the one model; see `ModelProtocol`."""
        found = _MODELS.fullmatch(path)
        if found is None:
            return None
        model = {
            "name": f"models/{self._model}",
            "displayName": self._model,
            "supportedGenerationMethods": list(METHODS),
        }
        return model if found["name"] else {"models": [model]}

    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        """Return an error in Google's form; see `ModelProtocol`."""
        kind = _STATUS.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
        return {"error": {"code": status, "message": message, "status": kind}}


def _field(given: Any, name: str) -> Any:
    """Return a field by either of its two names."""
    if not isinstance(given, Mapping):
        return None
    if name in given:
        return given[name]
    return given.get(re.sub(r"[A-Z]", lambda upper: f"_{upper[0].lower()}", name))


def _chat_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request.

    Raises:
        ValueError: it asks for a feature that only the service itself offers.
    """
    if _field(asked, "cachedContent"):
        raise ValueError("cachedContent is not supported: nothing is kept at a service")
    settings = _field(asked, "generationConfig") or {}
    if _field(settings, "candidateCount") not in (None, 1):
        raise ValueError("candidateCount must be 1")
    functions = [_function(one) for one in _declared(asked)]
    calling = _field(_field(asked, "toolConfig"), "functionCallingConfig") or {}
    allowed: Sequence[Any] = _field(calling, "allowedFunctionNames") or ()
    if allowed:
        functions = [one for one in functions if one["function"]["name"] in allowed]
    choice: Any = _MODES.get(str(calling.get("mode")).upper())
    return without_blanks(
        {
            "messages": _messages(asked),
            "tools": functions,
            "tool_choice": chosen_function(allowed[0])
            if choice == "required" and len(allowed) == 1
            else choice,
            "response_format": _form(settings),
            "max_tokens": _field(settings, "maxOutputTokens"),
            "stop": list(_field(settings, "stopSequences") or ()),
        }
    )


def _messages(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    talk = Conversation()
    if system := _field(asked, "systemInstruction"):
        talk.say("system", _words(system.get("parts") or ()))
    contents = asked.get("contents") or ()
    calls = _CallIds()
    for content in [contents] if isinstance(contents, Mapping) else contents:
        parts = [part for part in content.get("parts") or () if not part.get("thought")]
        role = content.get("role") or "user"
        if role not in ("user", "model", "function"):
            raise ValueError(f"a content's role must be user or model, not {role!r}")
        for part in parts:
            if result := _field(part, "functionResponse"):
                talk.result(calls.answered(result), _result(result))
        beside = [
            part
            for part in parts
            if not (_field(part, "functionResponse") or _field(part, "functionCall"))
        ]
        if beside and role == "model":
            talk.say("assistant", _words(beside))
        elif beside:
            talk.say("user", [_part(part) for part in beside])
        for part in parts:
            if call := _field(part, "functionCall"):
                given = json.dumps(call.get("args") or {}, ensure_ascii=False)
                talk.call(calls.made(call), str(call["name"]), given)
    return talk.messages()


class _CallIds:
    """The ids of calls. Gemini's may have none: then results follow the calls in order."""

    def __init__(self) -> None:
        self._made = 0
        self._open: defaultdict[str, list[str]] = defaultdict(list)

    def made(self, call: Mapping[str, Any]) -> str:
        self._made += 1
        call_id = str(call.get("id") or f"call_{self._made}")
        self._open[str(call.get("name"))].append(call_id)
        return call_id

    def answered(self, result: Mapping[str, Any]) -> str:
        waiting = self._open[str(result.get("name"))]
        given = str(result.get("id") or (waiting[0] if waiting else ""))
        if not given:
            raise ValueError(f"a result of {result.get('name')!r} answers no call")
        if given in waiting:
            waiting.remove(given)
        return given


def _words(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of parts that may be only text; a stream's pieces are parts of one text."""
    found = [_part(part) for part in parts]
    if any(part["type"] != "text" for part in found):
        raise ValueError("there are pictures where only texts may be")
    return "".join(part["text"] for part in found)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if "text" in part:
        return text_part(part["text"])
    data = _field(part, "inlineData")
    kind = str(_field(data, "mimeType"))
    if data and kind.startswith("image/"):
        # Gemini's clients write bytes in the alphabet for URLs.
        return picture_part(kind, str(data.get("data")).translate({45: "+", 95: "/"}))
    names = ", ".join(sorted(part))
    raise ValueError(f"a part with {names} is not supported: there are texts, and inline pictures")


def _result(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a result: its only text as it is, else its JSON, and its pictures."""
    said = result.get("response") or {}
    values = list(said.values())
    plain = len(values) == 1 and isinstance(values[0], str) and "error" not in said
    text = values[0] if plain else json.dumps(said, ensure_ascii=False)
    return [text_part(text), *(_part(part) for part in result.get("parts") or ())]


def _declared(asked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the functions that a request offers."""
    for tool in asked.get("tools") or ():
        declared = _field(tool, "functionDeclarations")
        if declared is None:
            names = ", ".join(sorted(tool))
            raise ValueError(
                f"tools with {names} run at the service, and are not supported; there are "
                "functionDeclarations"
            )
        yield from declared


def _function(declared: Mapping[str, Any]) -> dict[str, Any]:
    schema = _field(declared, "parametersJsonSchema") or _schema(declared.get("parameters"))
    return function_tool(declared["name"], declared.get("description"), schema)


def _form(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    schema = _field(settings, "responseJsonSchema") or _schema(_field(settings, "responseSchema"))
    if schema:
        return json_form(schema)
    is_json = _field(settings, "responseMimeType") == "application/json"
    return {"type": "json_object"} if is_json else None


def _schema(given: Any) -> Any:
    """Return a schema of Gemini's, with types such as `STRING`, as a JSON schema."""
    if isinstance(given, list):
        return [_schema(inner) for inner in given]
    if not isinstance(given, Mapping):
        return given
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name == "properties" and isinstance(value, Mapping):
            made[name] = {field: _schema(inner) for field, inner in value.items()}
        elif name == "type" and isinstance(value, str):
            made[name] = value.lower()
        elif name in ("items", "anyOf", "any_of", "additionalProperties"):
            made["anyOf" if name == "any_of" else name] = _schema(value)
        elif name not in ("nullable", "propertyOrdering", "property_ordering"):
            made[name] = value
    if given.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def _answer_of(reply: Reply, model: str) -> dict[str, Any]:
    """Return a reply as Gemini has it."""
    text = text_of(reply)
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        for call in calls_of(reply)
    ]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": _ENDINGS.get(reply.finish_reason, "STOP"),
        "index": 0,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(reply.usage),
        "modelVersion": model,
        "responseId": secrets.token_urlsafe(12),
    }


def _usage(usage: Usage) -> dict[str, int]:
    """Return the usage; the tokens of a candidate do not include those of thoughts."""
    return {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "candidatesTokenCount": max(0, usage.output_tokens - usage.reasoning_tokens),
        "thoughtsTokenCount": usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }


def _pieces(answered: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a whole answer in the pieces of a stream: one part each, the last with the reason."""
    (candidate,) = answered["candidates"]
    parts = candidate["content"]["parts"] or [{"text": ""}]
    for number, part in enumerate(parts, 1):
        piece = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(parts):
            piece["finishReason"] = candidate["finishReason"]
        yield {**answered, "candidates": [piece]}
