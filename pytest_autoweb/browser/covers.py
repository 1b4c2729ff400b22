"""The fields that pictures of a page must not show: passwords, and fields that hold secrets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import run_on_elements, run_script

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Locator, Page

_ALWAYS = (
    "input[type=password], input[autocomplete$=-password], input[autocomplete=one-time-code],"
    " input[autocomplete=cc-number], input[autocomplete=cc-csc]"
)
_FIELDS = "input, textarea, [contenteditable]"
_ALIVE_MS = 2_000.0


def covers(page: "Page", redact: Callable[[str], str] | None) -> list["Locator"]:
    """Return locators of the fields to mask, in all frames.

    Args:
        page: the page of which a picture is taken.
        redact: removes the case's secrets from text; None if the case has none.
    """
    found = []
    for frame in page.frames:
        # Masked even if the case has no secrets: a page may fill in passwords of its own.
        found.append(frame.locator(_ALWAYS))
        if redact is not None:
            found += _with_secrets(frame, redact)
    return found


def _with_secrets(frame: "Frame", redact: Callable[[str], str]) -> list["Locator"]:
    from playwright.sync_api import Error

    fields = frame.locator(_FIELDS)
    try:
        # This call has a timeout and proves that the frame answers; the next one has none.
        run_script(frame, "secret_values", timeout_ms=_ALIVE_MS)
        texts = run_on_elements(fields, "field_texts")
    except Error:
        # What the fields hold is unknown, so all of them are masked.
        return [fields]
    return [fields.nth(i) for i, text in enumerate(texts) if redact(str(text)) != text]
