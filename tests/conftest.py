"""Shared by all tests: pytest's own fixture for running pytest, and how wild inputs are drawn."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A busy machine is no fault of the code, so no example has a deadline.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
