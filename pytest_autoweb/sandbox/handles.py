"""The objects of the test process to which generated code may refer, by number."""

from typing import Any, NamedTuple

from pytest_autoweb.sandbox.allowed_members import CLASSES
from pytest_autoweb.sandbox.rules import Refusal

# A handle keeps its object alive in the test process, so without a limit generated code could fill
# that process's memory.
MAX_HANDLES = 20_000


class Handle(NamedTuple):
    """An object to which the worker may refer."""

    object: Any
    kind: str
    """Name of its class in `allowed_members`; `Page` also for a frame that `page` stands for."""
    label: str
    """Name of the object in a report."""


class Handles:
    """The objects of one attempt, by number."""

    def __init__(self) -> None:
        self._by_id: dict[str, Handle] = {}
        self._ids: dict[tuple[int, str], str] = {}

    def add(self, item: Any, kind: str, label: str | None = None) -> str:
        """Return the number of an object; the same object always gets the same number."""
        # Handles keep their objects alive, so an id cannot be reused for another object.
        key = (id(item), kind)
        if key not in self._ids:
            if len(self._by_id) >= MAX_HANDLES:
                raise Refusal("AW505", f"the attempt holds more than {MAX_HANDLES} objects")
            number = f"h{len(self._by_id) + 1}"
            self._ids[key] = number
            self._by_id[number] = Handle(item, kind, label or _label(kind, number))
        return self._ids[key]

    def replace(self, old: Any, new: Any) -> None:
        """Make the number of an object refer to another object of the same class."""
        for (_, kind), number in [item for item in self._ids.items() if item[0][0] == id(old)]:
            del self._ids[id(old), kind]
            self._ids[id(new), kind] = number
            self._by_id[number] = self._by_id[number]._replace(object=new)

    def get(self, number: str) -> Handle:
        """Return the object with this number.

        Raises:
            Refusal: no object has this number.
        """
        if number not in self._by_id:
            raise Refusal("AW504", "the code refers to an object that it was never given")
        return self._by_id[number]


def kind_of(item: object) -> str | None:
    """Return the class name under which a Playwright object may cross the border, or None."""
    cls = type(item)
    if cls.__module__.startswith("playwright.") and cls.__name__ in CLASSES:
        return cls.__name__
    return None


def _label(kind: str, number: str) -> str:
    return f"{kind[0].lower()}{kind[1:]}_{number[1:]}"
