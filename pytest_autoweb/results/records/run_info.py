"""Facts of a run as a whole: when and how it ran, and what its models are."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from pytest_autoweb.results.records.record import CaptureModeName, Record

SettingSource = Literal["settings", "registry", "default"]
"""The source of a model's setting: a person, litellm's registry, or this package."""


class ModelSetting(Record):
    """One thing that is known of a model."""

    name: str
    """What it is, in words."""
    value: str
    """What was found, or `unknown`."""
    source: SettingSource
    """Who says so."""


class ModelDescription(Record):
    """What a model is, as this run takes it."""

    model: str
    """The name on the command line."""
    settings: tuple[ModelSetting, ...]
    """Its limits, abilities and prices."""


class Resumption(Record):
    """What a session did that went on with a run (`--autoweb-resume`)."""

    started: datetime
    """The time at which it began."""
    kept: int
    """The number of cells whose earlier results were kept."""
    ran: dict[str, int] = Field(default_factory=dict)
    """How many cells it ran, by why: they had not run, were broken, or rest on something that
    changed."""
    some: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The names of the first few of those cells."""


class RunInfo(Record):
    """Facts of the run as a whole."""

    ts: str
    """The run's id: the local time at which it started, as `yyyyMMdd_HHmmss_SSS`."""
    started: datetime
    """The time at which the run started, with its time zone."""
    duration_s: float = 0.0
    """The duration of the run, in seconds."""
    exit_status: int | None = None
    """pytest's exit code; None while the run goes on, or if it was killed."""
    models: tuple[str, ...]
    """The models compared, as named on the command line."""
    capture_modes: tuple[CaptureModeName, ...]
    """The ways in which pages were shown to the models."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Each setting with its value and where it came from."""
    model_settings: tuple[ModelDescription, ...] = ()
    """What each model is, and who says so."""
    environment: dict[str, str] = Field(default_factory=dict)
    """The versions of Python, Playwright, the browser and this package, the operating system and
    the git commit."""
    workers: int = 0
    """The number of xdist workers, 0 without xdist. Durations of parallel runs are not
    comparable."""
    shard: tuple[int, int] | None = None
    """The number of the shard and how many there are, if only a part of the cells was run."""
    interrupted: bool = False
    """Whether somebody interrupted the run before its end."""
    selection: str = ""
    """What chose a part of the cells (`-k`, `--lf` or a test's name); empty in a whole run."""
    resumed: tuple[Resumption, ...] = ()
    """The sessions that went on with the run, in order. `duration_s` is that of all sessions whose
    end is known."""
