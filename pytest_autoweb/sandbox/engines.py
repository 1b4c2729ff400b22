"""How an attempt comes by the engine that runs its code.

`WorkerEngine` is the one that is built in. Whoever has another (an interpreter of its own, a
virtual machine) implements `base.StepEngine` and returns it from the hook `pytest_autoweb_engine`;
lint, judge and report do not know the difference.
"""

from collections.abc import Callable

from pytest_autoweb.sandbox.base import Border, StepEngine
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.workers import workers_of

MakeEngine = Callable[[Border, Level], StepEngine]
"""Makes the engine of one attempt, from what its code may use of the outside."""


def worker_engine(border: Border, level: Level) -> StepEngine:
    """An engine that runs code in a worker process of its own."""
    return WorkerEngine(border, workers=workers_of(level))
