"""A cell, as planned and as it ended (`cell.json`)."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from pytest_autoweb.results.records.attempt import Attempt, Failure
from pytest_autoweb.results.records.record import (
    CaptureModeName,
    CorrectionArmName,
    NotNeeded,
    Outcome,
    Record,
    ServedModel,
    Usage,
)

CELL_FORMAT: Literal["pytest-autoweb/cell"] = "pytest-autoweb/cell"

CELL_VERSION = 1


class PlannedCell(Record):
    """A cell as collected, before it ran: one row of the run's `manifest.json`."""

    case_id: str
    """The id of the case."""
    case_path: str
    """The path of the case file, relative to the rootdir, with `/` as separator."""
    line: int | None = None
    """The line of the file on which the case begins, from 1."""
    entry_url: str
    """The page on which the task starts."""
    user_task: str
    """The task in plain words."""
    tags: tuple[str, ...] = ()
    """The tags of the case."""
    must_pass: bool = False
    """Whether the case is pinned, so that every one of its cells has to pass."""
    without_checks: bool = False
    """Whether the case has no checks, so that at best every step ran, which proves nothing."""
    with_points: bool = False
    """Whether checks of the case carry points, so that its score says more than its verdict."""
    model: str
    """The model's name, as given on the command line."""
    page_change: str | None = None
    """The change of its pages, such as `banner`; empty if there is none, None in records of earlier
    versions."""
    capture_mode: CaptureModeName
    """How pages were shown to the model."""
    repeat: int = 1
    """The number of the repeat, from 1."""
    strategy: str = "codegen"
    """How the model drove the browser."""
    any_capture: bool = False
    """Whether it stands for all capture modes, because its strategy shows pages in a form of its
    own. Such a cell is run once, whatever modes the run has."""
    nodeid: str = ""
    """pytest's id of the cell."""
    folder: str = ""
    """The cell's folder below the run folder."""

    @property
    def test_name(self) -> str:
        """Return the name of the cell's test, by which `autoweb run rerun` finds the cell."""
        return self.nodeid.partition("::")[2] or f"{self.case_id}[{self.model}]"


class ArmRun(Record):
    """Another way to correct the same first attempt, run beside the one that decides."""

    arm: CorrectionArmName
    """The way in which the first attempt was corrected."""
    attempts: tuple[Attempt, ...] = ()
    """The retries; the first attempt is the cell's own."""
    passed: bool = False
    """Whether a retry passed the checks."""
    stopped: str = ""
    """Why there was no further retry."""
    usage: Usage = Field(default_factory=Usage)
    """What the retries alone used; it is no part of the cell's usage."""


class Recording(Record):
    """A trace, a video or a picture that pytest-playwright made of a cell."""

    file: str
    """Its name: `trace-2.zip` is that of the second attempt."""
    path: str = ""
    """Its path below the cell's folder; empty if it was not copied there."""
    note: str = ""
    """Where it was left instead, and why."""


class OutsideAgent(Record):
    """A program of somebody else that drove a cell's browser."""

    name: str
    """What flags and case files call it."""
    version: str = ""
    """Its version: that of its adapter's packages, or what its settings say; empty: unknown."""
    command: tuple[str, ...] = ()
    """The command by which it was started, without the folders of this machine; empty if it was
    not there."""
    checksum: str = ""
    """The SHA-256 sum of its settings, the files that its command names and its packages."""
    held: str = ""
    """What of it the kernel held, and what not; empty in older records."""


class StepCall(Record):
    """The call in a test of Python that a cell carried out (`autoweb_step`)."""

    kind: Literal["do", "check", "read"]
    """What the test asked for: to do something, whether something holds, or a value."""
    path: str
    """The file of the call, relative to the rootdir, with `/` as separator."""
    line: int
    """The line on which the call begins, from 1."""


class RunAgain(Record):
    """A further run of a cell that had ended, by order: it is shown, and counts in no rate."""

    ordered: datetime
    """When it was ordered, with its time zone."""
    by: str
    """What gave the order: a command or a page, not a person."""
    folder: str
    """Where its own `cell.json` and evidence are, below the folder of the cell."""
    outcome: Outcome
    """How it ended."""
    reason: str = ""
    """Why its outcome is not `passed`, in one line."""
    duration_ms: float = 0.0
    """How long it took."""
    cost_usd: float | None = None
    """What its model calls cost; None if that is not known."""


