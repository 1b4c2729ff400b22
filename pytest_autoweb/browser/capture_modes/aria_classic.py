"""`ARIA_SNAPSHOT`: the classic aria snapshot, with a part for each frame."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.aria_text import aria_outline
from pytest_autoweb.browser.capture_mode import (
    CAPTURE_MODES,
    CaptureMode,
    ShownPage,
    aria_snapshot,
    fitted,
    inner_frames,
    secret_texts,
)
from pytest_autoweb.browser.outline import Line

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page


def show_classic_aria(root: "Page | Frame", budget: int) -> ShownPage:
    """Show the body; this form leaves frames out, so each visible one is appended."""
    from playwright.sync_api import Error

    secrets = secret_texts(root)
    lines = list(aria_outline(aria_snapshot(root, for_models=False), secrets))
    notes: list[str] = []
    for frame in inner_frames(root):
        label = frame.name or frame.url
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
        name="ARIA_SNAPSHOT",
        summary="the classic aria snapshot of `body`, each visible frame's own appended",
        show=show_classic_aria,
    )
)
