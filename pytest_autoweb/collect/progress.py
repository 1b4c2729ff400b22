"""The progress of a collection, written after every page so that a killed run can be resumed."""

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
"""`done`: nothing is left to fetch; `paused`: a later run may continue."""


class CollectProgress(Record):
    """The state of a collection, in a single file so that its parts are always consistent."""

    format: Literal["pytest-autoweb/progress"] = "pytest-autoweb/progress"
    version: int = 1
    status: Status = "running"
    pause_reason: str = ""
    list_url: str
    task_description: str = ""
    collection: Collection
    current_page_num: int = 0
    """The number of list pages that are done."""
    page_url: str = ""
    """The address of the last page that is done."""
    page_items: tuple[str, ...] = ()
    """The first detail addresses of that page, by which it is recognised."""
    next_url: str = ""
    """The address of the page after it, if known."""
    collected_count: int = 0
    """The number of addresses so far, for people who read the file."""
    urls: tuple[str, ...] = ()
    opened: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """The addresses that entries without an address led to when clicked."""
    backoff_level: int = 0
    consecutive_success_pages: int = 0
    last_updated: str = ""


def save_progress(
    progress: CollectProgress, folder: Path, clean: Callable[[str], str] = lambda text: text
) -> CollectProgress:
    """Write `progress.json`, then `urls.json` and `urls.txt` for people and other programs.

    Args:
        progress: the state to write.
        folder: the folder to write to.
        clean: removes secrets from text.

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
    """Write the addresses as `urls.json` and, one per line, as `urls.txt`.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text_atomic(folder / URLS_JSON, clean(json_text(list(urls))) + "\n")
    write_text_atomic(folder / URLS_TEXT, clean("".join(f"{url}\n" for url in urls)))


def unfinished(folder: Path, list_url: str, task: str) -> CollectProgress | None:
    """Return the unfinished progress for this list and task, or None if there is none."""
    try:
        progress = CollectProgress.model_validate_json((folder / PROGRESS_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    same = (progress.list_url, progress.task_description) == (list_url, task)
    return progress if same and progress.status != "done" else None
