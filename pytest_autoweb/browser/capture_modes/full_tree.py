"""`A11Y`: the full accessibility tree, as Chromium's protocol gives it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_autoweb.browser.ax_tree import ax_outline
from pytest_autoweb.browser.capture_mode import (
    CAPTURE_MODES,
    CaptureMode,
    NotPossible,
    ShownPage,
    fitted,
    secret_texts,
)

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Frame, Page


def show_full_tree(root: "Page | Frame", budget: int) -> ShownPage:
    """Show every node that assistive technology could reach.

    Raises:
        NotPossible: it is a frame, or another browser than Chromium.
    """
    from playwright.sync_api import Page

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
    finally:
        session.detach()
    return fitted(ax_outline(nodes, inner, secrets), budget, notes)


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
    )
)
