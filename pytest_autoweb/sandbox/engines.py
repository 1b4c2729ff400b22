"""The choice of the engine that runs an attempt's code.

`WorkerEngine` is built in. A plugin with an engine of its own (another interpreter, a virtual
machine) implements `base.StepEngine` and returns it from the hook `pytest_autoweb_engine`; lint,
judge and report treat all engines alike.
"""

from collections.abc import Callable

from pytest_autoweb.sandbox.base import Border, StepEngine
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.levels import Level
from pytest_autoweb.sandbox.workers import workers_of

MakeEngine = Callable[[Border, Level], StepEngine]
"""Function that makes the engine of one attempt, given the resources its code may use."""


def worker_engine(border: Border, level: Level) -> StepEngine:
    """Return an engine that runs code in its own worker process."""
    return WorkerEngine(border, workers=workers_of(level))
