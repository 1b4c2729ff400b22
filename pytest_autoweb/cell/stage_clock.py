"""Where the time of a cell goes: each moment belongs to exactly one stage."""

from datetime import UTC, datetime

from pytest_autoweb.base import waiting


class StageClock:
    """A clock that charges all time to the stage entered last.

    It counts the cell's own time, so the sum of its stages is the cell's duration, whatever other
    cells are in flight.
    """

    def __init__(self, stage: str) -> None:
        self._now = waiting.own_clock()
        self._stage, self._since = stage, self._now()
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
        now = self._now()
        self.spent_ms[self._stage] += (now - self._since) * 1000
        self._since = now
        return dict(self.spent_ms)
