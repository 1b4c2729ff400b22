"""The screenshots inside the report, as `data:` URIs within a budget, most useful ones first."""

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_autoweb.results import CellResult, Outcome

BUDGET = 16_000_000
"""The most bytes of pictures in one report."""

_URGENCY: tuple[Outcome, ...] = ("failed", "broken", "healed", "ungraded", "passed", "skipped")
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def embed(folder: Path, cells: Iterable[CellResult], budget: int = BUDGET) -> dict[str, str]:
    """Return pictures by their path relative to the run folder.

    For a picture that is missing here (the budget is used up, the file is gone or not a picture),
    the report shows its path. The last picture of every cell comes first, failed cells before
    passed ones, and then the other pictures, so that no single cell uses up the budget.
    """
    ordered = sorted(cells, key=lambda cell: _URGENCY.index(cell.outcome))
    first = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[:1]]
    rest = [(cell, path) for cell in ordered for path in list(_screenshots(cell))[1:]]
    pictures: dict[str, str] = {}
    for cell, path in (*first, *rest):
        key = f"{cell.folder}/{path}"
        picture = None if key in pictures else _read(folder, cell.folder, path, budget)
        if picture:
            budget -= len(picture)
            pictures[key] = _data_uri(picture)
    return pictures


def _screenshots(cell: CellResult) -> Iterator[str]:
    """Yield the paths of a cell's pictures, the most useful ones first."""
    for attempt in reversed(cell.attempts):
        if attempt.scene and attempt.scene.screenshot:
            yield attempt.scene.screenshot
        if attempt.final_screenshot:
            yield attempt.final_screenshot
        for step in reversed(attempt.step_results):
            if step.screenshot:
                yield step.screenshot
        # Decisions that failed come before those that succeeded, later ones first.
        for performed in (False, True):
            for decision in reversed(attempt.decisions):
                if decision.picture and (decision.status == "performed") == performed:
                    yield decision.picture
        for location in reversed(attempt.locations):
            for probe in location.probes:
                if probe.picture:
                    yield probe.picture


def _read(root: Path, cell: str, path: str, budget: int) -> bytes | None:
    """Return a picture's bytes, or None if it is not a PNG or JPEG file in the cell's folder."""
    try:
        home = (root / cell).resolve()
        file = (home / path).resolve()
        if not (file.is_relative_to(home) and home.is_relative_to(root.resolve())):
            return None
        if not file.is_file() or file.stat().st_size > budget:
            return None
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    return content if any(content.startswith(magic) for magic in _KINDS) else None


def _data_uri(picture: bytes) -> str:
    kind = next(kind for magic, kind in _KINDS.items() if picture.startswith(magic))
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode('ascii')}"
