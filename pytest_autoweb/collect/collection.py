"""The saved way of a collection (`collection.json`): a later run needs no model for it."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from pytest_autoweb.cases.collect_spec import CollectSpec, PageParameter
from pytest_autoweb.errors import CaseError
from pytest_autoweb.results import Record
from pytest_autoweb.saving import json_text, write_text_atomic
from pytest_autoweb.specs import Pattern

COLLECTION_FILE = "collection.json"


class NavStep(Record):
    """One action that brings the list into the wanted state."""

    action: Literal["click", "type", "select", "press"]
    xpaths: tuple[str, ...] = ()
    """Where, the best first."""
    expected_text: str = ""
    """What the element says; compared before it is acted on."""
    text: str = ""
    """What is typed or chosen; secrets as `<secret:name>`."""
    key: str = ""


class NextPage(Record):
    """The way to the next page, when it is no usual one."""

    text: str = ""
    """Of the control."""
    xpaths: tuple[str, ...] = ()
    parameter: PageParameter | None = None


class Collection(Record):
    """How to collect without a model."""

    format: Literal["pytest-autoweb/collection"] = "pytest-autoweb/collection"
    version: int = 1
    list_url: str
    task_description: str = ""
    nav_steps: tuple[NavStep, ...] = ()
    detail_xpath: str = ""
    detail_pattern: str | Pattern | None = None
    confidence: float = 1.0
    """Of what was learned."""
    visited: tuple[str, ...] = ()
    """Detail pages it was learned from."""
    next: NextPage | None = None
    """None: whatever usual control the page has."""
    scroll: bool = True
    created_at: str = ""
    updated_at: str = ""

    @property
    def has_pattern(self) -> bool:
        """Whether it says what a detail link is."""
        return bool(self.detail_xpath) or self.detail_pattern is not None


def collection_of(spec: CollectSpec, list_url: str, task: str) -> Collection:
    """The collection as the case gives it, still without what a model would have to find."""
    return Collection(
        list_url=list_url,
        task_description=task,
        detail_xpath=spec.xpath or "",
        detail_pattern=spec.pattern,
        next=next_page_of(spec.next),
        scroll=spec.scroll,
    )


def next_page_of(given: str | PageParameter | None) -> NextPage | None:
    """The way to the next page as a case or a script writes it."""
    if given is None:
        return None
    if isinstance(given, PageParameter):
        return NextPage(parameter=given)
    return NextPage(xpaths=(given,)) if given.startswith(("/", "(")) else NextPage(text=given)


def save_collection(
    collection: Collection, folder: Path, clean: Callable[[str], str] = lambda text: text
) -> None:
    """Write `collection.json`.

    Raises:
        OSError: the folder cannot be written.
    """
    now = datetime.now(UTC).isoformat()
    text = json_text(collection.model_copy(update={"updated_at": now}))
    write_text_atomic(folder / COLLECTION_FILE, clean(text))


def load_collection(path: Path) -> Collection:
    """Read a saved collection.

    Raises:
        CaseError: there is none, or it is no collection.
    """
    try:
        return Collection.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise CaseError(
            f"{path.name} cannot be read: {error.strerror}", field="collect.config"
        ) from None
    except (ValueError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise CaseError(f"{path.name} is no collection: {first}", field="collect.config") from None


def moved(collection: Collection, list_url: str) -> Collection:
    """The collection for the list at another address, e.g. on another port.

    What was learned of addresses is moved along; the places of links are the same anywhere.
    """
    pattern = collection.detail_pattern
    if isinstance(pattern, Pattern):
        old, new = re.escape(_origin(collection.list_url)), re.escape(_origin(list_url))
        pattern = Pattern(matches=pattern.matches.replace(f"^{old}", f"^{new}", 1))
    return collection.model_copy(update={"list_url": list_url, "detail_pattern": pattern})


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
