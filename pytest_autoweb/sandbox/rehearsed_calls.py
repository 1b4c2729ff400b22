"""Calls of a case's solution on elements that it knows from a rehearsal on unchanged pages."""

from playwright.sync_api import Locator, expect

from pytest_autoweb.browser.page.rehearsal import Rehearsal
from pytest_autoweb.sandbox.call_frames import Bound

_WAIT_MS = 5_000.0
_OF_ABSENCE = ("is_", "not_", "to_be_hidden", "to_have_count")
"""How the names of methods begin that need no element to be there."""


def rehearsed(bound: Bound, rehearsal: Rehearsal | None, left_ms: float) -> Bound:
    """Return a call on the element that the solution means, unless it may be absent.

    Args:
        bound: the call.
        rehearsal: what was noted; None where nothing is rehearsed.
        left_ms: how long the step may take.
    """
    receiver = bound.receiver
    is_claim = receiver.subject is not None
    item = receiver.subject if is_claim else receiver.object
    # Methods of a page that take a selector keep to it.
    if rehearsal is None or not isinstance(item, Locator) or not _needs_it(bound):
        return bound
    found = rehearsal.meant(item, receiver.text, min(_WAIT_MS, left_ms))
    if is_claim:
        return bound._replace(receiver=receiver._replace(object=expect(found), subject=found))
    return bound._replace(receiver=receiver._replace(object=found))


def _needs_it(bound: Bound) -> bool:
    state = [*bound.args, bound.kwargs.get("state")] if bound.method == "wait_for" else []
    may_lack = "hidden" in state or "detached" in state
    return bound.member.timeout and not bound.method.startswith(_OF_ABSENCE) and not may_lack
