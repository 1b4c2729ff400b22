"""The pictures that a judging model is shown: some of the way, and the page at the end.

All have secrets covered, and their number and size are bounded.
"""

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb.judging.checks.check_type import Evidence, WayPicture
from pytest_autoweb.judging.evidence.scene import shot
from pytest_autoweb.results.records import FilmFrame, FrameMoment

MOST_PICTURES = 8
"""The most pictures of one question, that of the end among them."""
MOST_BYTES = 2_000_000
"""The most bytes of these pictures together, before they are encoded."""
END = "at the end"

_MOMENTS: dict[FrameMoment, str] = {
    "opened": "when the page was opened",
    "step": "after step {}",
    "end": END,
}

Pictures = tuple[tuple[str, str], ...]
"""The moment of each picture, and the picture as a `data:` URI."""


def pictures_of_way(evidence: Evidence) -> Pictures:
    """Return pictures spread evenly over the way, oldest first, and last the page at the end.

    The end comes first where there is not enough room. What cannot be read is left out.
    """
    way = [*evidence.way]
    stored = way.pop() if evidence.stored and way else None
    last = _content(stored.path) if stored else None if evidence.stored else _end(evidence)
    room = MOST_BYTES - len(last or b"")
    found: list[tuple[str, bytes]] = []
    for picture in spread(way, MOST_PICTURES - 1):
        content = _content(picture.path)
        if content and len(content) <= room:
            found.append((picture.moment, content))
            room -= len(content)
    if last:
        found.append((END, last))
    return tuple((moment, _uri(content)) for moment, content in found)


def moment_of(frame: FilmFrame) -> str:
    """Return when a picture of a film was taken, in words for a judge."""
    return _MOMENTS[frame.moment].format(frame.step_index)


def spread(way: Sequence[WayPicture], most: int) -> Sequence[WayPicture]:
    """Return at most so many pictures, evenly over the way, the first and the last among them."""
    if len(way) <= most:
        return way
    return [way[at * (len(way) - 1) // (most - 1)] for at in range(most)]


def _end(evidence: Evidence) -> bytes | None:
    """Take a picture of the viewport, with fields covered that hold a secret."""
    with tempfile.TemporaryDirectory(prefix="autoweb-judge-") as folder:
        path = Path(folder) / "page.jpg"
        if not shot(evidence.page, path, evidence.redact):
            return None
        content = path.read_bytes()
    return content if len(content) <= MOST_BYTES else None


def _content(path: Path) -> bytes | None:
    try:
        # Before it is read, because no picture may fill the memory.
        return path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None


def _uri(content: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(content).decode()
