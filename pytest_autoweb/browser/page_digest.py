"""A digest of a page, which tells whether the page still shows the same."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import run_script

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The digest only saves work, so a slow page is not waited for.
_LOOK_MS = 1_000.0


def page_digest(page: "Page") -> tuple[str, str] | None:
    """Return the page's address and a digest of its markup, rendered text and fields.

    Returns:
        None if the page has frames, shadow roots or objects, is too large, or does not answer.
    """
    from playwright.sync_api import Error

    try:
        digest = run_script(page, "page_digest", timeout_ms=_LOOK_MS)
    except Error:
        return None
    return (page.url, str(digest)) if digest else None
