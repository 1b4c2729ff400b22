"""The built-in capture modes: ARIA, ARIA_SNAPSHOT, A11Y and RAW_HTML."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playwright.sync_api import CDPSession, Error, Frame, Page

from pytest_autoweb.page.accessibility import aria_outline, ax_outline
from pytest_autoweb.page.brief_listing import OutOfSight, brief_outline
from pytest_autoweb.page.capture import (
    CAPTURE_MODES,
    CaptureMode,
    NotPossible,
    ShownPage,
    aria_snapshot,
    fitted,
    inner_frames,
    secret_texts,
)
from pytest_autoweb.page.clean_html import clean_html, html_outline
from pytest_autoweb.page.outline import Line
from pytest_autoweb.page.run_script import MAX_SILENT, run_script


def show_aria(root: Page | Frame, budget: int) -> ShownPage:
    """Show roles, names, states and links, with the frames in their places."""
    snapshot = aria_snapshot(root, for_models=True)
    return fitted(aria_outline(snapshot, secret_texts(root)), budget)


def brief_aria(root: Page | Frame) -> tuple[Line, ...]:
    """Show the same in fewer tokens, without what is out of sight."""
    snapshot = aria_snapshot(root, for_models=True, boxes=True)
    return brief_outline(aria_outline(snapshot, secret_texts(root)), _sight(root))


def _sight(root: Page | Frame) -> OutOfSight:
    found: list[Any] = []
    silent = 0
    for document in (root, *inner_frames(root)):
        try:
            found.append(run_script(document, "out_of_sight", _SIGHT_LIMITS, timeout_ms=2_000))
        except Error:
            silent += 1
            if silent >= MAX_SILENT:
                break
    return OutOfSight.of(found)


_SIGHT_LIMITS = {"limit": 5_000, "milliseconds": 300}
"""The most elements of a document that are looked at, and the time for it."""

ARIA = CAPTURE_MODES.add(
    CaptureMode(
        name="ARIA",
        summary="Playwright's aria snapshot made for models: roles, names, states, links; frames "
        "inlined",
        show=show_aria,
        brief=brief_aria,
    )
)


def show_classic_aria(root: Page | Frame, budget: int) -> ShownPage:
    """Show the body; this form leaves frames out, so each visible one is appended."""
    lines, notes = _classic_outline(root, boxes=False)
    return fitted(lines, budget, notes)


def brief_classic_aria(root: Page | Frame) -> tuple[Line, ...]:
    """Show the same in fewer tokens, without what is out of sight."""
    return brief_outline(_classic_outline(root, boxes=True)[0], _sight(root))


def _classic_outline(
    root: Page | Frame, *, boxes: bool
) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    secrets = secret_texts(root)
    snapshot = aria_snapshot(root, for_models=False, boxes=boxes)
    lines = list(aria_outline(snapshot, secrets))
    notes: list[str] = []
    for frame in inner_frames(root):
        label = frame.name or frame.url
        try:
            if not frame.frame_element().is_visible():
                continue
            snapshot = aria_snapshot(frame, for_models=False, boxes=boxes)
            inner = aria_outline(snapshot, secrets)
        except Error:
            notes.append(f"frame {label!r} did not answer")
            continue
        if inner:
            lines.append(Line(f"- iframe {label!r}:", "iframe", inner))
    return tuple(lines), tuple(notes)


ARIA_SNAPSHOT = CAPTURE_MODES.add(
    CaptureMode(
        name="ARIA_SNAPSHOT",
        summary="the classic aria snapshot of `body`, each visible frame's own appended",
        show=show_classic_aria,
        brief=brief_classic_aria,
    )
)


def show_full_tree(root: Page | Frame, budget: int) -> ShownPage:
    """Show every node that assistive technology could reach.

    Raises:
        NotPossible: it is a frame, or another browser than Chromium.
    """
    lines, notes = _full_tree(root, boxes=False)
    return fitted(lines, budget, notes)


def brief_full_tree(root: Page | Frame) -> tuple[Line, ...]:
    """Show the same in fewer tokens, without what is out of sight."""
    return brief_outline(_full_tree(root, boxes=True)[0], _sight(root))


def _full_tree(root: Page | Frame, *, boxes: bool) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    if not isinstance(root, Page):
        raise NotPossible("the browser gives the full tree of a page only, not of a frame")
    browser = root.context.browser
    if browser is not None and browser.browser_type.name != "chromium":
        raise NotPossible(f"{browser.browser_type.name} has no protocol for it")
    secrets = secret_texts(root)
    session = root.context.new_cdp_session(root)
    try:
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        inner, notes = _inner_trees(session)
        places = _boxes(session) if boxes else None
    finally:
        session.detach()
    return ax_outline(nodes, inner, secrets, places), notes


def _boxes(session: CDPSession) -> dict[int, str]:
    """Return the place of each node in its window, as the script for what is out of sight does."""
    found: dict[int, str] = {}
    told = session.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    for document in told["documents"]:
        numbers, layout = document["nodes"]["backendNodeId"], document["layout"]
        left, top = document.get("scrollOffsetX", 0), document.get("scrollOffsetY", 0)
        for index, (x, y, width, height) in zip(layout["nodeIndex"], layout["bounds"], strict=True):
            edges = (x - left, y - top, width, height)
            # As Math.round in the page: halves go up.
            box = ",".join(str(math.floor(edge + 0.5)) for edge in edges)
            found.setdefault(numbers[index], box)
    return found


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
        found[int(owner["backendNodeId"])] = tree["nodes"]
    return found, tuple(notes)


def _frame_tree(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for child in tree.get("childFrames", ()):
        yield child["frame"]
        yield from _frame_tree(child)


A11Y = CAPTURE_MODES.add(
    CaptureMode(
        name="A11Y",
        summary="Chromium's full accessibility tree; other browsers show `ARIA` and note it",
        show=show_full_tree,
        brief=brief_full_tree,
    )
)


def show_html(root: Page | Frame, budget: int) -> ShownPage:
    """Show the live document; the script that reads it leaves secret values out itself."""
    cut = clean_html(str(run_script(root, "serialize")), budget)
    return ShownPage(cut.text, cut.truncated)


def brief_html(root: Page | Frame) -> tuple[Line, ...]:
    """Show the same with indentation in place of closing tags."""
    return html_outline(str(run_script(root, "serialize")))


RAW_HTML = CAPTURE_MODES.add(
    CaptureMode(
        name="RAW_HTML",
        summary="the live DOM as cleaned HTML; `<shadow-root>` and `<frame-document>` mark what is "
        "inlined",
        show=show_html,
        brief=brief_html,
    )
)
