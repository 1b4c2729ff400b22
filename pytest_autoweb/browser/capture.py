"""Snapshots of a page as text, in one of four modes, taken without changing the page."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_autoweb.browser.aria_text import aria_outline
from pytest_autoweb.browser.ax_tree import ax_outline
from pytest_autoweb.browser.base import ContextWrapper
from pytest_autoweb.browser.clean_html import clean_html
from pytest_autoweb.browser.injected import OBSERVE_TIMEOUT_MS, run_script
from pytest_autoweb.browser.outline import Cut, Line, fit_outline
from pytest_autoweb.browser.tokens import estimate_tokens
from pytest_autoweb.results import CaptureMode, Snapshot

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Frame, Page


class _Shown(NamedTuple):
    text: str
    truncated: bool
    notes: tuple[str, ...] = ()


class _NotPossible(Exception):
    """Raised when a mode cannot show the page; the text is the reason."""


def capture_snapshot(
    context: "Page | Frame | ContextWrapper",
    mode: CaptureMode,
    *,
    url: str,
    entry_action: str,
    step_indexes: Sequence[int],
    budget_tokens: int,
) -> Snapshot:
    """Take a snapshot of the page in `mode`, within the token budget.

    Never clicks. If a mode fails twice, the next of ARIA, A11Y and RAW_HTML is used, and the
    snapshot's notes say so; its `mode` remains the requested one. No mode includes the values of
    password and hidden fields.
    """
    root = context.context if isinstance(context, ContextWrapper) else context
    notes: list[str] = []
    shown = _Shown("", truncated=False)
    for candidate in _order(mode):
        try:
            shown = _twice(_MODES[candidate], root, budget_tokens)
        except _NotPossible as problem:
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


def cache_key(url: str, entry_action: str, mode: CaptureMode) -> str:
    """Return the SHA-256 of what identifies a snapshot: URL with query, entry action, mode."""
    return hashlib.sha256("\0".join((url, entry_action, mode)).encode()).hexdigest()


def _order(mode: CaptureMode) -> tuple[CaptureMode, ...]:
    fallbacks: tuple[CaptureMode, ...] = ("ARIA", "A11Y", "RAW_HTML")
    return (mode, *(other for other in fallbacks if other != mode))


def _twice(show: "_Mode", root: "Page | Frame", budget: int) -> _Shown:
    """Show the page, trying twice, because a page that is still starting may not answer in time."""
    from playwright.sync_api import Error

    try:
        return show(root, budget)
    except Error:
        pass
    try:
        return show(root, budget)
    except Error as error:
        raise _NotPossible(str(error).strip().partition("\n")[0]) from error


def _aria(root: "Page | Frame", budget: int) -> _Shown:
    return _cut(aria_outline(_aria_snapshot(root, "ai"), _secrets(root)), budget)


def _aria_snapshot(root: "Page | Frame", mode: Literal["ai", "default"]) -> str:
    return root.locator("body").aria_snapshot(mode=mode, timeout=OBSERVE_TIMEOUT_MS)


def _classic_aria(root: "Page | Frame", budget: int) -> _Shown:
    from playwright.sync_api import Error

    secrets = _secrets(root)
    lines = list(aria_outline(_aria_snapshot(root, "default"), secrets))
    notes: list[str] = []
    for frame in _inner_frames(root):
        label = frame.name or frame.url
        try:
            if not frame.frame_element().is_visible():
                continue
            inner = aria_outline(_aria_snapshot(frame, "default"), secrets)
        except Error:
            notes.append(f"frame {label!r} did not answer")
            continue
        if inner:
            lines.append(Line(f"- iframe {label!r}:", "iframe", inner))
    return _cut(tuple(lines), budget, tuple(notes))


def _full_tree(root: "Page | Frame", budget: int) -> _Shown:
    from playwright.sync_api import Page

    if not isinstance(root, Page):
        raise _NotPossible("the browser gives the full tree of a page only, not of a frame")
    browser = root.context.browser
    if browser is not None and browser.browser_type.name != "chromium":
        raise _NotPossible(f"{browser.browser_type.name} has no protocol for it")
    secrets = _secrets(root)
    session = root.context.new_cdp_session(root)
    try:
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        inner, notes = _inner_trees(session)
    finally:
        session.detach()
    return _cut(ax_outline(nodes, inner, secrets), budget, notes)


def _inner_trees(
    session: "CDPSession",
) -> tuple[Mapping[int, Sequence[Mapping[str, Any]]], tuple[str, ...]]:
    from playwright.sync_api import Error

    found: dict[int, Sequence[Mapping[str, Any]]] = {}
    notes: list[str] = []
    for frame in _frame_tree(session.send("Page.getFrameTree")["frameTree"]):
        try:
            owner = session.send("DOM.getFrameOwner", {"frameId": frame["id"]})
            tree = session.send("Accessibility.getFullAXTree", {"frameId": frame["id"]})
        except Error:
            # A frame of another site may run in another process, which this session cannot reach.
            notes.append(f"frame {frame.get('url', '')!r} runs elsewhere and is not shown")
            continue
        found[int(owner["backendNodeId"])] = tree["nodes"]
    return found, tuple(notes)


def _frame_tree(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for child in tree.get("childFrames", ()):
        yield child["frame"]
        yield from _frame_tree(child)


def _raw_html(root: "Page | Frame", budget: int) -> _Shown:
    cut = clean_html(str(run_script(root, "serialize")), budget)
    return _Shown(cut.text, cut.truncated)


_Mode = Callable[["Page | Frame", int], _Shown]

_MODES: Mapping[CaptureMode, _Mode] = {
    "ARIA": _aria,
    "ARIA_SNAPSHOT": _classic_aria,
    "A11Y": _full_tree,
    "RAW_HTML": _raw_html,
}


def _cut(lines: tuple[Line, ...], budget: int, notes: tuple[str, ...] = ()) -> _Shown:
    cut: Cut = fit_outline(lines, budget)
    return _Shown(cut.text, cut.truncated, notes)


def _secrets(root: "Page | Frame") -> frozenset[str]:
    """Return the values of the password fields of the page and its frames.

    This also proves that the page is responsive before the calls that have no timeout.
    """
    from playwright.sync_api import Error

    found = set(run_script(root, "secret_values"))
    for frame in _inner_frames(root):
        try:
            found.update(run_script(frame, "secret_values", timeout_ms=2_000))
        except Error:
            continue
    return frozenset(str(value) for value in found)


def _inner_frames(root: "Page | Frame") -> tuple["Frame", ...]:
    from playwright.sync_api import Page

    pending = list(root.main_frame.child_frames if isinstance(root, Page) else root.child_frames)
    found: list[Frame] = []
    while pending:
        frame = pending.pop(0)
        found.append(frame)
        pending = [*frame.child_frames, *pending]
    return tuple(found)
