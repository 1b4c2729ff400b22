"""`RAW_HTML`: the document as it is now, as cleaned HTML."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.capture_mode import CAPTURE_MODES, CaptureMode, ShownPage
from pytest_autoweb.browser.clean_html import clean_html
from pytest_autoweb.browser.injected import run_script

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page


def show_html(root: "Page | Frame", budget: int) -> ShownPage:
    """Show the live document; the script that reads it leaves secret values out itself."""
    cut = clean_html(str(run_script(root, "serialize")), budget)
    return ShownPage(cut.text, cut.truncated)


RAW_HTML = CAPTURE_MODES.add(
    CaptureMode(
        name="RAW_HTML",
        summary="the live DOM as cleaned HTML; `<shadow-root>` and `<frame-document>` mark what is "
        "inlined",
        show=show_html,
    )
)
