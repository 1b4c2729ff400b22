"""Replies of OpenAI-compatible servers, brought into the form that the API promises.

Some servers report an error with status 200, and some send the text of a reply in parts or as a
number. `tidying_client` corrects that for litellm, and `openai_api` for calls without it.
"""

import json
from typing import Any

_WORDS_OF_STATUS = (
    # Found in the code, the type or the message of an error, in this order.
    (("rate_limit", "rate limit", "too many requests", "overloaded", "quota"), 429),
    (("auth", "api key", "api_key", "permission", "forbidden"), 401),
    (("context", "invalid", "unsupported", "content_filter", "content_policy", "safety"), 400),
)
_UNKNOWN_ERROR = 500
_REASONING_PARTS = ("thinking", "reasoning", "reasoning_text")


def error_status(found: Any) -> int | None:
    """Return the status that an error sent with status 200 should have had, or None if it is none.

    Args:
        found: the body, read from JSON; an error that is a mere text becomes an object.
    """
    if not isinstance(found, dict) or found.get("choices") or not found.get("error"):
        return None
    error = found["error"]
    if not isinstance(error, dict):
        found["error"] = error = {"message": str(error)}
    for name in ("code", "status", "status_code"):
        code = error.get(name)
        if str(code).isdecimal() and 400 <= int(str(code)) < 600:
            return int(str(code))
    words = " ".join(str(error.get(name) or "") for name in ("code", "type", "message")).lower()
    for known, status in _WORDS_OF_STATUS:
        if any(word in words for word in known):
            return status
    return _UNKNOWN_ERROR


def tidy_choices(found: Any) -> bool:
    """Turn the contents of replies that are no texts into texts; tell whether there were any."""
    if not isinstance(found, dict) or not isinstance(choices := found.get("choices"), list):
        return False
    changed = False
    for choice in choices:
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        if isinstance(content, list):
            message["content"], thoughts = _joined(content)
            if thoughts:
                message.setdefault("reasoning_content", thoughts)
            changed = True
        elif content is not None and not isinstance(content, str):
            message["content"] = json.dumps(content, ensure_ascii=False)
            changed = True
    return changed


def _joined(parts: list[Any]) -> tuple[str, str]:
    """Return the text of all parts, and apart from it their reasoning."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if not isinstance(part, dict):
            texts.append(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False))
        elif part.get("type") in _REASONING_PARTS:
            inner = part.get("thinking") or part.get("reasoning") or part.get("text")
            thoughts.append(_joined(inner)[0] if isinstance(inner, list) else str(inner or ""))
        else:
            texts.append(str(part.get("text") or ""))
    return "".join(texts), "".join(thoughts)
