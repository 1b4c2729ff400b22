"""The part of a request that identifies its recording, without ports and other volatile text."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.spec import ModelSpec

_VOLATILE = re.compile(
    r"""
      (?P<origin>(?<![\w.-])(?:127\.0\.0\.1|localhost|\[::1\])(?::|%3[Aa])\d{1,5}(?!\d))
    | (?<=[ ])(?P<mark>[0-9a-f]{8})(?=>>)       # the digest in a fence's lines (prompts.fence)
    """,
    re.VERBOSE,
)
_PLACEHOLDER = re.compile(r"<(?:origin|mark):\d+>")


class RequestPlaceholders:
    """The volatile pieces of one request, each with the placeholder that is stored instead.

    Volatile are local ports, which differ in each run, and the digests in fence lines, which
    follow from text that holds such ports.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, text: str) -> str:
        """Replace volatile pieces, numbering them in the order in which they first appear."""
        return _VOLATILE.sub(self._name, text)

    def conceal(self, text: str) -> str:
        """Replace only the pieces that `learn` has already seen."""
        if not self._names:
            return text
        # A port may be the beginning of a longer one, which must be replaced first.
        longest_first = sorted(self._names, key=len, reverse=True)
        known = "|".join(re.escape(literal) for literal in longest_first)
        return re.sub(rf"(?<!\w)(?:{known})(?!\w)", lambda m: self._names[m[0]], text)

    def restore(self, text: str) -> str:
        """Replace each placeholder by the value that this run has for it."""
        literals = {name: literal for literal, name in self._names.items()}
        return _PLACEHOLDER.sub(lambda m: literals.get(m[0], m[0]), text)

    def _name(self, match: re.Match[str]) -> str:
        kind = match.lastgroup
        number = sum(name.startswith(f"<{kind}:") for name in self._names.values()) + 1
        return self._names.setdefault(match[0], f"<{kind}:{number}>")


class RecordedMessage(BaseModel):
    """A chat message as stored in a cassette."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    content: str
    images: tuple[str, ...] = ()
    """SHA-256 of each picture; the pictures themselves are not stored."""


class RecordedRequest(BaseModel):
    """Every part of a request that can influence the reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[RecordedMessage, ...]
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int
    sampling: dict[str, Any]
    """The model settings that influence its replies."""


def recorded_request(
    request: Request, spec: ModelSpec, mask: Callable[[str], str]
) -> tuple[RecordedRequest, RequestPlaceholders]:
    """Return the request as a cassette stores it: without ports, keys and pictures."""
    placeholders = RequestPlaceholders()

    def clean(text: str) -> str:
        return mask(placeholders.learn(text))

    def message(entry: Message) -> RecordedMessage:
        digests = (hashlib.sha256(uri.encode()).hexdigest() for uri in entry.images)
        return RecordedMessage(role=entry.role, content=clean(entry.content), images=tuple(digests))

    recorded = RecordedRequest(
        messages=tuple(message(entry) for entry in request.messages),
        grammar=None if request.grammar is None else clean(request.grammar),
        json_schema=json.loads(clean(json.dumps(request.json_schema))),
        stop=tuple(clean(text) for text in request.stop),
        max_tokens=min(spec.max_tokens, request.max_tokens or spec.max_tokens),
        sampling={
            "model": spec.litellm_model,
            "temperature": spec.temperature,
            "seed": spec.seed,
            "constrained": spec.constrained,
            "extra_body": json.loads(clean(json.dumps(spec.extra_body))),
        },
    )
    return recorded, placeholders


def request_key(request: Request, recorded: RecordedRequest) -> str:
    """Return the SHA-256 of everything the reply depends on, plus stage and repeat."""
    parts = [request.model, request.stage, request.repeat, recorded.model_dump(mode="json")]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
