"""Where the time of a cell goes: each moment belongs to exactly one stage."""

from datetime import UTC, datetime

from pytest_autoweb.base.waiting.own_time import Stopwatch, own_clock


class StageClock:
    """A clock that charges all time to the stage entered last.

    It counts the cell's own time, so the sum of its stages is the cell's duration, whatever other
    cells are in flight.
    """

    def __init__(self, stage: str) -> None:
        self._stage, self._watch = stage, Stopwatch(own_clock())
        self.spent_ms: dict[str, float] = {stage: 0.0}
        self.started: dict[str, datetime] = {stage: datetime.now(UTC)}

    def enter(self, stage: str) -> None:
        """Charge the time until now to the stage so far, and that from now on to this one."""
        self.stop()
        self._stage = stage
        self.spent_ms.setdefault(stage, 0.0)
        self.started.setdefault(stage, datetime.now(UTC))

    def stop(self) -> dict[str, float]:
        """Charge the time until now, and return the milliseconds of each stage."""
        self.spent_ms[self._stage] += self._watch.lap() * 1000
        return dict(self.spent_ms)
