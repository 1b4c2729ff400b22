"""Stores a collection on disk: how to repeat it, and its progress so far."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from pytest_autoweb.base.errors import CaseError, first_line
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.cases.collect_spec import CollectSpec, PageParameter
from pytest_autoweb.results.records import Record
from pytest_autoweb.results.runs.saving import json_text, write_text_atomic

COLLECTION_FILE = "collection.json"


class NavStep(Record):
    """One action that brings the list into the wanted state."""

    action: Literal["click", "type", "select", "press"]
    xpaths: tuple[str, ...] = ()
    """XPaths of the element, the best one first."""
    expected_text: str = ""
    """The text of the element, which is compared before a click."""
    text: str = ""
    """The text to type or the option to choose, with secrets as `<secret:name>`."""
    key: str = ""


class NextPage(Record):
    """The way to the next page, when the usual controls are not found."""

    text: str = ""
    """The text of the control."""
    xpaths: tuple[str, ...] = ()
    parameter: PageParameter | None = None


class Collection(Record):
    """Everything that is needed to collect without a model."""

    format: Literal["pytest-autoweb/collection"] = "pytest-autoweb/collection"
    version: int = 1
    list_url: str
    task_description: str = ""
    nav_steps: tuple[NavStep, ...] = ()
    detail_xpath: str = ""
    detail_pattern: str | Pattern | None = None
    confidence: float = 1.0
    """How far the learned pattern can be trusted, from 0 to 1."""
    visited: tuple[str, ...] = ()
    """The detail pages from which the pattern was learned."""
    next: NextPage | None = None
    """The way to the next page; None means whatever usual control the page has."""
    scroll: bool = True
    created_at: str = ""
    updated_at: str = ""

    @property
    def has_pattern(self) -> bool:
        """Return whether it defines how to recognise detail links."""
        return bool(self.detail_xpath) or self.detail_pattern is not None


def collection_of(spec: CollectSpec, list_url: str, task: str) -> Collection:
    """Return the collection as described by the case; a model may have to find the rest."""
    return Collection(
        list_url=list_url,
        task_description=task,
        detail_xpath=spec.xpath or "",
        detail_pattern=spec.pattern,
        next=next_page_of(spec.next),
        scroll=spec.scroll,
    )


def next_page_of(given: str | PageParameter | None) -> NextPage | None:
    """Return the way to the next page from the notation of cases and scripts.

    A text is the name of a control, unless it starts like an XPath.
    """
    if given is None:
        return None
    if isinstance(given, PageParameter):
        return NextPage(parameter=given)
    return NextPage(xpaths=(given,)) if given.startswith(("/", "(")) else NextPage(text=given)


def save_collection(
    collection: Collection, folder: Path, clean: Callable[[str], str] = lambda text: text
) -> None:
    """Write `collection.json` with the current time.

    Raises:
        OSError: the folder cannot be written.
    """
    now = datetime.now(UTC).isoformat()
    text = json_text(collection.model_copy(update={"updated_at": now}))
    write_text_atomic(folder / COLLECTION_FILE, clean(text))


def load_collection(path: Path) -> Collection:
    """Read a saved collection.

    Raises:
        CaseError: the file cannot be read, or is not a collection.
    """
    try:
        return Collection.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise CaseError(
            f"{path.name} cannot be read: {error.strerror}", field="collect.config"
        ) from None
    except (ValueError, ValidationError) as error:
        raise CaseError(
            f"{path.name} is not a collection: {first_line(error)}", field="collect.config"
        ) from None


def moved(collection: Collection, list_url: str) -> Collection:
    """Return the collection for the same list at another address, such as on another port.

    A learned pattern of addresses gets the new origin; XPaths do not depend on the origin.
    """
    pattern = collection.detail_pattern
    if isinstance(pattern, Pattern):
        old, new = re.escape(_origin(collection.list_url)), re.escape(_origin(list_url))
        pattern = Pattern(matches=pattern.matches.replace(f"^{old}", f"^{new}", 1))
    return collection.model_copy(update={"list_url": list_url, "detail_pattern": pattern})


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


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
    # First the file that a later run reads; the others only repeat its content.
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
    try:
        progress = CollectProgress.model_validate_json((folder / PROGRESS_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    same = (progress.list_url, progress.task_description) == (list_url, task)
    return progress if same and progress.status != "done" else None
