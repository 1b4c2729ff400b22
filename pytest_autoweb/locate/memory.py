"""The results of earlier searches, so that the same page is not searched twice for one target."""

import hashlib
import json
from typing import NamedTuple

from pytest_autoweb.results.location import LocatorStatus


class RememberedSearch(NamedTuple):
    """The result of an earlier search on the same picture."""

    status: LocatorStatus
    chosen: int | None
    """The index of the chosen candidate of the picture; None when none was chosen."""
    confidence: float
    reason: str


class Memory:
    """Results of searches, by a key made from everything they depend on."""

    def __init__(self) -> None:
        self._known: dict[str, RememberedSearch] = {}

    def recall(self, key: str) -> RememberedSearch | None:
        """Return the result of an earlier search, or None if there was none."""
        return self._known.get(key)

    def keep(self, key: str, known: RememberedSearch) -> None:
        """Remember a result, unless only the budget ended the search: a retry may get further."""
        if known.status != "budget":
            self._known[key] = known


def key_of(digest: str, *question: object) -> str:
    """Return the key of a search, made from the picture without lines and what is searched."""
    text = json.dumps([digest, *question], default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
