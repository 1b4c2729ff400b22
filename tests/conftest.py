"""Shared by all tests: pytest's own fixture for running pytest, and how wild inputs are drawn."""

import gc

from hypothesis import settings

pytest_plugins = ["pytester"]

# A busy machine is no fault of the code, so no example has a deadline.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """Have no garbage looked for among the thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()
