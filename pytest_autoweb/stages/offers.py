"""What the step language offers beyond Playwright, in the cells that have it.

A finder or function runs while a step does, when nobody holds the attempt: what it wants to leave
there (model calls, searches, decisions) it puts into `Tools.after_step`. What it cannot do is a
`StepCallError` with a plain sentence.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pytest_autoweb.stages.base import Tools


def finders(tools: Tools) -> Mapping[str, Callable[..., Any]]:
    """Names of `sandbox.members.FINDERS`; see `Border.finders`."""
    return {"get_by_mark": tools.marks.find}


def functions(tools: Tools) -> Mapping[str, Callable[..., Any]]:
    """Names of `sandbox.members.FUNCTIONS`; see `Border.functions`."""
    return {}
