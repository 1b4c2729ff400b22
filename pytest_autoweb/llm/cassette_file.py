"""The file format of a cassette: recorded replies of one model to one case."""

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm.cassette_key import RecordedRequest
from pytest_autoweb.llm.client import Request
from pytest_autoweb.results import StageName, Usage

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
