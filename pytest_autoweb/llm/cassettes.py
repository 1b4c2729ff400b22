"""Recording and replay of model replies, inside the gateway so that all workers share one store."""

import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock

from pytest_autoweb.errors import CassetteMiss, ModelError, SettingsError
from pytest_autoweb.llm.cassette_file import (
    Cassette,
    RecordedCall,
    RecordedCause,
    RecordedError,
    RecordedMessage,
    RecordedRequest,
    RequestPlaceholders,
    cassette_path,
    read_cassette,
    recorded_request,
    request_key,
    write_cassette,
)
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.llm.model_spec import ModelSpec
from pytest_autoweb.results import Usage

_WIDTH = 160
_ADVICE = (
    "To record anew: --autoweb-record-mode=new_episodes (adds what is missing) "
    "or --autoweb-record-mode=all (replaces everything)."
)


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
    # Compared one by one, so that the message can name the setting that changed.
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


RecordMode = Literal["off", "none", "once", "new_episodes", "all"]
"""`off` neither reads nor writes; `none` replays only; `once` replays a cassette that existed
when the session began and records one that did not; `new_episodes` adds what is missing; `all`
records everything anew."""

_RECORDED_CAUSES = get_args(RecordedCause)


@dataclass(frozen=True, slots=True)
class ReplySource:
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
        entry = _matching(cassette, request, request_key(request, recorded))
        if entry is not None:
            return _replayed(entry, request, placeholders)
        if self._mode == "none" or (self._mode == "once" and existed):
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
        if self._mode in ("off", "none"):
            return
        # A timeout or a rate limit says nothing about the model and may not happen again.
        if isinstance(outcome, ModelError) and outcome.cause not in _RECORDED_CAUSES:
            return
        recorded, placeholders = recorded_request(request, spec, self._mask)
        entry = self._entry(request, recorded, placeholders, outcome)
        path = cassette_path(self._folder, request.model, request.case_id)
        try:
            with self._lock, _file_lock(path):
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
        """Return the folder that holds the cassettes of a model."""
        return cassette_path(self._folder, model, "").parent

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

        common = {
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
                model_served=outcome.model_served,
                usage=outcome.usage,
            )
        error = RecordedError.model_validate(
            {"cause": outcome.cause, "detail": clean(outcome.detail)}
        )
        return RecordedCall(**common, error=error, usage=outcome.usage or Usage(calls=1))


def _matching(cassette: Cassette | None, request: Request, key: str) -> RecordedCall | None:
    """Return the entry with this key, preferring the one at the same place in a run."""
    same = [entry for entry in cassette.entries if entry.key == key] if cassette else []
    return next((entry for entry in same if entry.is_at(request)), same[0] if same else None)


def _replayed(entry: RecordedCall, request: Request, placeholders: RequestPlaceholders) -> Reply:
    usage = entry.usage.model_copy(update={"replayed_calls": max(entry.usage.calls, 1)})
    if entry.error is not None:
        detail = placeholders.restore(entry.error.detail)
        raise ModelError(entry.error.cause, request.model, detail, usage=usage)
    return Reply(
        text=placeholders.restore(entry.reply or ""),
        usage=usage,
        model_served=entry.model_served,
        finish_reason=entry.finish_reason,
    )


def _file_lock(path: Path) -> FileLock:
    """Return a lock that keeps two sessions from writing one cassette at the same time.

    The lock file lies in the temporary folder, so that the user's folder holds only cassettes.
    """
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:24]
    return FileLock(Path(tempfile.gettempdir()) / f"pytest-autoweb-{digest}.lock", timeout=30)
