"""The pauses between pages, which grow after refusals and vary a little at random."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from pytest_autoweb.cases.collect_spec import Rate

GROWTH = 1.5
MAX_LEVEL = 3
RECOVERY_PAGES = 5
"""The number of good pages in a row after which the level falls by one."""


@dataclass(slots=True)
class Pacer:
    """Keeps the rate of one collection.

    The pause is `delay * 1.5 ** level`. The level grows with each refusal, up to 3, and falls by
    one after five good pages in a row.
    """

    rate: Rate
    sleep: Callable[[float], None]
    chance: Callable[[], float] = random.random
    """Returns a random number from 0 to 1."""
    level: int = 0
    good: int = 0
    """The number of good pages in a row."""

    def pause(self) -> None:
        """Wait before the next page."""
        shift = self.rate.jitter * (2 * self.chance() - 1)
        base = self.rate.delay * GROWTH**self.level
        if (seconds := max(0.0, base + shift if self.rate.delay else 0.0)) > 0:
            self.sleep(seconds)

    def succeeded(self) -> None:
        """Note that a page came."""
        self.good += 1
        if self.level and self.good >= RECOVERY_PAGES:
            self.level, self.good = self.level - 1, 0

    def refused(self) -> None:
        """Note that the server refused a page, or that nothing came."""
        self.level, self.good = min(MAX_LEVEL, self.level + 1), 0
