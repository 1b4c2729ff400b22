"""What passes between test processes and the gateway."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.errors import ModelCause
from pytest_autoweb.llm.cassettes import RecordMode
from pytest_autoweb.llm.price import Price
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
    """As `write_specs` gives them."""
    record_mode: RecordMode = "off"
    cassettes: Path
    run_dir: Path
    owner_pid: int
    live: tuple[str, ...] = ()
    backoff_s: float = 1.0
    lasting: bool = False
    """It may outlive the process that started it, but not its owner."""
    max_cost: float | None = None
    allow_unpriced: bool = False

    def models(self) -> dict[str, ModelSpec]:
        """The specs as they were given."""
        return read_specs(self.specs)


class Started(_Body):
    """The gateway's one line on standard output."""

    port: int


class NewModels(_Body):
    """Models that a process wants to use, in the form of `StartConfig.specs`."""

    specs: dict[str, dict[str, Any]]


class Done(_Body):
    """Nothing to tell."""


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


class Prices(_Body):
    """US dollars per token; None where nobody knows."""

    prices: dict[str, Price | None]


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
    max_cost_usd: float | None = None
    """The cap of `--autoweb-max-cost`."""
    spent_usd: float = 0.0
    """Of live calls with a known price, all processes together; calls of unknown outcome are
    counted with the most they can have cost."""
    reserved_usd: float = 0.0
    """Put aside for calls under way."""
    refused_calls: int = 0
    """Calls that were not made because of the cap."""


def write_specs(specs: Mapping[str, ModelSpec]) -> dict[str, dict[str, Any]]:
    """Only the settings that were set, so that defaults can be told from wishes."""
    return {name: spec.model_dump(mode="json", exclude_unset=True) for name, spec in specs.items()}


def read_specs(specs: Mapping[str, dict[str, Any]]) -> dict[str, ModelSpec]:
    """The inverse of `write_specs`."""
    return {name: ModelSpec.model_validate(spec) for name, spec in specs.items()}
