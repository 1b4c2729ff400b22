"""Changes the texts of a JSON value and leaves its structure as it is."""

from collections.abc import Callable, Mapping
from typing import Any


def map_texts(
    value: Any,
    change: Callable[[str], str],
    *,
    keys: bool = False,
    other: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Return a value with every text in it changed, in new lists, tuples and mappings.

    Args:
        value: any value; of its parts, only lists, plain tuples and mappings are looked into.
        change: returns the new text.
        keys: change the keys of mappings too.
        other: returns what becomes of everything else, such as numbers and bytes.

    Raises:
        RecursionError: it is nested too deeply.
    """

    def mapped(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, Mapping):
            return {mapped(key) if keys else key: mapped(item) for key, item in value.items()}
        if isinstance(value, list):
            return [mapped(item) for item in value]
        # A named tuple is a record, which may hold more than JSON does.
        if type(value) is tuple:
            return tuple(mapped(item) for item in value)
        return other(value)

    return mapped(value)
