"""The pictures of an attempt: of its entry page, and of the page after each step."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.tools import Tools, change, relative
from pytest_autoweb.base import waiting
from pytest_autoweb.browser.page.covered_fields import shows_bare
from pytest_autoweb.browser.page.page_digest import PageLook, page_look
from pytest_autoweb.judging.evidence.scene import begin_frame, shot
from pytest_autoweb.results.records import Attempt, FrameMoment, Scene


class EarlyLook(NamedTuple):
    """What a page held at a moment, and how it looked then."""

    look: PageLook | None = None
    drawn: Callable[[], bytes | None] | None = None
    """What `begin_frame` returned; None if the picture has to be prepared."""


NO_EARLY_LOOK = EarlyLook()


class LookAhead:
    """Sees a page while it is waited for, in case that it stays as it is.

    `begin` is called at most once, and `seen` after the wait, in any case.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._ended: Callable[[], EarlyLook] = lambda: NO_EARLY_LOOK

    def begin(self) -> None:
        """Look at the page, and let the browser draw its next frame.

        Not where that gains nothing: `setup.js` is still to change the page, or the browser draws
        for others in flight.
        """
        tools = self._tools
        if not tools.case.setup.js and not waiting.others_in_flight():
            self._ended = waiting.start_call(tools.page, self._see)

    def seen(self, *, still: bool) -> EarlyLook:
        """Return what was seen, if the page is still the same; else wait until it is drawn."""
        # Whoever asks the page next notices if its driver has ended.
        with suppress(Error):
            seen = self._ended()
            if still:
                return seen
            if seen.drawn is not None:
                seen.drawn()
        return NO_EARLY_LOOK

    def _see(self) -> EarlyLook:
        page, hidden = self._tools.page, self._tools.hidden
        # A frame that may show a secret waits until that has been asked. The look can wait, since
        # both are used only if the page stays as it is.
        bare = hidden is None or shows_bare(page, hidden)
        drawn = begin_frame(page, hidden) if bare else None
        look = page_look(page)
        if look is not None:
            look = look._replace(bare=look.bare and bare)
            # A canvas may be drawn on without a trace.
            if look.bare and not look.painted:
                return EarlyLook(look, drawn)
        if drawn is not None:
            drawn()
        return EarlyLook(look)


def begin_picture(
    name: str,
    tools: Tools,
    moment: FrameMoment,
    step_index: int | None = None,
    *,
    seen: EarlyLook = NO_EARLY_LOOK,
    acted: bool = True,
) -> str | None:
    """Take a picture as `pictured` does, while what leaves the page as it is may go on.

    The caller waits only where the page has to be prepared for it.

    Args:
        name: the picture's name, without its suffix.
        tools: the tools of the attempt.
        moment: what the picture is of.
        step_index: the number of the step.
        seen: what was seen of the page already, if it has stayed the same.
        acted: whether anything was done to the page since the newest picture; if not, that one is
            used again unless the page has changed by itself.

    Returns:
        The path that it has or will have, unless it turns out to be among `StepPicture.missed`.
    """
    newest, page, path = tools.newest, tools.page, tools.folder / f"{name}.jpg"
    newest.settle()
    before, newest.path = newest.path, None
    try:
        if not acted and before is not None:
            seen = EarlyLook(page_look(page, tools.hidden))
            if seen.look is not None and seen.look.shows_the_same_as(newest.look):
                return _used_again(before, path, tools, moment, step_index)
        drawn = _begun_frame(tools, seen)
    except Error:
        # A step that brought the browser down has no picture, but its result is not lost.
        return None
    kept = relative(path, tools)

    def finish() -> None:
        if not shot(page, path, tools.hidden, bare=drawn is not None, drawn=drawn):
            newest.missed.add(kept)
            return
        newest.path = path
        tools.film.add(kept, moment, step_index)

    newest.finish = finish
    if drawn is None:
        newest.settle()
    return None if kept in newest.missed else kept


def _used_again(
    before: Path, path: Path, tools: Tools, moment: FrameMoment, step_index: int | None
) -> str | None:
    """Keep the picture of an earlier moment as that of this one, too."""
    try:
        copyfile(before, path)
    except OSError:
        return None
    tools.newest.path, kept = path, relative(path, tools)
    tools.film.add(kept, moment, step_index)
    return kept


def _begun_frame(tools: Tools, seen: EarlyLook) -> Callable[[], bytes | None] | None:
    """Look at the page, and let its next frame be drawn if that needs no preparation.

    Raises:
        Error: Playwright's error if the browser is gone.
    """
    newest, page, hidden = tools.newest, tools.page, tools.hidden
    look, drawn = seen
    if look is None:
        # The look comes first, so that what it finds was there before the frame. Where the page had
        # to be prepared before, it most likely has to be again. Which fields hold a secret is asked
        # last, and a frame that may show one waits for that.
        looked = waiting.start_call(page, lambda: page_look(page, hidden))
        drawn = begin_frame(page, None) if hidden is None and newest.may_be_bare else None
        look = looked()
    newest.look = look
    newest.may_be_bare = look is not None and look.bare
    if look is not None and look.bare:
        return drawn or begin_frame(page, hidden)
    if drawn is not None:
        # Nothing told before this frame that it shows nothing private.
        drawn()
    return begin_frame(page, hidden) if look is None and shows_bare(page, hidden) else None


def pictured(
    name: str,
    tools: Tools,
    moment: FrameMoment,
    step_index: int | None = None,
    *,
    acted: bool = True,
) -> str | None:
    """Take a picture for the film, and note what the page holds, to spare another like it.

    Returns:
        Its path below the cell's folder, or None if it could not be taken.
    """
    begin_picture(name, tools, moment, step_index, acted=acted)
    tools.newest.settle()
    return relative(tools.newest.path, tools) if tools.newest.path else None


def without_missed(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt without the pictures that could not be taken after all."""
    missed = tools.newest.missed
    if not any(result.screenshot in missed for result in attempt.step_results):
        return attempt
    results = tuple(
        result.model_copy(update={"screenshot": None}) if result.screenshot in missed else result
        for result in attempt.step_results
    )
    return change(attempt, step_results=results)


def relative_scene(scene: Scene, tools: Tools) -> Scene:
    """Return the scene with the path of its screenshot relative to the cell's folder."""
    if scene.screenshot is None:
        return scene
    path = scene.screenshot
    absolute = path if path.startswith(str(tools.cell_folder)) else str(tools.folder / path)
    return scene.model_copy(update={"screenshot": relative(absolute, tools)})
