"""What was found on a page state, so that the same question is not asked twice."""

import hashlib
import json
from typing import NamedTuple

from pytest_autoweb.results.location import LocatorStatus


class Known(NamedTuple):
    """The end of an earlier search on the same picture."""

    status: LocatorStatus
    chosen: int | None
    """Index into the candidates of the picture."""
    confidence: float
    reason: str


class Memory:
    """Ends of searches, by what they depend on."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def recall(self, key: str) -> Known | None:
        """The end of an earlier search; None: there was none."""
        return self._known.get(key)

    def keep(self, key: str, known: Known) -> None:
        """Remember an end; one that only came from a lack of calls may be another next time."""
        if known.status != "budget":
            self._known[key] = known


def key_of(digest: str, *question: object) -> str:
    """What a search depends on: the picture without lines, and all that is asked about it."""
    text = json.dumps([digest, *question], default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
