"""Capture modes, and snapshots of a page as text in one of them, taken without changing it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from playwright.sync_api import Error, Frame, Page

from pytest_autoweb.page.accessibility import HIDDEN
from pytest_autoweb.page.frames import ContextWrapper
from pytest_autoweb.page.outline import Folds, Line, estimate_tokens, fit_outline
from pytest_autoweb.page.run_script import (
    MAX_FRAMES,
    MAX_SILENT,
    OBSERVE_TIMEOUT_MS,
    answers,
    run_script,
)
from pytest_autoweb.results import CaptureModeName, Snapshot
from pytest_autoweb.variants import Variants


class ShownPage(NamedTuple):
    """A page as text, within its budget and without the values of its password fields."""

    text: str
    truncated: bool = False
    notes: tuple[str, ...] = ()
    """What is missing and why, for whoever reads the report."""


class NotPossible(Exception):
    """Raised by a mode that cannot show this page; its text says why. Another mode stands in."""


Show = Callable[["Page | Frame", int], "ShownPage | str"]
"""Shows a page or a frame in at most so many tokens, without changing it.

A plain text is taken for a page that may still be too long: it is cut at the end of a line, and the
values of password fields are taken out of it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureMode:
    """One way to show a page to a model as text."""

    name: str
    """In capital letters by convention; flags take it in any case."""
    summary: str
    show: Show
    brief: Callable[["Page | Frame"], tuple[Line, ...]] | None = None
    """The page as an outline for models that work by turns; None if they see what `show` shows."""


CAPTURE_MODES: Variants[CaptureMode] = Variants("capture mode", "pytest_autoweb.page.capture_modes")


def aria_snapshot(root: Page | Frame, *, for_models: bool, boxes: bool = False) -> str:
    """Return what Playwright calls the aria snapshot of the body, in one of its two forms."""
    body = root.locator("body")
    mode: Literal["ai", "default"] = "ai" if for_models else "default"
    return body.aria_snapshot(mode=mode, boxes=boxes, timeout=OBSERVE_TIMEOUT_MS)


def fitted(lines: tuple[Line, ...], budget: int, notes: tuple[str, ...] = ()) -> ShownPage:
    """Return an outline within the budget."""
    cut = fit_outline(lines, budget)
    return ShownPage(cut.text, cut.truncated, notes)


def secret_texts(root: Page | Frame) -> frozenset[str]:
    """Return the values of the password fields of the page and its frames.

    Answering at all also proves that the page is alive, before the calls that know no timeout.
    """
    # Late, as in all of this package: a session without models must not pay for Playwright.
    found = set(run_script(root, "secret_values"))
    silent = 0
    for frame in inner_frames(root):
        try:
            found.update(run_script(frame, "secret_values", timeout_ms=2_000))
        except Error:
            silent += 1
            if silent >= MAX_SILENT:
                break
    return frozenset(str(value) for value in found)


def inner_frames(root: Page | Frame) -> tuple[Frame, ...]:
    """Return the frames below the page's main frame, or below a frame, the outer ones first.

    Of a page with very many frames only the first ones count.
    """
    pending = list(root.main_frame.child_frames if isinstance(root, Page) else root.child_frames)
    found: list[Frame] = []
    while pending and len(found) < MAX_FRAMES:
        frame = pending.pop(0)
        found.append(frame)
        pending = [*frame.child_frames, *pending]
    return tuple(found)


_ALIVE_MS = 2_000.0
FALLBACKS: tuple[CaptureModeName, ...] = ("ARIA", "A11Y", "RAW_HTML")
"""Stand in for a mode that fails, in this order."""


def capture_snapshot(
    context: Page | Frame | ContextWrapper,
    mode: CaptureModeName,
    *,
    url: str,
    entry_action: str,
    step_indexes: Sequence[int],
    budget_tokens: int,
    folds: Folds | None = None,
) -> Snapshot:
    """Take a snapshot of the page in `mode`, within the token budget.

    With `folds`, the page is shown in brief, as to models that work by turns, and they hold which
    lists are shortened. Never clicks. If a mode fails twice, the next of `FALLBACKS` is used, and
    the snapshot's notes say so; its `mode` remains the requested one. No mode includes the values
    of password and hidden fields.
    """
    root = context.context if isinstance(context, ContextWrapper) else context
    notes: list[str] = []
    shown = ShownPage("")
    for candidate in (mode, *(other for other in FALLBACKS if other != mode)):
        try:
            shown = _twice(_show_of(candidate, folds), root, budget_tokens)
        except NotPossible as problem:
            notes.append(f"{candidate} was not possible: {problem}")
            if not answers(root, timeout_ms=_ALIVE_MS):
                notes.append("the page does not answer")
                break
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


def _show_of(mode: CaptureModeName, folds: Folds | None) -> Show:
    found = CAPTURE_MODES.pick(mode)
    brief = found.brief
    if folds is None or brief is None:
        return found.show

    def show(root: Page | Frame, budget: int) -> ShownPage:
        cut = fit_outline(brief(root), budget, folds)
        return ShownPage(cut.text, cut.truncated)

    return show


def cache_key(url: str, entry_action: str, mode: CaptureModeName) -> str:
    """Return the SHA-256 of what identifies a snapshot: URL with query, entry action, mode."""
    return hashlib.sha256("\0".join((url, entry_action, mode)).encode()).hexdigest()


def _twice(show: Show, root: Page | Frame, budget: int) -> ShownPage:
    """Show the page, trying twice, because a page that is still starting may not answer in time."""
    try:
        return _within(show(root, budget), root, budget)
    except Error:
        pass
    try:
        return _within(show(root, budget), root, budget)
    except Error as error:
        raise NotPossible(str(error).strip().partition("\n")[0]) from error


def _within(shown: ShownPage | str, root: Page | Frame, budget: int) -> ShownPage:
    """Return what a mode shows; a plain text only without passwords and cut to the budget."""
    if isinstance(shown, ShownPage):
        return shown
    # The longest first: one value may be a part of another.
    for value in sorted(filter(None, secret_texts(root)), key=len, reverse=True):
        shown = shown.replace(value, HIDDEN)
    return fitted(tuple(Line(line) for line in shown.split("\n")), budget)
