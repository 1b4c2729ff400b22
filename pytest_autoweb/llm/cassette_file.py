"""The file format of a cassette, and what makes two requests the same for it."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm.client import Message, Request
from pytest_autoweb.llm.model_spec import ModelSpec
from pytest_autoweb.results import StageName, Usage

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

    # A recording has to fit whichever version of litellm is installed, and without it.
    made = spec.as_set()
    schema = None if spec.sources.get("constrained") == "registry" else request.json_schema
    recorded = RecordedRequest(
        messages=tuple(message(entry) for entry in request.messages),
        grammar=None if request.grammar is None else clean(request.grammar),
        json_schema=json.loads(clean(json.dumps(schema))),
        stop=tuple(clean(text) for text in request.stop),
        max_tokens=made.reply_limit(request.max_tokens, more_room=request.more_room),
        sampling={
            "model": made.litellm_model,
            "temperature": made.temperature,
            "seed": made.seed,
            "constrained": made.constrained,
            "extra_body": json.loads(clean(json.dumps(made.extra_body))),
            # Only there if it is set, so that older recordings keep their keys.
            **({"reasoning_effort": effort} if (effort := made.reasoning_effort) else {}),
            **({"computer": request.computer.model_dump()} if request.computer else {}),
            **({"chat": request.chat.beside_messages()} if request.chat else {}),
        },
    )
    return recorded, placeholders


def request_key(request: Request, recorded: RecordedRequest) -> str:
    """Return the SHA-256 of everything the reply depends on, plus stage and repeat."""
    parts = [request.model, request.stage, request.repeat, recorded.model_dump(mode="json")]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


CASSETTE_FORMAT: Literal["pytest-autoweb/cassette"] = "pytest-autoweb/cassette"
CASSETTE_VERSION: Literal[1] = 1

RecordedCause = Literal["refusal", "empty", "context_window"]
"""Failures worth recording: they are the model's own doing and would happen again."""

_STAGES = get_args(StageName)
_MAX_NAME_CHARS = 100


class RecordedError(BaseModel):
    """A call that ended without a usable reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cause: RecordedCause
    detail: str


class RecordedCall(BaseModel):
    """One recorded call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: StageName
    capture_mode: str = ""
    repeat: int = 1
    attempt: int = 1
    turn: int = 0
    key: str
    request: RecordedRequest
    reply: str | None = None
    error: RecordedError | None = None
    finish_reason: str = ""
    model_served: str = ""
    usage: Usage = Field(default_factory=Usage)

    @property
    def place(self) -> tuple[Any, ...]:
        """Return a sort key that puts the calls into the order in which a run makes them."""
        stage = _STAGES.index(self.stage)
        return (self.capture_mode, self.repeat, self.attempt, stage, self.turn)

    def is_at(self, request: Request) -> bool:
        """Tell whether the request belongs to the same place in a run as this recording."""
        return all(
            getattr(self, name) == getattr(request, name)
            for name in ("stage", "capture_mode", "repeat", "attempt", "turn")
        )


class Cassette(BaseModel):
    """All recorded calls of one model for one case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["pytest-autoweb/cassette"] = CASSETTE_FORMAT
    version: Literal[1] = CASSETTE_VERSION
    model: str
    case: str
    model_file: str = ""
    """File name of an embedded model; empty for any other."""
    quantisation: str = ""
    server: str = ""
    """The engine and its version, or the provider, that gave the replies."""
    recorded: str = ""
    """Date of the newest recording."""
    entries: tuple[RecordedCall, ...] = ()


def cassette_path(folder: Path, model: str, case_id: str) -> Path:
    """Return the path of the cassette that belongs to a model and a case."""
    return folder / safe_name(model) / f"{safe_name(case_id or '_session')}.json"


def safe_name(text: str) -> str:
    """Return a file name for any text; different texts get different names."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", text.replace("/", "__")).lstrip(".")
    # A name that can be turned back into its text is unique; every other one needs the hash.
    if name and name.replace("__", "/") == text and len(name) <= _MAX_NAME_CHARS:
        return name
    return f"{name[:_MAX_NAME_CHARS]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_cassette(path: Path) -> Cassette | None:
    """Read a cassette, or return None if there is no such file.

    Raises:
        SettingsError: the file is damaged or of another format.
    """
    try:
        return Cassette.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"cassette {path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        where = f"{field}: " if field else ""
        raise SettingsError(
            f"cassette {path} is damaged or not of this format ({where}{first['msg']}); "
            "restore it, or delete it and record it anew"
        ) from None


def write_cassette(path: Path, cassette: Cassette) -> None:
    """Write the cassette in one step, with its entries in the order of a run."""
    entries = tuple(sorted(cassette.entries, key=lambda entry: (entry.place, entry.key)))
    text = cassette.model_copy(update={"entries": entries}).model_dump_json(
        indent=1, exclude_defaults=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because only a rename within one file system is atomic.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
        # `mkstemp` creates files that only their owner can read; cassettes are shared.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
