"""What a run that is followed has been ordered, and whether it can be steered, for its page."""

from pathlib import Path
from typing import Any

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.runs.live_session import has_died, session_of
from pytest_autoweb.results.runs.steering import OrdersFile, course, since

_MOST_TOLD = 20
"""How many of the latest orders the page lists."""
_WORDS_CHARS = 200


class SeenOrders:
    """The orders to the latest session of a run.

    Args:
        run: the run folder.
    """

    def __init__(self, run: Path) -> None:
        self._run, self._file = run, OrdersFile(run)
        self._started = 0.0
        self._can = False
        self.died = False
        """Whether the session is gone without having ended."""

    def look(self, *, going: bool) -> None:
        """Look whether the run can be steered.

        Args:
            going: whether the run has not ended.
        """
        session = session_of(self._run) if going else None
        if session is not None:
            self._started = session.started
        lives = session is not None and session.is_alive
        self._can = lives
        self.died = session is not None and not lives and has_died(self._run)

    @property
    def told(self) -> dict[str, Any]:
        """Return what the page is told: what holds now, and what was ordered last."""
        given = since(self._file.given, self._started)
        now = course(given)
        return {
            "can": self._can,
            "paused": now.pause.time if now.pause else "",
            "models": list(now.models),
            "cases": list(now.cases),
            "given": [
                [order.time, one_line(order.told, _WORDS_CHARS), one_line(order.by, _WORDS_CHARS)]
                for order in given[-_MOST_TOLD:]
            ],
        }
