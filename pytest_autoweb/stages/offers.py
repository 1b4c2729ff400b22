"""What the step language offers beyond Playwright, in the cells that have it.

A finder or function runs while a step does, when nobody holds the attempt: what it wants to leave
there (model calls, searches, decisions) it puts into `Tools.after_step`. What it cannot do is a
`StepCallError` with a plain sentence.
"""

from collections.abc import Callable, Mapping
from functools import partial

from pytest_autoweb.attempt.tools import Tools
from pytest_autoweb.sandbox.base import Finder, JsonValue
from pytest_autoweb.stages.collect_urls import collect_urls
from pytest_autoweb.stages.finding import SightAtHand


def finders(tools: Tools) -> Mapping[str, Finder]:
    """Names of `sandbox.members.FINDERS`; see `Border.finders`."""
    offered: dict[str, Finder] = {"get_by_mark": tools.marks.find}
    if tools.spec.vision:
        offered["get_by_sight"] = SightAtHand(tools).find
    return offered


def functions(tools: Tools) -> Mapping[str, Callable[..., JsonValue]]:
    """Names of `sandbox.members.FUNCTIONS`; see `Border.functions`."""
    return {"collect_urls": partial(collect_urls, tools)}
