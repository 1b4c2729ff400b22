"""Records how a page looked at given moments: its address, its text, its picture."""

import base64
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Error, FloatRect, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import (
    call_within,
    debugging_session,
    forget_session,
)
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.covered_fields import covers, shows_bare
from pytest_autoweb.browser.page.frames import call_function
from pytest_autoweb.browser.page.outline import Folds
from pytest_autoweb.judging.evidence.console import Watch
from pytest_autoweb.results.records import CaptureModeName, Scene

Region = tuple[float, float, float, float]
"""x, y, width and height in CSS pixels of the viewport."""
_SNAPSHOT_TOKENS = 4_000
# In brief a page takes a third. A retry by turns is sent it in every turn.
_BRIEF_TOKENS = 2_000
_SHOT_MS = 5_000.0
_QUALITY = 60


def take_scene(
    page: Page,
    watch: Watch,
    *,
    step_index: int,
    mode: CaptureModeName,
    folder: Path,
    redact: Callable[[str], str],
    check_index: int | None = None,
    pictured: Path | None = None,
    brief: bool = False,
) -> Scene:
    """Record the page: URL, title, snapshot, picture, console and failed requests.

    Args:
        page: the page.
        watch: what its console and its requests have told.
        step_index: the number of the failing step, or of the last one.
        mode: how the page is shown as text.
        folder: the attempt's folder.
        redact: removes the case's secrets.
        check_index: the check that does not hold, if that is what failed.
        pictured: a picture of this moment, if there is one already.
        brief: whether the page is listed as for models that work by turns.
    """
    picture = pictured or folder / f"scene-{step_index}.jpg"
    taken = pictured is not None or shot(page, picture, redact)
    return Scene(
        step_index=step_index,
        check_index=check_index,
        url=redact(page.url),
        title=redact(_title(page)),
        snapshot=snapshot_text(page, mode, redact, brief=brief),
        screenshot=str(picture) if taken else None,
        console=watch.console,
        failed_requests=watch.failed_requests,
    )


def shot(
    page: Page,
    path: Path,
    redact: Callable[[str], str] | None = None,
    *,
    region: Region | None = None,
    steady: bool = False,
    bare: bool | None = None,
    drawn: Callable[[], bytes | None] | None = None,
) -> bool:
    """Save a small picture of the viewport with secrets covered; never raises.

    Args:
        page: the page to show.
        path: path of the picture, a PNG if the name ends in `.png`, else a JPEG.
        redact: removes the case's secrets from text; fields that hold one are covered, too.
        region: the part of the viewport to show; None for all of it.
        steady: whether no cursor blinks in a field, so that equal pages give equal pictures.
        bare: whether nothing is to be prepared, as `shows_bare` tells; None if nothing has just
            asked.
        drawn: what `begin_frame` returned after that had been asked, if it was called; used if
            nothing is to be prepared.

    Returns:
        Whether the picture was saved.
    """
    png = path.suffix.lower() == ".png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = None
        if not (png or steady or region):
            bare = shows_bare(page, redact) if bare is None else bare
            frame = drawn() if drawn else _next_frame(page, redact) if bare else None
        if bare and frame:
            path.write_bytes(frame)
            return True
        page.screenshot(
            path=path,
            type="png" if png else "jpeg",
            # Playwright refuses a quality for PNG.
            quality=None if png else _QUALITY,
            animations="disabled",
            # To hide it, Playwright leaves an attribute on each field, and the page is another one.
            caret="hide" if steady else "initial",
            scale="css",
            timeout=_SHOT_MS,
            clip=_clip(region),
            mask=covers(page, redact),
        )
    except (Error, OSError):
        return False
    return True


def _clip(region: Region | None) -> FloatRect | None:
    if region is None:
        return None
    x, y, width, height = region
    return {"x": x, "y": y, "width": width, "height": height}


def begin_frame(page: Page, redact: Callable[[str], str] | None) -> Callable[[], bytes | None]:
    """Let the browser draw the page's next frame meanwhile, for `shot`.

    Args:
        page: the page to show.
        redact: removes the case's secrets from text; None if the case has none.

    Returns:
        A function that waits for the frame, and returns None if it may not be kept.
    """
    return waiting.start_call(page, lambda: _next_frame(page, redact))


def _next_frame(page: Page, redact: Callable[[str], str] | None) -> bytes | None:
    """Return the next frame that Chromium draws, as a JPEG, or None if it may not be kept.

    `page.screenshot` prepares the page first and waits for two frames, which takes twice as long.
    """
    if (session := debugging_session(page)) is None:
        return None
    asked = {"format": "jpeg", "quality": _QUALITY, "captureBeyondViewport": False}
    try:
        told = call_within(page, _SHOT_MS, lambda: session.send("Page.captureScreenshot", asked))
    except Error:
        forget_session(page)
        return None
    # The page may have changed since it was looked at.
    return base64.b64decode(told["data"]) if shows_bare(page, redact) else None


def _title(page: Page) -> str:
    # `page.title()` has no timeout, so a busy page would block it.
    try:
        return str(read_json(call_function(page, "document.title", timeout_ms=2_000).shown))
    except (Error, ValueError):
        return ""


def snapshot_text(
    page: Page, mode: CaptureModeName, redact: Callable[[str], str], *, brief: bool = False
) -> str:
    """Return the page as a scene shows it, without secrets; empty if it is closed."""
    if page.is_closed():
        return ""
    taken = capture_snapshot(
        page,
        mode,
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=_BRIEF_TOKENS if brief else _SNAPSHOT_TOKENS,
        folds=Folds(may_ask=False) if brief else None,
    )
    return redact(taken.text)
