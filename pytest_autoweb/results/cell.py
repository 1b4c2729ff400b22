"""A cell, as planned and as it ended (`cell.json`), and the facts of the run it belongs to."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from pytest_autoweb.results.attempt import Attempt
from pytest_autoweb.results.record import CaptureModeName, CorrectionArmName, Outcome, Record, Usage
from pytest_autoweb.results.steps import Failure


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


CELL_FORMAT: Literal["pytest-autoweb/cell"] = "pytest-autoweb/cell"

CELL_VERSION = 1


class PlannedCell(Record):
    """A cell as collected, before it ran: one row of the run's `manifest.json`."""

    case_id: str
    case_path: str
    """Relative to the rootdir, `/` as separator."""
    line: int | None = None
    """Where the case begins in its file, from 1."""
    entry_url: str
    user_task: str
    tags: tuple[str, ...] = ()
    must_pass: bool = False
    model: str
    capture_mode: CaptureModeName
    repeat: int = 1
    strategy: str = "codegen"
    nodeid: str = ""
    folder: str = ""
    """The cell's folder below the run folder."""


class ArmRun(Record):
    """Another way to correct the same first attempt, run beside the one that decides."""

    arm: CorrectionArmName
    attempts: tuple[Attempt, ...] = ()
    """The retries; the first attempt is the cell's own."""
    passed: bool = False
    stopped: str = ""
    """Why there was no further retry."""
    usage: Usage = Field(default_factory=Usage)
    """Of the retries alone; no part of the cell's usage."""


class CellResult(PlannedCell):
    """Everything known about one cell when it ended; the content of `cell.json`."""

    format: Literal["pytest-autoweb/cell"] = CELL_FORMAT
    version: int = CELL_VERSION
    dialect: str = "playwright"
    outcome: Outcome
    slow: bool = False
    """Passed, but only after a step was continued with a larger time limit."""
    reason: str = ""
    """One line: why the outcome is not `passed`."""
    failure: Failure | None = None
    attempts: tuple[Attempt, ...] = ()
    correction: CorrectionArmName = "off"
    """How a failed first attempt was corrected."""
    stopped: str = ""
    """Why there was no further correction."""
    arms: tuple[ArmRun, ...] = ()
    """Other ways to correct the first attempt, for comparison only."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    started: datetime
    duration_ms: float = 0.0
    worker: str = "main"
    """The xdist worker."""
    checksums: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of `case`, `prompts`, `checks` and `capture`: rows with other sums do not compare."""

    @property
    def passed(self) -> bool:
        """The checks hold, at the first try or after a repair."""
        return self.outcome in ("passed", "healed")

    @property
    def total_usage(self) -> Usage:
        """All stages added up."""
        return sum(self.usage.values(), Usage())
