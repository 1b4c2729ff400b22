"""The film of an attempt: its pictures with their times, within a number of bytes."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_autoweb.base import waiting
from pytest_autoweb.results.records import Attempt, FilmFrame, FrameMoment
from pytest_autoweb.results.runs.inert_copies import DOWNLOADS_FOLDER

_PICTURES = (".png", ".jpg", ".jpeg")


class Film:
    """Collects the pictures of an attempt while it runs."""

    def __init__(self) -> None:
        self._began = waiting.now()
        self.frames: list[FilmFrame] = []

    def add(self, picture: str, moment: FrameMoment, step_index: int | None = None) -> None:
        """Add the picture that was just taken, by its path below the cell's folder."""
        at_ms = (waiting.now() - self._began) * 1000
        self.frames.append(
            FilmFrame(at_ms=at_ms, picture=picture, moment=moment, step_index=step_index)
        )


def with_film(attempt: Attempt, film: Film, folder: Path, most: int) -> Attempt:
    """Return the attempt with its film, and delete the pictures for which there is no room.

    Args:
        attempt: the attempt, after its last stage.
        film: all its pictures.
        folder: the cell's folder.
        most: the most bytes that they may take; 0 means that there is no film.
    """
    failed = [step.screenshot for step in attempt.step_results if not step.ok]
    scene = attempt.scene.screenshot if attempt.scene else None
    needed = {path for path in (*failed, scene, attempt.final_screenshot) if path}
    kept = within(film.frames, folder, most, needed)
    stays = needed | {frame.picture for frame in kept}
    gone = {frame.picture for frame in film.frames} - stays
    for picture in gone:
        with suppress(OSError):
            (folder / picture).unlink()
    steps = tuple(
        step.model_copy(update={"screenshot": None}) if step.screenshot in gone else step
        for step in attempt.step_results
    )
    return attempt.model_copy(update={"film": tuple(kept), "step_results": steps})


def without_pictures(attempt: Attempt, folder: Path) -> Attempt:
    """Return the attempt without any picture, and delete those of its folder."""
    for file in folder.rglob("*"):
        if file.suffix.lower() in _PICTURES and DOWNLOADS_FOLDER not in file.parts:
            with suppress(OSError):
                file.unlink()
    no_picture = {"picture": None}
    return attempt.model_copy(
        update={
            "film": (),
            "final_screenshot": None,
            "scene": attempt.scene and attempt.scene.model_copy(update={"screenshot": None}),
            "step_results": tuple(
                step.model_copy(update={"screenshot": None}) for step in attempt.step_results
            ),
            "decisions": tuple(
                decision.model_copy(update={**no_picture, "second_picture": None})
                for decision in attempt.decisions
            ),
            "looks": tuple(look.model_copy(update=no_picture) for look in attempt.looks),
            "locations": tuple(
                location.model_copy(
                    update={
                        "probes": tuple(
                            probe.model_copy(update=no_picture) for probe in location.probes
                        )
                    }
                )
                for location in attempt.locations
            ),
        }
    )


def within(
    frames: Sequence[FilmFrame], folder: Path, most: int, needed: Collection[str]
) -> Sequence[FilmFrame]:
    """Return as many frames as have room, evenly over the film, and those of needed pictures."""
    if most == 0:
        return ()
    sizes = {frame.picture: _size(folder / frame.picture) for frame in frames}
    if sum(sizes.values()) <= most:
        return frames
    stays = {frame.picture for frame in frames[:1]} | (sizes.keys() & set(needed))
    others = [frame for frame in frames if frame.picture not in stays]
    left = most - sum(sizes[picture] for picture in stays)
    for count in range(len(others) - 1, 0, -1):
        spread = {others[i * len(others) // count].picture for i in range(count)}
        if sum(sizes[picture] for picture in spread) <= left:
            stays |= spread
            break
    return [frame for frame in frames if frame.picture in stays]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
