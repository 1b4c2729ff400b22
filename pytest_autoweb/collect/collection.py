"""The saved recipe of a collection (`collection.json`), with which a later run needs no model."""

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
        """Whether it says how detail links are recognised."""
        return bool(self.detail_xpath) or self.detail_pattern is not None


def collection_of(spec: CollectSpec, list_url: str, task: str) -> Collection:
    """Return the collection as the case describes it; a model may have to find the rest."""
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
        first = str(error).splitlines()[0]
        raise CaseError(
            f"{path.name} is not a collection: {first}", field="collect.config"
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
