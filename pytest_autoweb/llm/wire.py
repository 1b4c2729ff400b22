"""What passes between test processes and the gateway."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.errors import ModelCause
from pytest_autoweb.llm.cassettes import RecordMode
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.results import Usage

LARGEST_BODY = 48 * 1024 * 1024
"""Bytes of a request; prompts hold pictures."""


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StartConfig(_Body):
    """First line on the gateway's standard input."""

    token: str
    specs: dict[str, dict[str, Any]]
    """Only the settings that were set, so that defaults can be told from wishes."""
    record_mode: RecordMode = "off"
    cassettes: Path
    run_dir: Path
    owner_pid: int
    live: tuple[str, ...] = ()
    backoff_s: float = 1.0

    def models(self) -> dict[str, ModelSpec]:
        """The specs as they were given."""
        return {name: ModelSpec.model_validate(spec) for name, spec in self.specs.items()}


class Started(_Body):
    """The gateway's one line on standard output."""

    port: int


class CallFailed(_Body):
    """A `ModelError` on its way."""

    cause: ModelCause
    detail: str
    miss: bool = False
    """It was a `CassetteMiss`."""
    usage: Usage | None = None


class CheckRequest(_Body):
    """Which models to check, for which cases."""

    models: tuple[str, ...]
    case_ids: tuple[str, ...] = ()


class ModelCheck(_Body):
    """Whether a model can be used in this session."""

    model: str
    ok: bool
    detail: str
    """What was found, or what to do about it."""
    live: bool = True
    """False: answered from cassettes only, as far as can be told."""


class CheckReply(_Body):
    """One entry per model asked for, in that order."""

    checks: tuple[ModelCheck, ...]


class ModelStats(_Body):
    """What a model did in this session, over all workers."""

    usage: Usage = Field(default_factory=Usage)
    """Failed calls included."""
    failures: dict[str, int] = Field(default_factory=dict)
    """By cause."""


class Stats(_Body):
    """What the gateway did so far."""

    models: dict[str, ModelStats] = Field(default_factory=dict)
    litellm_loaded: bool = False
    engines: tuple[str, ...] = ()
    """Embedded models that are loaded."""
