"""What earlier runs say beside the current one: trend, flaky, steady and slow cases; pure."""

from collections.abc import Sequence
from datetime import datetime

from pytest_autoweb.report.numbers import Cost, Rates
from pytest_autoweb.report.rows import RunRows
from pytest_autoweb.results import CaptureMode, Record


class TrendPoint(Record):
    """One model in one run."""

    run: str
    """The run's `ts`."""
    name: str
    """As saved; empty when it has none."""
    commit: str
    started: datetime
    current: bool
    """Whether it is the run that the report is about."""
    model: str
    first_attempt: Rates
    after_repair: Rates
    cases: int
    cells: int
    cost: Cost
    median_s: float | None
    """Of the cells that ran."""
    case_set: str
    """Digest over ids, capture modes, `case` and `checks` checksums of what was run: points with
    another digest are rates of other questions."""
    same_cases: bool
    """Whether the model's case set is that of the current run."""


class HistoryCase(Record):
    """A case on a model in a capture mode."""

    case_id: str
    case_path: str
    model: str
    capture_mode: CaptureMode


class FlakyCase(HistoryCase):
    """Both outcomes under the same checksums (`case`, `checks`, `prompts`, `capture`)."""

    passed: int
    """Trials of all runs under the current checksums."""
    healed: int
    failed: int
    runs: int
    """Runs that these trials come from."""
    within_run: bool
    """Whether repeats of the current run alone already show both outcomes."""


class SteadyCase(HistoryCase):
    """A case that never failed in earlier runs under the checksums it has now."""

    trials: int
    """Earlier graded trials, every one passed at the first attempt."""
    runs: int
    """Earlier runs that these trials come from."""
    trials_now: int
    """Graded trials of the current run."""
    passed_now: int
    """Of those, passed at the first attempt."""
    p: float | None
    """Chance that all failures fall into the current run if nothing changed, given how many there
    are (Fisher's exact test, one-sided). None: it was not graded in the current run."""

    @property
    def broke(self) -> bool:
        """Whether it now fails on every repeat."""
        return self.trials_now > 0 and self.passed_now == 0


class SlowCase(HistoryCase):
    """Among the slowest of the current run, or in need of a larger time limit."""

    median_s: float
    earlier_median_s: float | None
    """In earlier runs under the same checksums."""
    slow_trials: int
    """Current trials that passed only after a step was given more time."""
    trials: int


class History(Record):
    """Written as `history.json` into the run folder."""

    runs: int
    """Earlier runs that were looked at."""
    points: tuple[TrendPoint, ...]
    """By model in the current run's order, oldest first; the current run's point is last."""
    flaky: tuple[FlakyCase, ...]
    """Nearest to even odds first."""
    steady: tuple[SteadyCase, ...]
    """Those that broke first, then by number of trials."""
    slow: tuple[SlowCase, ...]
    """Slowest first."""


def history_of(runs: Sequence[RunRows], current: RunRows) -> History:
    """Look at earlier runs from the current one's point of view.

    Args:
        runs: saved runs in any order; a saved copy of `current` among them is ignored.
        current: the run that the report is about.
    """
    raise NotImplementedError
