"""The evidence of an attempt as it is stored in the run folder."""

import json
from dataclasses import dataclass
from pathlib import Path

from pytest_autoweb.browser.downloads import Download, read_downloads
from pytest_autoweb.browser.har import read_har
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.results import Attempt

MISSING = "this run kept no {what}"


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored evidence; None stands for a part that was not kept or cannot be read."""

    page: str | None
    url: str
    wire: tuple[WireEntry, ...] | None
    downloads: tuple[Download, ...] | None
    server_url: str | None
    """The address of the case's web server during the run."""


def read_stored(cell_folder: Path, attempt: Attempt) -> Stored:
    """Read the evidence of an attempt from the folder of its cell."""

    def text(name: str) -> str | None:
        if (path := _inside(cell_folder, attempt.evidence.get(name, ""))) is None:
            return None
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    wire = _wire(text("wire"))
    found = text("downloads")
    attempt_folder = cell_folder / f"attempt-{attempt.attempt_index}"
    # Where requests were recorded, a missing list of downloads means that nothing was downloaded.
    none_made = () if wire is not None and "downloads" not in attempt.evidence else None
    return Stored(
        page=text("dom"),
        url=attempt.final_url,
        wire=wire,
        downloads=none_made if found is None else _downloads(found, attempt_folder),
        server_url=_server_url(text("server")),
    )


def _inside(folder: Path, name: str) -> Path | None:
    """Return the path of a file in the folder, or None for a name that leads out of it."""
    path = (folder / name).resolve()
    return path if name and path.is_relative_to(folder.resolve()) and path.is_file() else None


def _wire(text: str | None) -> tuple[WireEntry, ...] | None:
    try:
        return None if text is None else read_har(text)
    except ValueError:
        return None


def _downloads(text: str, folder: Path) -> tuple[Download, ...] | None:
    try:
        return read_downloads(text, folder)
    except ValueError:
        return None


def _server_url(text: str | None) -> str | None:
    try:
        content = json.loads(text or "")
    except ValueError:
        return None
    url = content.get("url") if isinstance(content, dict) else None
    return url if isinstance(url, str) else None
