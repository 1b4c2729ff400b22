"""The arguments of a service call, and the cause of a failed one.

The arguments are in OpenAI's form: litellm takes them, and so does `openai_api` without it. An
error is mapped to one of the report's causes and keeps the service's own words. The errors are
those of litellm and of the libraries below it, or those of `openai_api`, which have the same
attributes.
"""

import re
from collections.abc import Mapping
from typing import Any

from pytest_autoweb.base.errors import ModelCause
from pytest_autoweb.models import openai_api
from pytest_autoweb.models.client import Message, Request
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, Endpoint, ModelSpec

LIMITS = (OLDER_LIMIT, NEWER_LIMIT) = ("max_tokens", "max_completion_tokens")
"""The names of the field that limits a reply. Servers know one of them, or both."""

_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
# The strict mode of some services refuses a schema with these.
_NOT_STRICT = frozenset({"maxLength", "minLength"})

_CAUSES: tuple[tuple[str, ModelCause], ...] = (
    # Names of litellm's exceptions, looked up along the class hierarchy; first match wins.
    ("ContextWindowExceededError", "context_window"),
    ("ContentPolicyViolationError", "refusal"),
    ("CallOverdue", "timeout"),
    ("Timeout", "timeout"),
    ("APITimeoutError", "timeout"),
    ("TimeoutError", "timeout"),
    ("RateLimitError", "rate_limit"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("APIResponseValidationError", "parse"),
)
# Servers with an OpenAI-compatible interface often name these causes only in their message.
_PATTERNS: tuple[tuple[re.Pattern[str], ModelCause], ...] = (
    (
        re.compile(
            r"context[ _](?:length|window|size)|maximum context|prompt is too long"
            r"|too many tokens|exceed_context",
            re.IGNORECASE,
        ),
        "context_window",
    ),
    (
        re.compile(r"content[_ ](?:policy|filter)|safety system|responsible_?ai", re.IGNORECASE),
        "refusal",
    ),
)
# Some libraries report a missing key as a general error.
_NO_KEY = re.compile(
    r"missing credentials|api[_ ]key client option|no api[_ ]key"
    r"|api[_ ]key is (?:missing|required)",
    re.IGNORECASE,
)
_GARBLED = re.compile(
    r"Received response - <APIResponse \[2|Empty or invalid response|is not a list"
    r"|Expecting (?:value|property|',')|Unterminated string|JSONDecodeError|Extra data:"
)
_GARBLED_TYPES = (LookupError, TypeError, AttributeError, ValueError)
_STATUS_CAUSES: Mapping[int, ModelCause] = {
    401: "auth",
    403: "auth",
    408: "timeout",
    413: "context_window",
    429: "rate_limit",
    504: "timeout",
}


def request_arguments(
    spec: ModelSpec, request: Request, target: Endpoint, *, through_litellm: bool
) -> dict[str, Any]:
    """Return the arguments of a call.

    Args:
        spec: the model's settings.
        request: what to send.
        target: the server to call.
        through_litellm: whether litellm makes the call.
    """
    arguments: dict[str, Any] = {
        "model": target.model,
        "messages": request.chat.shown_to(vision=spec.vision)
        if request.chat
        else _messages(request, spec),
        "timeout": spec.timeout,
        # Retries are made by `complete`, which reserves money for each of them.
        "num_retries": 0,
        "max_retries": 0,
    }
    limit = _limit(spec, request, () if through_litellm else openai_api.limits_of(target.api_base))
    body = _extra_body(spec, request)
    if through_litellm and NEWER_LIMIT in limit:
        # As an argument, litellm would give it its older name again for many servers.
        body = limit | body
    else:
        arguments |= limit
    optional: dict[str, Any] = {
        "api_base": target.api_base,
        "api_key": target.api_key,
        "temperature": spec.temperature,
        "seed": spec.seed,
        "reasoning_effort": spec.reasoning_effort,
        "stop": list(request.stop) or None,
        "response_format": _response_format(spec, request),
        "extra_body": body or None,
    }
    ollama = target.model.partition("/")[0] in OLLAMA_PROVIDERS
    if ollama:
        # Ollama silently truncates prompts that are longer than its default context.
        optional["num_ctx"] = spec.context_tokens
    if through_litellm and spec.reasoning_effort and not (spec.reasoning or ollama):
        # litellm would refuse it for models that it does not know to reason.
        optional["allowed_openai_params"] = ["reasoning_effort"]
    if request.chat:
        optional |= request.chat.beside_messages()
    given = {name: value for name, value in optional.items() if value is not None}
    return arguments | {name: value for name, value in given.items() if name not in spec.refuses}


def _limit(spec: ModelSpec, request: Request, names: tuple[str, ...]) -> dict[str, int]:
    """Return the limit of the reply, under its first name that the model does not refuse."""
    name = next((name for name in names or LIMITS if name not in spec.refuses), None)
    most = spec.reply_limit(request.max_tokens, more_room=request.more_room)
    return {name: most} if name else {}


def _messages(request: Request, spec: ModelSpec) -> list[dict[str, Any]]:
    """Return the messages as litellm takes them, with marks for the service's cache.

    The prefix shared with the next call ends after the system's text, and after the model's last
    reply: the page follows, and it differs in each turn.
    """
    messages = [_message(message, spec) for message in request.messages]
    if spec.prompt_caching:
        for role in ("system", "assistant"):
            last = next((m for m in reversed(messages) if m["role"] == role), None)
            if last is not None and last["content"]:
                block = {"type": "text", "text": last["content"]}
                last["content"] = [{**block, "cache_control": {"type": "ephemeral"}}]
    return messages


def _message(message: Message, spec: ModelSpec) -> dict[str, Any]:
    if not message.images or not spec.vision:
        return {"role": message.role, "content": message.content}
    pictures = [{"type": "image_url", "image_url": {"url": uri}} for uri in message.images]
    return {
        "role": message.role,
        "content": [{"type": "text", "text": message.content}, *pictures],
    }


def _response_format(spec: ModelSpec, request: Request) -> dict[str, Any] | None:
    # A server accepts either a grammar or a schema, not both.
    grammar_wins = spec.constrained == "gbnf" and request.grammar is not None
    if request.json_schema is None or spec.constrained == "none" or grammar_wins:
        return None
    schema = request.json_schema
    if not spec.is_set("constrained"):
        schema = _for_services(schema)
    form = {"name": "reply", "schema": schema, "strict": _names_all_fields(schema)}
    return {"type": "json_schema", "json_schema": form}


def _for_services(schema: Any) -> Any:
    """Return a schema with only keywords that all services accept: each value typed, no lengths."""
    if isinstance(schema, list):
        return [_for_services(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    found = {key: _for_services(part) for key, part in schema.items() if key not in _NOT_STRICT}
    if isinstance(values, list) and values and "type" not in schema:
        found["type"] = _TYPES.get(type(values[0]), "string")
    return found


def _names_all_fields(schema: Any) -> bool:
    """Tell whether all fields of all objects are required, as strict mode demands."""
    if isinstance(schema, list):
        return all(map(_names_all_fields, schema))
    if not isinstance(schema, dict):
        return True
    fields = schema.get("properties")
    if isinstance(fields, dict) and set(fields) != set(schema.get("required", ())):
        return False
    return all(map(_names_all_fields, schema.values()))


def _extra_body(spec: ModelSpec, request: Request) -> dict[str, Any]:
    body = dict(spec.extra_body)
    if spec.constrained == "gbnf" and request.grammar is not None:
        body["grammar"] = request.grammar
    if spec.stream and not request.computer:
        # Not an argument, since litellm would then assemble the pieces itself and lose the serving
        # model's name, refusals, and errors with status 200.
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


# A person has to pay before another call can succeed. Services say so with various statuses.
_NO_MONEY = re.compile(
    r"insufficient[_ ]?(?:quota|balance|credits?|funds)|billing[_ ](?:hard[_ ]limit|not[_ ]active)"
    r"|credit balance is too low|check your billing details|payment[_ ]required|arrearage|余额不足"
    r"|(?:requires|used all available|not enough|out of|no) (?:\w+ ){0,2}credits"
    r"|exceeded[_ ]current[_ ]quota|monthly spending limit",
    re.IGNORECASE,
)
# Said by OpenAI of an empty account, and by Google of the calls of a minute.
_QUOTA = re.compile(r"exceeded your current quota", re.IGNORECASE)
_LATER = re.compile(r"retry|per[_ ]?(?:minute|day)|try again", re.IGNORECASE)


def out_of_money(error: Exception) -> bool:
    """Tell whether the service refuses calls until somebody pays."""
    status = status_of(error)
    if status == 402:
        return True
    if status is None or not 400 <= status < 500:
        return False
    said = _whole_text(error)
    return bool(_NO_MONEY.search(said) or (_QUOTA.search(said) and not _LATER.search(said)))


def _whole_text(error: Exception) -> str:
    """Return all that is said in a refusal; libraries quote only its message."""
    seen: list[BaseException] = [error]
    while (under := seen[-1].__cause__ or seen[-1].__context__) and under not in seen:
        seen.append(under)
    bodies = (getattr(each, "body", None) or getattr(each, "text", "") for each in seen)
    return " ".join((words_of(error), *map(str, seen[1:]), *map(str, bodies)))


def cause_of(error: Exception) -> ModelCause:
    """Return the report's cause for the failed call."""
    if out_of_money(error):
        return "auth"
    names = {base.__name__ for base in type(error).__mro__}
    for name, cause in _CAUSES:
        if name in names:
            return cause
    text = str(error)
    status = status_of(error)
    if _NO_KEY.search(text):
        return "auth"
    # A malformed reply surfaces as an ordinary Python error inside litellm's parsing code.
    if (status is None and isinstance(error, _GARBLED_TYPES)) or _GARBLED.search(text):
        return "parse"
    if status is not None and status in _STATUS_CAUSES:
        return _STATUS_CAUSES[status]
    if status is not None and 400 <= status < 500:
        # The provider's own words are often only in the wrapped error.
        body = f"{text} {error.__cause__!r}"
        for pattern, cause in _PATTERNS:
            if pattern.search(body):
                return cause
    return "unavailable"


def is_transient(error: Exception) -> bool:
    """Tell whether the same call may succeed if retried shortly."""
    cause = cause_of(error)
    if cause in ("rate_limit", "timeout"):
        return True
    return cause == "unavailable" and (status_of(error) or 0) >= 500


def may_be_billed(error: Exception) -> bool:
    """Tell whether the service may charge for a call without a usable reply."""
    return cause_of(error) in ("timeout", "parse")


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of a refusal, or None."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def describe(error: Exception, cause: ModelCause, tries: int, *, limit_s: float | None) -> str:
    """Return the provider's own message without the prefixes that libraries add.

    Args:
        error: the failure of the last try.
        cause: its cause.
        tries: the number of tries.
        limit_s: the time limit of the call if it was reached, else None.
    """
    text = re.sub(r"^(?:litellm\.)?(?:\w+(?:Error|Timeout): )+", "", words_of(error))
    text = re.sub(r"^\w+Exception - ", "", text).split("\nTraceback")[0]
    text = " ".join(text.split())[:600] or type(error).__name__
    if cause == "timeout":
        text = f"no reply in time ({text})"
        if limit_s is not None:
            text = (
                f"no reply in time: a call may take {limit_s:g} s until the last byte of its "
                "reply (`timeout` in the model's settings)"
            )
    return f"{text} (after {tries} tries)" if tries > 1 else text


def words_of(error: Exception) -> str:
    """Return the error's message."""
    # litellm raises some errors without text, with the message in an attribute.
    return str(error).strip() or str(getattr(error, "message", "") or "").strip()
