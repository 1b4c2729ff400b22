"""Capture modes, and snapshots of a page as text in one of them, taken without changing it.

The built-in modes are ARIA, ARIA_SNAPSHOT, A11Y and RAW_HTML.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from playwright.sync_api import CDPSession, Error, Frame, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.variant_names import CAPTURE_MODE_NAMES
from pytest_autoweb.base.variants import BoundVariants
from pytest_autoweb.base.whole_characters import whole_text, whole_value
from pytest_autoweb.browser.egress.browser_watch import debugging_session
from pytest_autoweb.browser.page.accessibility import HIDDEN, aria_outline, ax_outline
from pytest_autoweb.browser.page.brief_listing import brief_outline, readings
from pytest_autoweb.browser.page.clean_html import clean_html, html_outline
from pytest_autoweb.browser.page.frames import (
    MAX_SILENT,
    OBSERVE_TIMEOUT_MS,
    ContextWrapper,
    answers,
    run_script,
)
from pytest_autoweb.browser.page.outline import Folds, Line, estimate_tokens, fit_outline
from pytest_autoweb.browser.page.page_tree import RowsToRead, inner_frames, read_page
from pytest_autoweb.results.records import CaptureModeName, Snapshot


class ShownPage(NamedTuple):
    """A page as text, within its budget and without the values of its password fields."""

    text: str
    truncated: bool = False
    notes: tuple[str, ...] = ()
    """What is missing and why, for readers of the report."""


class NotPossible(Exception):
    """Raised by a mode that cannot show this page; its text says why. Another mode stands in."""


Show = Callable[["Page | Frame", int], "ShownPage | str"]
"""Shows a page or a frame within a budget of tokens, without changing it.

A plain text is taken for a page that may still be too long: it is cut at the end of a line, and the
values of password fields are taken out of it.
"""


class CaptureMode(Struct, frozen=True, kw_only=True):
    """One way to show a page to a model as text."""

    name: str
    """In capital letters by convention; flags take it in any case."""
    summary: str
    show: Show
    brief: Callable[["Page | Frame", RowsToRead | None], tuple[Line, ...]] | None = None
    """The page as an outline for models that work by turns; None if they see what `show` shows.

    It may leave out rows of very long lists that are not to be read, and say so by `UnreadRow`.
    """


CAPTURE_MODES: BoundVariants[CaptureMode] = BoundVariants(CAPTURE_MODE_NAMES)


def aria_snapshot(root: Page | Frame, *, for_models: bool) -> str:
    """Return what Playwright calls the aria snapshot of the body, in one of its two forms."""
    body = root.locator("body")
    mode: Literal["ai", "default"] = "ai" if for_models else "default"
    return whole_text(body.aria_snapshot(mode=mode, timeout=OBSERVE_TIMEOUT_MS))


def _snapshot_and_secrets(root: Page | Frame, *, for_models: bool) -> tuple[str, frozenset[str]]:
    """Return `aria_snapshot` and `secret_texts`, which the page is asked for at the same time."""
    asked = waiting.start_call(root, lambda: secret_texts(root))
    try:
        snapshot = aria_snapshot(root, for_models=for_models)
    finally:
        secrets = asked()
    return snapshot, secrets


def fitted(lines: tuple[Line, ...], budget: int, notes: tuple[str, ...] = ()) -> ShownPage:
    """Return an outline within the budget."""
    cut = fit_outline(lines, budget)
    return ShownPage(cut.text, cut.truncated, notes)


def secret_texts(root: Page | Frame) -> frozenset[str]:
    """Return the values of the password fields of the page and its frames.

    Answering at all also proves that the page is alive, before calls that know no timeout.
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


