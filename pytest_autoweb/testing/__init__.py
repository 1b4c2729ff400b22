"""Fakes for tests of pytest-autoweb and of plugins on it. They are marked as what they are.

Nothing of the package itself uses them.
"""

from pytest_autoweb.testing.scripted import (
    Answer,
    Faults,
    FaultyClient,
    Right,
    ScriptedClient,
    Slip,
    scripted_plan,
)

__all__ = [
    "Answer",
    "Faults",
    "FaultyClient",
    "Right",
    "ScriptedClient",
    "Slip",
    "scripted_plan",
]
