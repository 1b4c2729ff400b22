"""What a service call is made with: messages, limits, schema, effort, marks for the cache.

The arguments are in OpenAI's form: litellm takes them, and so does `openai_api` without it.
"""

from collections.abc import Mapping
from typing import Any

from pytest_autoweb.models import openai_api
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, Endpoint, ModelSpec

LIMITS = (OLDER_LIMIT, NEWER_LIMIT) = ("max_tokens", "max_completion_tokens")
"""The names of the field that limits a reply. Servers know one of them, or both."""

_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
# The strict mode of some services refuses a schema with these.
_NOT_STRICT = frozenset({"maxLength", "minLength"})


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
    ollama = spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS
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
