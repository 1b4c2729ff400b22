"""What no picture of a page may show: private fields, and fields that hold a secret of the case."""

from collections.abc import Callable

from playwright.sync_api import Error, Frame, Locator, Page

from pytest_autoweb.browser.page.frames import MAX_FRAMES, run_script
from pytest_autoweb.browser.page.own_world import ask_about, ask_within

PRIVATE_FIELDS = (
    "input[type=password], input[autocomplete$=-password], input[autocomplete=one-time-code],"
    " input[autocomplete=cc-number], input[autocomplete=cc-csc]"
)
"""Fields whose content is covered whether or not the case has secrets."""
_FIELDS = "input, textarea, [contenteditable]"
_ALIVE_MS = 2_000.0
FEW_FRAMES = 6
"""With more of them, to ask each takes longer than to let Playwright prepare the picture."""


def covers(page: Page, redact: Callable[[str], str] | None) -> list[Locator]:
    """Return locators of the fields to mask, in all frames.

    Args:
        page: the page of which a picture is taken.
        redact: removes the case's secrets from text; None if the case has none.
    """
    found = []
    frames = page.frames
    if len(frames) > MAX_FRAMES:
        # Too many to be searched, so the picture shows none of them.
        found, frames = [page.locator("iframe, frame")], [page.main_frame]
    for frame in frames:
        # Masked even if the case has no secrets: a page may fill in passwords of its own.
        found.append(frame.locator(PRIVATE_FIELDS))
        if redact is not None:
            found += _with_secrets(frame, redact)
    return found


def _with_secrets(frame: Frame, redact: Callable[[str], str]) -> list[Locator]:
    try:
        fields = ask_within(frame, _FIELDS, "field_texts", timeout_ms=_ALIVE_MS)
    except Error:
        # What the fields hold is unknown, so all of them are masked.
        return [frame.locator(_FIELDS)]
    return [field for text, field in fields if redact(str(text)) != text]


def shows_bare(page: Page, redact: Callable[[str], str] | None) -> bool:
    """Ask all frames of a page whether its picture needs no preparation.

    Nothing is to be covered then, no animation is under way, and a pixel is one of the page. A
    private field that is empty hides nothing.

    Args:
        page: the page of which a picture is to be taken, or was taken just now.
        redact: removes the case's secrets from text; None if the case has none. If it has some, the
            page's own scripts have no hand in the answer.
    """
    frames = page.frames
    if len(frames) > FEW_FRAMES:
        return False
    try:
        bare = all(_is_bare(frame, redact) for frame in frames)
    except Error:
        return False
    return bare and len(page.frames) == len(frames)


def _is_bare(frame: Frame, redact: Callable[[str], str] | None) -> bool:
    asked = {"covered": PRIVATE_FIELDS, "fields": "" if redact is None else _FIELDS}
    if redact is None:
        told = run_script(frame, "bare_document", asked, timeout_ms=_ALIVE_MS)
    else:
        root = frame.locator(":root")
        told = ask_about(root, "bare_document", asked, timeout_ms=_ALIVE_MS)
    match told:
        case {"texts": list(texts)}:
            return redact is None or all(redact(str(text)) == text for text in texts)
    # Nothing was told by a document that does not answer, either.
    return False
