"""Recording and replay of model replies, and the file format of a cassette.

This happens inside the gateway, so that all workers share one store.
"""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_autoweb.base.errors import CassetteMiss, ModelError, SettingsError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.base.passing_lock import PassingLock
from pytest_autoweb.base.whole_characters import whole_json
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import StageName, Usage
from pytest_autoweb.settings.record_modes import RecordMode

_VOLATILE = re.compile(
    r"""
      (?P<origin>(?<![\w.-])(?:127\.0\.0\.1|localhost|\[::1\])(?::|%3[Aa])\d{1,5}(?!\d))
    | (?<=[ ])(?P<mark>[0-9a-f]{8})(?=>>)       # the digest in a fence's lines (prompts.fence)
    | (?<=Wall[ ]time:[ ])(?P<seconds>\d+\.\d+)(?=[ ]seconds\b)   # Codex, at a tool's result
    """,
    re.VERBOSE,
)
_PLACEHOLDER = re.compile(r"<(?:origin|mark):\d+>")

_WIDTH = 160
_ADVICE = (
    "To record anew: --autoweb-record-mode=new_episodes (adds what is missing) "
    "or --autoweb-record-mode=all (replaces everything)."
)


class RequestPlaceholders:
    """The volatile pieces of one request, each with the placeholder that is stored instead.

    Volatile pieces are local ports, which differ in each run, the digests in fence lines, which
    depend on text that contains such ports, and how long a tool of Codex took.
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
        # A port may be a prefix of a longer one, which must be replaced first.
        longest_first = sorted(self._names, key=len, reverse=True)
        known = "|".join(re.escape(literal) for literal in longest_first)
        return re.sub(rf"(?<!\w)(?:{known})(?!\w)", lambda m: self._names[m[0]], text)

    def restore(self, text: str) -> str:
        """Replace each placeholder with this run's value."""
        literals = {name: literal for literal, name in self._names.items()}
        return _PLACEHOLDER.sub(lambda m: literals.get(m[0], m[0]), text)

    def _name(self, match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind == "seconds":
            # Nothing refers to them, and two may be equal in one run alone.
            return "<seconds>"
        number = sum(name.startswith(f"<{kind}:") for name in self._names.values()) + 1
        return self._names.setdefault(match[0], f"<{kind}:{number}>")


class _Part(BaseModel):
    # Only sessions that record or replay need them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RecordedMessage(_Part):
    """A chat message as stored in a cassette."""

    role: str
    content: str
    images: tuple[str, ...] = ()
    """SHA-256 of each picture; the pictures themselves are not stored."""


class RecordedRequest(_Part):
    """Every part of a request that can influence the reply."""

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

    # A recording must match with any version of litellm, and without it.
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
            # Present only if set, so that older recordings keep their keys.
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


class RecordedError(_Part):
    """A call that ended without a usable reply."""

    cause: RecordedCause
    detail: str


class RecordedCall(_Part):
    """One recorded call."""

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
    fingerprint: str = ""
    usage: Usage = Field(default_factory=Usage)

    @property
    def place(self) -> tuple[Any, ...]:
        """Return a sort key for the order in which a run makes the calls."""
        stage = _STAGES.index(self.stage)
        return (self.capture_mode, self.repeat, self.attempt, stage, self.turn)

    def is_at(self, request: Request) -> bool:
        """Tell whether the request has the same place in a run as this recording."""
        return all(
            getattr(self, name) == getattr(request, name)
            for name in ("stage", "capture_mode", "repeat", "attempt", "turn")
        )


class Cassette(_Part):
    """All recorded calls of one model for one case."""

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
        return Cassette.model_validate_json(whole_json(path.read_bytes()))
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
    replace_text(path, text + "\n")


def explain_miss(
    request: Request,
    now: RecordedRequest,
    cassette: Cassette | None,
    path: Path,
    folder: Path,
) -> str:
    """Return the text of a `CassetteMiss`: which call it is, what differs, and how to record it."""
    file_name = path.relative_to(folder.parent).as_posix()
    where = (
        f"no recording for model {request.model}, case {request.case_id or '(none)'}"
        f"{f', {request.capture_mode}' if request.capture_mode else ''}, repeat {request.repeat}, "
        f"attempt {request.attempt}, stage {request.stage}, turn {request.turn}"
    )
    return f"{where}: {_reason(request, now, cassette, file_name)}\n{_ADVICE}"


def _reason(
    request: Request, now: RecordedRequest, cassette: Cassette | None, file_name: str
) -> str:
    if cassette is None:
        return f"there is no cassette {file_name}."
    here = [entry for entry in cassette.entries if entry.is_at(request)]
    if not here:
        places = ", ".join(
            dict.fromkeys(
                f"{entry.stage}/{entry.turn} of attempt {entry.attempt}"
                for entry in sorted(cassette.entries, key=lambda entry: entry.place)
                if (entry.capture_mode, entry.repeat) == (request.capture_mode, request.repeat)
            )
        )
        known = places or "no such cell"
        return f"the cassette {file_name} has nothing for this call; it has {known}."
    return f"the request differs from the one in {file_name}.\n{_difference(here[0].request, now)}"


def _difference(old: RecordedRequest, new: RecordedRequest) -> str:
    for number, (before, after) in enumerate(zip(old.messages, new.messages, strict=False), 1):
        if before != after:
            return f"message {number} ({after.role}) {_message_difference(before, after)}"
    if len(old.messages) != len(new.messages):
        return f"recorded: {len(old.messages)} messages, now: {len(new.messages)}"
    if (old.grammar or "") != (new.grammar or ""):
        return f"the grammar {_line_difference(old.grammar or '', new.grammar or '')}"
    before_settings = old.model_dump(exclude={"messages", "grammar"})
    after_settings = new.model_dump(exclude={"messages", "grammar"})
    # Compared one by one, to name the setting that changed.
    before_settings |= before_settings.pop("sampling")
    after_settings |= after_settings.pop("sampling")
    changed = [
        f"{name}: recorded {_short(repr(before_settings.get(name)))}, now {_short(repr(value))}"
        for name, value in after_settings.items()
        if before_settings.get(name) != value
    ]
    return "settings changed: " + "; ".join(changed)


def _message_difference(before: RecordedMessage, after: RecordedMessage) -> str:
    if before.role != after.role:
        return f"was of role {before.role}"
    if before.content != after.content:
        return _line_difference(before.content, after.content)
    return "has other pictures"


def _line_difference(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    for number, (left, right) in enumerate(zip(before, after, strict=False), 1):
        if left != right:
            return _pair(number, _window(left, right), _window(right, left))
    number = min(len(before), len(after)) + 1
    ended = "(the text ends here)"
    left = before[number - 1] if len(before) >= number else ended
    right = after[number - 1] if len(after) >= number else ended
    return _pair(number, _short(left), _short(right))


def _pair(number: int, left: str, right: str) -> str:
    return f"differs first in line {number}:\n  recorded: {left}\n  now:      {right}"


def _window(line: str, other: str) -> str:
    """Return the part of a long line around its first difference from the other line."""
    pairs = enumerate(zip(line, other, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), min(len(line), len(other)))
    start = max(0, first - _WIDTH // 2) if len(line) > _WIDTH else 0
    return ("…" if start else "") + _short(line[start:])


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


_RECORDED_CAUSES = get_args(RecordedCause)


class ReplySource(Struct, frozen=True):
    """The origin of recorded replies, for the header of a cassette."""

    model_file: str = ""
    quantisation: str = ""
    server: str = ""


class CassetteStore:
    """All cassettes of a session; safe to use from many threads and from several sessions."""

    def __init__(
        self,
        folder: Path,
        mode: RecordMode,
        *,
        mask: Callable[[str], str],
        today: Callable[[], date] = date.today,
    ) -> None:
        self._folder, self._mode, self._mask, self._today = folder, mode, mask, today
        self._lock = threading.Lock()
        self._existed: dict[Path, bool] = {}
        self._renewed: set[tuple[Path, str, int]] = set()
        self._read: dict[Path, tuple[tuple[int, int], Cassette]] = {}

    def replay(self, request: Request, spec: ModelSpec) -> Reply | None:
        """Return the recorded reply, or None if the model has to be called (and recorded).

        Raises:
            CassetteMiss: the mode only replays, and no recording fits.
            ModelError: the recorded call had failed, or the cassette is damaged.
        """
        if self._mode == "off":
            return None
        path = cassette_path(self._folder, request.model, request.case_id)
        with self._lock:
            # Mode `once` depends on the state before the first call, not on later recordings.
            existed = self._existed.setdefault(path, path.is_file())
            if self._mode == "all":
                return None
            cassette = self._load(path, request.model)
        recorded, placeholders = recorded_request(request, spec, self._mask)
        entry = self._matching(cassette, request, request_key(request, recorded))
        if entry is not None:
            return _replayed(entry, request, placeholders)
        if self._mode in ("none", "place") or (self._mode == "once" and existed):
            raise CassetteMiss(
                request.model, explain_miss(request, recorded, cassette, path, self._folder)
            )
        return None

    def record(
        self, request: Request, spec: ModelSpec, source: ReplySource, outcome: Reply | ModelError
    ) -> None:
        """Store the outcome of a live call, except for failures that are not the model's own.

        Raises:
            ModelError: the cassette cannot be written.
        """
        if self._mode in ("off", "none", "place"):
            return
        # A timeout or a rate limit is not the model's doing and may not happen again.
        if isinstance(outcome, ModelError) and outcome.cause not in _RECORDED_CAUSES:
            return
        recorded, placeholders = recorded_request(request, spec, self._mask)
        entry = self._entry(request, recorded, placeholders, outcome)
        path = cassette_path(self._folder, request.model, request.case_id)
        try:
            with self._lock, PassingLock("cassette", path, wait_s=30):
                self._merge(path, request, source, entry)
        except (OSError, SettingsError) as error:
            raise ModelError("unavailable", request.model, f"cannot record: {error}") from None

    def has_recordings(self, model: str, case_ids: Iterable[str]) -> bool:
        """Tell whether each case has a cassette of this model, or without cases whether any has."""
        cases = list(case_ids)
        if not cases:
            return any(cassette_path(self._folder, model, "").parent.glob("*.json"))
        return all(cassette_path(self._folder, model, case).is_file() for case in cases)

    def folder_of(self, model: str) -> Path:
        return cassette_path(self._folder, model, "").parent

    def _matching(
        self, cassette: Cassette | None, request: Request, key: str
    ) -> RecordedCall | None:
        """Return the recorded call that is replayed, preferring one at the same place in a run."""
        entries = cassette.entries if cassette else ()
        same = [entry for entry in entries if self._mode == "place" or entry.key == key]
        here = next((entry for entry in same if entry.is_at(request)), None)
        return here if here or self._mode == "place" else next(iter(same), None)

    def _load(self, path: Path, model: str) -> Cassette | None:
        """Read a cassette, or reuse the one read before if the file has not changed."""
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                cassette = read_cassette(path)
                if cassette is None:
                    return None
                self._read[path] = known = (stamp, cassette)
        except FileNotFoundError:
            return None
        except SettingsError as error:
            raise ModelError("unavailable", model, str(error)) from None
        return known[1]

    def _merge(
        self, path: Path, request: Request, source: ReplySource, entry: RecordedCall
    ) -> None:
        """Add the entry to the file as it is now, keeping what other processes have recorded."""
        cassette = read_cassette(path) or Cassette(model=request.model, case=request.case_id)
        cell = (path, request.capture_mode, request.repeat)
        entries = list(cassette.entries)
        # The first call of a cell in mode `all` drops what earlier sessions recorded for it.
        if self._mode == "all" and cell not in self._renewed:
            entries = [e for e in entries if (path, e.capture_mode, e.repeat) != cell]
        self._renewed.add(cell)
        entries = [e for e in entries if (e.place, e.key) != (entry.place, entry.key)]
        header = {
            "model_file": source.model_file,
            "quantisation": source.quantisation,
            "server": source.server,
            "recorded": self._today().isoformat(),
        }
        merged = cassette.model_copy(update={**header, "entries": (*entries, entry)})
        write_cassette(path, merged)

    def _entry(
        self,
        request: Request,
        recorded: RecordedRequest,
        placeholders: RequestPlaceholders,
        outcome: Reply | ModelError,
    ) -> RecordedCall:
        def clean(text: str) -> str:
            return self._mask(placeholders.conceal(text))

        common: dict[str, Any] = {
            "stage": request.stage,
            "capture_mode": request.capture_mode,
            "repeat": request.repeat,
            "attempt": request.attempt,
            "turn": request.turn,
            "key": request_key(request, recorded),
            "request": recorded,
        }
        if isinstance(outcome, Reply):
            return RecordedCall(
                **common,
                reply=clean(outcome.text),
                finish_reason=outcome.finish_reason,
                model_served=clean(outcome.model_served),
                fingerprint=clean(outcome.fingerprint),
                usage=outcome.usage,
            )
        error = RecordedError.model_validate(
            {"cause": outcome.cause, "detail": clean(outcome.detail)}
        )
        return RecordedCall(**common, error=error, usage=outcome.usage or Usage(calls=1))


def _replayed(entry: RecordedCall, request: Request, placeholders: RequestPlaceholders) -> Reply:
    usage = entry.usage.model_copy(update={"replayed_calls": max(entry.usage.calls, 1)})
    if entry.error is not None:
        detail = placeholders.restore(entry.error.detail)
        raise ModelError(entry.error.cause, request.model, detail, usage=usage)
    return Reply(
        text=placeholders.restore(entry.reply or ""),
        usage=usage,
        model_served=entry.model_served,
        fingerprint=entry.fingerprint,
        finish_reason=entry.finish_reason,
    )
