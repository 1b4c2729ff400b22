"""Lets the scripted model of `answers.py` answer for the name `fake/obedient`."""

from answers import Obedient

from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec


def pytest_autoweb_client(spec: ModelSpec) -> Client | None:
    """See `pytest_autoweb.hookspecs`."""
    return Obedient() if spec.name == "fake/obedient" else None
