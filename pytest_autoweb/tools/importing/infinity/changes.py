"""Compares what an attempt changed with what the board's solution changes.

States are JSON objects: lists of records with ids, and groups of settings. A difference is named by
its place (`emails[12].isRead`). What an application counts, stamps or draws by itself differs
between two ways to the same end, and is no change of the user's: the next free ids, times, and
texts or numbers that it derives.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BY_ITSELF = re.compile(
    r"(^_|^next[A-Z]|^(current|active|selected)[A-Z]|(At|Timestamp|Count|Version|History)$"
    r"|^(timestamp|history|log)$)"
)
_ADDED = " added"
Record = Mapping[str, Any]


def beyond(seed: Record, solution: Record, end: Record) -> list[str]:
    """Return the places that differ at the end from the seed and from the solution.

    Args:
        seed: the state before the attempt.
        solution: the state that the board's own solution leaves.
        end: the state that the attempt left.
    """
    asked = set(_differences(seed, solution))
    # Ids of new records are the choice of the application, so one added stands for another.
    added = {_list(place) for place in asked if place.endswith(_ADDED)}
    return [
        place
        for place in _differences(seed, end)
        if place not in asked and not (place.endswith(_ADDED) and _list(place) in added)
    ]


def _list(place: str) -> str:
    return place.rpartition("[")[0]


def _differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            if not _BY_ITSELF.search(str(key)):
                inner = f"{place}.{key}" if place else str(key)
                yield from _differences(before.get(key), after.get(key), inner)
    elif (old := _by_id(before)) is not None and (new := _by_id(after)) is not None:
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in new:
                yield f"{place}[{key}] removed"
            elif key not in old:
                yield f"{place}[{key}]{_ADDED}"
            else:
                yield from _differences(old[key], new[key], f"{place}[{key}]")
    else:
        yield place


def _by_id(value: Any) -> dict[str, Record] | None:
    """Return a list of records by their ids; None if it is no such list."""
    if not isinstance(value, list) or not all(isinstance(e, Mapping) and "id" in e for e in value):
        return None
    return {str(entry["id"]): entry for entry in value}
