"""Tell whether a page still shows the same."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import run_script

if TYPE_CHECKING:
    from playwright.sync_api import Page

_LOOK_MS = 1_000.0


def page_digest(page: "Page") -> tuple[str, str] | None:
    """Address and digest of the page; equal only if markup, rendered text and fields are.

    Returns:
        None: it has frames, shadow roots or objects, it is too large, or it does not answer.
    """
    from playwright.sync_api import Error

    try:
        digest = run_script(page, "page_digest", timeout_ms=_LOOK_MS)
    except Error:
        return None
    return (page.url, str(digest)) if digest else None
