"""`ARIA`: the aria snapshot that Playwright makes for models."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.aria_text import aria_outline
from pytest_autoweb.browser.capture_mode import (
    CAPTURE_MODES,
    CaptureMode,
    ShownPage,
    aria_snapshot,
    fitted,
    secret_texts,
)

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page


def show_aria(root: "Page | Frame", budget: int) -> ShownPage:
    """Show roles, names, states and links, with the frames in their places."""
    snapshot = aria_snapshot(root, for_models=True)
    return fitted(aria_outline(snapshot, secret_texts(root)), budget)


ARIA = CAPTURE_MODES.add(
    CaptureMode(
        name="ARIA",
        summary="Playwright's aria snapshot made for models: roles, names, states, links; frames "
        "inlined",
        show=show_aria,
    )
)
