"""A stage as strategies and correction arms list it."""

from typing import NamedTuple

from pytest_autoweb.attempt.tools import Stage


class NamedStage(NamedTuple):
    """A stage and the name that progress and timings use for it."""

    name: str
    run: Stage
