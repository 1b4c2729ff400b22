"""What test processes and the gateway exchange."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.base.errors import ModelCause
from pytest_autoweb.base.specs import WholeText
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.spending import Ledger, Price
from pytest_autoweb.results.records import Usage
from pytest_autoweb.settings.record_modes import RecordMode

LARGEST_BODY = 48 * 1024 * 1024
"""Limit on the bytes of a request, high enough for prompts with pictures."""

MODELS_PATH = "/models"
"""The path that tells the gateway what models are; it is for processes of this machine alone."""


class _Body(BaseModel):
    # Each process uses some of them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class StartConfig(_Body):
    """The configuration on the first line of the gateway's standard input."""

    token: str
    specs: dict[str, dict[str, Any]]
    """Specs in the form that `write_specs` gives."""
    record_mode: RecordMode = "off"
    cassettes: Path
    run_dir: Path
    owner_pid: int
    live: tuple[str, ...] = ()
    backoff_s: float = 1.0
    lasting: bool = False
    """Whether the gateway may outlive the process that started it, though not its owner."""
    max_cost: float | None = None
    allow_unpriced: bool = False
    key_file: Path
    """A file like `.env`, whose variables the gateway has besides its own; it need not exist."""
    ledger: Ledger | None = None
    """Where it is kept what was spent; in `run_dir` if there is none."""

    def models(self) -> dict[str, ModelSpec]:
        """Return the specs with their defaults filled in."""
        return read_specs(self.specs)


class Started(_Body):
    """The single line that the gateway writes to standard output."""

    port: int


class NewModels(_Body):
    """Models that a process wants to use, in the form of `StartConfig.specs`."""

    specs: dict[str, dict[str, Any]]

    def models(self) -> dict[str, ModelSpec]:
        """Return the specs with their defaults filled in."""
        return read_specs(self.specs)


class Acknowledgement(_Body):
    """An empty body, for requests and answers without content."""


class CallFailed(_Body):
    """A `ModelError` in transit."""

    cause: ModelCause
    detail: WholeText
    miss: bool = False
    """Whether the error is a `CassetteMiss`."""
    usage: Usage | None = None


class CheckRequest(_Body):
    """The models to check, and the cases for which they are needed."""

    models: tuple[str, ...]
    case_ids: tuple[str, ...] = ()


class ModelCheck(_Body):
    """Whether a model can be used in this session."""

    model: str
    ok: bool
    detail: str
    """What was found, or what to do about the problem."""
    live: bool = True
    """False if, as far as is known, all replies come from cassettes."""


class CheckReply(_Body):
    """One result for each model asked about, in the same order."""

    checks: tuple[ModelCheck, ...]


class Prices(_Body):
    """Price of each model's tokens, or None where it is unknown."""

    prices: dict[str, Price | None]


class ModelStats(_Body):
    """Usage of one model in this session, over all workers."""

    usage: Usage = Field(default_factory=Usage)
    """Total usage, including failed calls."""
    failures: dict[str, int] = Field(default_factory=dict)
    """Number of failed calls for each cause."""


class Stats(_Body):
    """What the gateway has done so far."""

    models: dict[str, ModelStats] = Field(default_factory=dict)
    litellm_loaded: bool = False
    engines: tuple[str, ...] = ()
    """Names of the embedded models that are loaded."""
    max_cost_usd: float | None = None
    """The limit set by `--autoweb-max-cost`."""
    spent_usd: float = 0.0
    """Cost of all live calls with a known price, over all processes; a call of unknown outcome
    counts with the most it can have cost."""
    reserved_usd: float = 0.0
    """Money reserved for calls under way."""
    refused_calls: int = 0
    """Calls that were not made because of the cap."""


def write_specs(specs: Mapping[str, ModelSpec]) -> dict[str, dict[str, Any]]:
    """Return only explicitly set values, so that they stay distinguishable from defaults."""
    return {name: spec.model_dump(mode="json", exclude_unset=True) for name, spec in specs.items()}


def read_specs(specs: Mapping[str, dict[str, Any]]) -> dict[str, ModelSpec]:
    """Read specs in the form that `write_specs` gives."""
    return {name: ModelSpec.model_validate(spec) for name, spec in specs.items()}
