"""Facts of a run as a whole."""

from datetime import datetime
from typing import Any

from pydantic import Field

from pytest_autoweb.results.record import CaptureModeName, Record


class RunInfo(Record):
    """Facts of the run as a whole."""

    ts: str
    """`yyyyMMdd_HHmmss_SSS`, local time."""
    started: datetime
    duration_s: float = 0.0
    exit_status: int | None = None
    models: tuple[str, ...]
    capture_modes: tuple[CaptureModeName, ...]
    settings: dict[str, Any] = Field(default_factory=dict)
    """Each setting with its value and where it came from."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Versions of Python, Playwright, browser, this package, operating system, git commit."""
    workers: int = 0
    """xdist workers; 0 without xdist. Durations of parallel runs are not comparable."""
    shard: tuple[int, int] | None = None
    """Number and count, when only a part of the cells was run."""
    interrupted: bool = False
