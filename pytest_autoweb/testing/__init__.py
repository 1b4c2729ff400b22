"""Fake model clients for tests of pytest-autoweb and of plugins that build on it.

Their replies say in `model_served` that no real model gave them.
"""

from pytest_autoweb.testing.faults import Faults, FaultyClient, Right, Slip
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
