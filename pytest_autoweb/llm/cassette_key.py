"""What makes two requests the same for a cassette: the words, not the ports of this run."""

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


class Placeholders:
    """Local ports and fence digests of one request, each with the placeholder that is stored.

    A web server of the run gets another port each time; a recording must not depend on it.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, text: str) -> str:
        """Replace what is volatile, numbering it in the order of first appearance."""
        return _VOLATILE.sub(self._name, text)

    def conceal(self, text: str) -> str:
        """Replace what was learnt, and nothing else."""
        if not self._names:
            return text
        longest_first = sorted(self._names, key=len, reverse=True)
        known = "|".join(re.escape(literal) for literal in longest_first)
        return re.sub(rf"(?<!\w)(?:{known})(?!\w)", lambda m: self._names[m[0]], text)

    def restore(self, text: str) -> str:
        """Put back what this run has in the place of each placeholder."""
        literals = {name: literal for literal, name in self._names.items()}
        return _PLACEHOLDER.sub(lambda m: literals.get(m[0], m[0]), text)

    def _name(self, match: re.Match[str]) -> str:
        kind = match.lastgroup
        number = sum(name.startswith(f"<{kind}:") for name in self._names.values()) + 1
        return self._names.setdefault(match[0], f"<{kind}:{number}>")


class RecordedMessage(BaseModel):
    """A message as it stands in a cassette."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    content: str
    images: tuple[str, ...] = ()
    """SHA-256 of each picture; the pictures themselves are not kept."""


class RecordedRequest(BaseModel):
    """All of a request that a reply depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[RecordedMessage, ...]
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int
    sampling: dict[str, Any]
    """The model's own settings that shape its replies."""


def recorded_request(
    request: Request, spec: ModelSpec, mask: Callable[[str], str]
) -> tuple[RecordedRequest, Placeholders]:
    """The request as a cassette keeps it: no ports, no keys, no pictures."""
    places = Placeholders()

    def clean(text: str) -> str:
        return mask(places.learn(text))

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
    return recorded, places


def request_key(request: Request, recorded: RecordedRequest) -> str:
    """SHA-256 over everything the reply depends on, and the stage and repeat it belongs to."""
    parts = [request.model, request.stage, request.repeat, recorded.model_dump(mode="json")]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
