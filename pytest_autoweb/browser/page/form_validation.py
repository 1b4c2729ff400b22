"""What the browser itself says of the values in a form that it does not send.

A person sees a bubble beside the field. It is drawn by the browser, so neither the document nor a
picture of it holds it.
"""

from contextlib import suppress

from playwright.sync_api import Error, Frame, Page

from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.browser.page.page_tree import inner_frames

_LOOK_MS = 1_000.0


def refused_values(page: Page) -> tuple[str, ...]:
    """Return a sentence for each field whose value the browser refuses; they may hold secrets."""
    found: list[dict[str, str]] = []
    documents: list[Page | Frame] = [page, *inner_frames(page)]
    for document in documents:
        # Also an error where a browser does not know the selector.
        with suppress(Error):
            found += run_script(document, "refused_values", timeout_ms=_LOOK_MS)
    return tuple(
        f'the browser refuses the value of "{one["name"]}": {one["message"]}' for one in found
    )
