"""Calls where no event loop runs.

Playwright's runs in the thread of a test as long as the fixtures of any test before it are alive.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def in_own_thread(
    call: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """Return what a call returns in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *args, **kwargs).result()