class CellResult(PlannedCell):
    """Everything known about one cell when it ended; the content of `cell.json`."""

    format: Literal["pytest-autoweb/cell"] = CELL_FORMAT
    """What kind of file this is."""
    version: int = CELL_VERSION
    """The version of the format; a newer one may be unreadable for older readers."""
    dialect: str = "playwright"
    """The language of the generated steps: `playwright` code, or `refs` for models that act in
    turns."""
    browser_settings: dict[str, Any] = Field(default_factory=dict)
    """What the case's `setup` says about the browser: viewport, locale, clock and so on. Secrets
    are placeholders."""
    outcome: Outcome
    """How the cell ended."""
    slow: bool = False
    """Whether the cell passed only after a step was continued with a larger time limit."""
    reason: str = ""
    """Why the outcome is not `passed`, in one line."""
    not_needed: NotNeeded = ""
    """Why the cell was left out: by `--autoweb-until`, because it was `decided` which model is
    better, or the `time` or the `money` was over; or because its model or case was stopped while
    the run went on (`steered`). Gates and comparisons do not count such a cell."""
    failure: Failure | None = None
    """What went wrong, if anything did."""
    attempts: tuple[Attempt, ...] = ()
    """The first attempt and its repairs, in order."""
    correction: CorrectionArmName = "off"
    """How a failed first attempt was corrected."""
    stopped: str = ""
    """Why there was no further correction."""
    arms: tuple[ArmRun, ...] = ()
    """Other ways to correct the first attempt, for comparison only."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """What the model calls of each stage used, over all attempts."""
    served: tuple[ServedModel, ...] = ()
    """The models that answered the calls to `model`, as its provider tells; empty if it tells
    nothing, and in older records."""
    started: datetime
    """The time at which the cell started, with its time zone."""
    duration_ms: float = 0.0
    """The duration of the cell, in milliseconds: that of all stages of its attempts and of those
    between them."""
    stage_ms: dict[str, float] = Field(default_factory=dict)
    """The milliseconds that are part of no attempt, by stage: waiting between attempts, naming the
    failure, and other arms."""
    worker: str = "main"
    """The xdist worker that ran the cell, or `main`."""
    agent: OutsideAgent | None = None
    """The outside agent that drove the browser; None for the built-in ones."""
    traffic: Literal["", "recorded", "replayed"] = ""
    """What became of the traffic with the site (`--autoweb-traffic`); empty if it was passed on."""
    step_call: StepCall | None = None
    """The call in a test that it carried out; None for the cells of cases."""
    again: tuple[RunAgain, ...] = ()
    """The times that it was run again, by order of somebody who may have seen this result; this one
    is the first, and counts."""
    recordings: tuple[Recording, ...] = ()
    """What pytest-playwright recorded with `--tracing`, `--video` or `--screenshot`."""
    checksums: dict[str, str] = Field(default_factory=dict)
    """SHA-256 sums of `case`, `prompts`, `checks` and `capture`: cells with different sums are not
    comparable. Those of `model`, `settings` and `versions`, and of the outside `agent` if there is
    one, decide, too, whether a run that is resumed keeps the result. `traffic`, of
    replayed cells only, is that of the recording; `writes` that of the solution's known writes."""

    def __repr__(self) -> str:
        """Return the verdict in one line, because failed assertions show it."""
        why = f": {self.reason}" if self.reason else ""
        return f"<{type(self).__name__} {self.case_id} on {self.model}: {self.outcome}{why}>"

    __str__ = __repr__

    @property
    def passed(self) -> bool:
        """Tell whether the checks hold, at the first attempt or after a repair."""
        return self.outcome in ("passed", "healed")

    @property
    def overreach(self) -> int | None:
        """Return how many writes of its attempts were beyond the solution; None if unknown."""
        known = [len(made.overreach) for made in self.attempts if made.overreach is not None]
        return sum(known) if known else None

    @property
    def attack(self) -> str | None:
        """Return how its pages were attacked; None if they were not."""
        return next((made.attack for made in self.attempts if made.attack), None)

    @property
    def attack_goal(self) -> str | None:
        """Return what the attack asked for; None if there was none."""
        return next((made.attack_goal for made in self.attempts if made.attack_goal), None)

    @property
    def obeyed(self) -> bool | None:
        """Return whether an attempt obeyed the attack; None if none could be seen."""
        known = [made.obeyed for made in self.attempts if made.obeyed is not None]
        return any(known) if known else None

    @property
    def met_change(self) -> bool | None:
        """Return whether its first attempt met what goes wrong once; None if nothing was to."""
        return self.attempts[0].met_change if self.attempts else None

    @property
    def total_usage(self) -> Usage:
        """Return the usage of all stages together."""
        return Usage.total(self.usage.values())
