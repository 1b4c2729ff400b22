"""Fakes for tests of pytest-autoweb and of plugins built on it. They are marked as fakes.

The package itself does not use them.
"""

from pytest_autoweb.testing.faulty import Faults, FaultyClient, Right, Slip
from pytest_autoweb.testing.scripted import Answer, ScriptedClient, scripted_plan

__all__ = [
    "Answer",
    "Faults",
    "FaultyClient",
    "Right",
    "ScriptedClient",
    "Slip",
    "scripted_plan",
]
