"""Snapshots of a page as text, in one of the capture modes, taken without changing the page."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_autoweb.browser.aria_text import HIDDEN
from pytest_autoweb.browser.base import ContextWrapper
from pytest_autoweb.browser.capture_mode import (
    CAPTURE_MODES,
    NotPossible,
    Show,
    ShownPage,
    fitted,
    secret_texts,
)
from pytest_autoweb.browser.outline import Line
from pytest_autoweb.browser.tokens import estimate_tokens
from pytest_autoweb.results import CaptureModeName, Snapshot

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

FALLBACKS: tuple[CaptureModeName, ...] = ("ARIA", "A11Y", "RAW_HTML")
"""Stand in for a mode that fails, in this order."""


def capture_snapshot(
    context: "Page | Frame | ContextWrapper",
    mode: CaptureModeName,
    *,
    url: str,
    entry_action: str,
    step_indexes: Sequence[int],
    budget_tokens: int,
) -> Snapshot:
    """Take a snapshot of the page in `mode`, within the token budget.

    Never clicks. If a mode fails twice, the next of `FALLBACKS` is used, and the snapshot's notes
    say so; its `mode` remains the requested one. No mode includes the values of password and
    hidden fields.
    """
    root = context.context if isinstance(context, ContextWrapper) else context
    notes: list[str] = []
    shown = ShownPage("")
    for candidate in (mode, *(other for other in FALLBACKS if other != mode)):
        try:
            shown = _twice(CAPTURE_MODES.pick(candidate).show, root, budget_tokens)
        except NotPossible as problem:
            notes.append(f"{candidate} was not possible: {problem}")
            continue
        if candidate != mode:
            notes.append(f"shown as {candidate}")
        break
    return Snapshot(
        step_indexes=tuple(step_indexes),
        url=url,
        entry_action=entry_action,
        mode=mode,
        cache_key=cache_key(url, entry_action, mode),
        text=shown.text,
        tokens=estimate_tokens(shown.text),
        truncated=shown.truncated,
        notes=(*notes, *shown.notes),
    )


def cache_key(url: str, entry_action: str, mode: CaptureModeName) -> str:
    """Return the SHA-256 of what identifies a snapshot: URL with query, entry action, mode."""
    return hashlib.sha256("\0".join((url, entry_action, mode)).encode()).hexdigest()


def _twice(show: Show, root: "Page | Frame", budget: int) -> ShownPage:
    """Show the page, trying twice, because a page that is still starting may not answer in time."""
    from playwright.sync_api import Error

    try:
        return _within(show(root, budget), root, budget)
    except Error:
        pass
    try:
        return _within(show(root, budget), root, budget)
    except Error as error:
        raise NotPossible(str(error).strip().partition("\n")[0]) from error


def _within(shown: ShownPage | str, root: "Page | Frame", budget: int) -> ShownPage:
    """Return what a mode shows; a plain text only without passwords and cut to the budget."""
    if isinstance(shown, ShownPage):
        return shown
    # The longest first: one value may be a part of another.
    for value in sorted(filter(None, secret_texts(root)), key=len, reverse=True):
        shown = shown.replace(value, HIDDEN)
    return fitted(tuple(Line(line) for line in shown.split("\n")), budget)
