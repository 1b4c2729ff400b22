"""What a collection has done so far, written after every page: a killed run loses nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pytest_autoweb.collect.collection import Collection
from pytest_autoweb.results import Record
from pytest_autoweb.saving import json_text, write_text_atomic

PROGRESS_FILE = "progress.json"
URLS_JSON = "urls.json"
URLS_TEXT = "urls.txt"


Status = Literal["running", "paused", "done"]
"""`done`: nothing is left to fetch; `paused`: a later run may go on."""


class Progress(Record):
    """How far a collection is. Everything is in one file, so its parts always fit together."""

    format: Literal["pytest-autoweb/progress"] = "pytest-autoweb/progress"
    version: int = 1
    status: Status = "running"
    pause_reason: str = ""
    list_url: str
    task_description: str = ""
    collection: Collection
    current_page_num: int = 0
    """Pages of the list that are done."""
    page_url: str = ""
    """Address of the last of them."""
    page_items: tuple[str, ...] = ()
    """Its first detail addresses: by them it is known again."""
    next_url: str = ""
    """Address of the page after it, where it has one."""
    collected_count: int = 0
    """Addresses so far, for readers of the file."""
    urls: tuple[str, ...] = ()
    opened: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """Entries without an address that were clicked: entry -> address of its page."""
    backoff_level: int = 0
    consecutive_success_pages: int = 0
    last_updated: str = ""


def save_progress(
    progress: Progress, folder: Path, clean: Callable[[str], str] = lambda text: text
) -> Progress:
    """Write `progress.json`, then `urls.json` and `urls.txt` for readers.

    Args:
        progress: what is done.
        folder: where to.
        clean: takes secrets out of text.

    Raises:
        OSError: the folder cannot be written.
    """
    now = datetime.now(UTC).isoformat()
    update = {"last_updated": now, "collected_count": len(progress.urls)}
    progress = progress.model_copy(update=update)
    write_text_atomic(folder / PROGRESS_FILE, clean(json_text(progress)))
    save_urls(progress.urls, folder, clean)
    return progress


def save_urls(urls: tuple[str, ...], folder: Path, clean: Callable[[str], str]) -> None:
    """Write the addresses as `urls.json` and, one a line, `urls.txt`.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text_atomic(folder / URLS_JSON, clean(json_text(list(urls))) + "\n")
    write_text_atomic(folder / URLS_TEXT, clean("".join(f"{url}\n" for url in urls)))


def unfinished(folder: Path, list_url: str, task: str) -> Progress | None:
    """The progress of a run that was stopped; None when there is none for this list and task."""
    try:
        progress = Progress.model_validate_json((folder / PROGRESS_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    same = (progress.list_url, progress.task_description) == (list_url, task)
    return progress if same and progress.status != "done" else None