_ALIVE_MS = 2_000.0
FALLBACKS: tuple[CaptureModeName, ...] = ("ARIA", "A11Y", "RAW_HTML")
"""Stand in for a mode that fails or lists nothing, in this order."""


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
    lists are shortened; with `folds.may_ask` off, it is shown in the same words, to be looked back
    at. Never clicks. If a mode fails twice or lists nothing, the next of
    `FALLBACKS` is used, and the snapshot's notes say so; its `mode` remains the requested one. No
    mode includes the values of password and hidden fields.
    """
    root = context.context if isinstance(context, ContextWrapper) else context
    notes: list[str] = []
    empty: list[CaptureModeName] = []
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
        if not shown.text.strip():
            empty.append(candidate)
            continue
        if candidate != mode:
            notes.append(f"shown as {candidate}")
        break
    if mode in empty:
        notes.insert(0, f"{mode} lists nothing of this page")
        seen = unlisted(root)
        if not shown.text.strip():
            shown = ShownPage(f"({seen or 'the page is blank'})")
        elif seen:
            notes.append(seen)
    # A mode of a plugin may read the page in its own way.
    text = whole_text(shown.text)
    return Snapshot(
        step_indexes=tuple(step_indexes),
        url=url,
        entry_action=entry_action,
        mode=mode,
        cache_key=cache_key(url, entry_action, mode),
        text=text,
        tokens=estimate_tokens(text),
        truncated=shown.truncated,
        notes=tuple(whole_text(note) for note in (*notes, *shown.notes)),
    )


def unlisted(root: Page | Frame) -> str:
    """Name the pictures and boxes that a page shows and no text tells of; empty without any."""
    try:
        seen = run_script(root, "unlisted", _UNLISTED_LIMITS, timeout_ms=2_000)
    except Error:
        seen = []
    if not seen:
        return ""
    boxes = (f"{b['tag']}, {b['width']} x {b['height']} pixels at {b['x']}, {b['y']}" for b in seen)
    return f"the page shows what cannot be read: {'; '.join(boxes)}"


_UNLISTED_LIMITS = {"limit": 5_000, "shown": 5}


def _show_of(mode: CaptureModeName, folds: Folds | None) -> Show:
    found = CAPTURE_MODES.pick(mode)
    brief = found.brief
    if folds is None or brief is None:
        return found.show

    def show(root: Page | Frame, budget: int) -> ShownPage:
        for rows in readings(budget, folds):
            cut = fit_outline(brief(root, rows), budget, folds)
            if not cut.unread:
                break
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
        raise NotPossible(first_line(error)) from error


def _within(shown: ShownPage | str, root: Page | Frame, budget: int) -> ShownPage:
    """Return what a mode shows; a plain text only without passwords and cut to the budget."""
    if isinstance(shown, ShownPage):
        return shown
    # The longest first: one value may be a part of another.
    shown = whole_text(shown)
    for value in sorted(filter(None, secret_texts(root)), key=len, reverse=True):
        shown = shown.replace(value, HIDDEN)
    return fitted(tuple(Line(line) for line in shown.split("\n")), budget)


def show_aria(root: Page | Frame, budget: int) -> ShownPage:
    """Show roles, names, states and links, with the frames in their places."""
    return fitted(aria_outline(*_snapshot_and_secrets(root, for_models=True)), budget)


def brief_aria(root: Page | Frame, rows: RowsToRead | None) -> tuple[Line, ...]:
    """Show everything a person sees in few tokens: the listing for models that work by turns."""
    return brief_outline(read_page(root, rows))


ARIA = CAPTURE_MODES.add(
    CaptureMode(
        **CAPTURE_MODES.about("ARIA"),
        show=show_aria,
        brief=brief_aria,
    )
)


def show_classic_aria(root: Page | Frame, budget: int) -> ShownPage:
    """Show the body; this form leaves frames out, so each visible one is appended."""
    snapshot, secrets = _snapshot_and_secrets(root, for_models=False)
    lines = list(aria_outline(snapshot, secrets))
    notes: list[str] = []
    for frame in inner_frames(root):
        label = whole_text(frame.name) or frame.url
        try:
            if not frame.frame_element().is_visible():
                continue
            inner = aria_outline(aria_snapshot(frame, for_models=False), secrets)
        except Error:
            notes.append(f"frame {label!r} did not answer")
            continue
        if inner:
            lines.append(Line(f"- iframe {label!r}:", "iframe", inner))
    return fitted(tuple(lines), budget, tuple(notes))


ARIA_SNAPSHOT = CAPTURE_MODES.add(
    CaptureMode(
        **CAPTURE_MODES.about("ARIA_SNAPSHOT"),
        show=show_classic_aria,
        # In brief there is one listing, which has all that either form has.
        brief=brief_aria,
    )
)


def show_full_tree(root: Page | Frame, budget: int) -> ShownPage:
    """Show every node that assistive technology could reach.

    Raises:
        NotPossible: it is a frame, or another browser than Chromium.
    """
    if not isinstance(root, Page):
        raise NotPossible("the browser gives the full tree of a page only, not of a frame")
    browser = root.context.browser
    if browser is not None and browser.browser_type.name != "chromium":
        raise NotPossible(f"{browser.browser_type.name} has no protocol for it")
    secrets = secret_texts(root)
    if (session := debugging_session(root)) is None:
        raise NotPossible("the browser opens no debugging session with the page")
    nodes = whole_value(session.send("Accessibility.getFullAXTree")["nodes"])
    inner, notes = _inner_trees(session)
    return fitted(ax_outline(nodes, inner, secrets), budget, notes)


def _inner_trees(
    session: CDPSession,
) -> tuple[Mapping[int, Sequence[Mapping[str, Any]]], tuple[str, ...]]:
    found: dict[int, Sequence[Mapping[str, Any]]] = {}
    notes: list[str] = []
    for frame in _frame_tree(session.send("Page.getFrameTree")["frameTree"]):
        try:
            owner = session.send("DOM.getFrameOwner", {"frameId": frame["id"]})
            tree = session.send("Accessibility.getFullAXTree", {"frameId": frame["id"]})
        except Error:
            notes.append(f"frame {frame.get('url', '')!r} runs elsewhere and is not shown")
            continue
        found[int(owner["backendNodeId"])] = whole_value(tree["nodes"])
    return found, tuple(notes)


def _frame_tree(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for child in tree.get("childFrames", ()):
        yield child["frame"]
        yield from _frame_tree(child)


A11Y = CAPTURE_MODES.add(
    CaptureMode(
        **CAPTURE_MODES.about("A11Y"),
        show=show_full_tree,
    )
)


def show_html(root: Page | Frame, budget: int) -> ShownPage:
    """Show the live document; the script that reads it leaves secret values out itself."""
    cut = clean_html(str(run_script(root, "serialize")), budget)
    return ShownPage(cut.text, cut.truncated)


def brief_html(root: Page | Frame, _rows: RowsToRead | None) -> tuple[Line, ...]:
    """Show the same with indentation in place of closing tags."""
    return html_outline(str(run_script(root, "serialize")))


RAW_HTML = CAPTURE_MODES.add(
    CaptureMode(
        **CAPTURE_MODES.about("RAW_HTML"),
        show=show_html,
        brief=brief_html,
    )
)
