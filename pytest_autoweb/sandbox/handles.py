"""Playwright objects that the worker knows by a number only."""

from typing import Any, NamedTuple

from pytest_autoweb.sandbox.members import CLASSES

MAX_HANDLES = 20_000


class Refusal(Exception):
    """Raised when the border refuses a call: the step is lost, whatever its code catches.

    Attributes:
        rule: the border rule.
        reason: a plain sentence for the report and the repair prompt.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule, self.reason = rule, reason
        super().__init__(reason)


class Handle(NamedTuple):
    """One object that the worker may name."""

    object: Any
    kind: str
    """Its class in `members.CLASSES`; `Page` also for a frame that `page` stands for."""
    label: str
    """How a report calls it."""


class Handles:
    """All objects of one attempt, by number."""

    def __init__(self) -> None:
        self._by_id: dict[str, Handle] = {}
        self._ids: dict[tuple[int, str], str] = {}

    def add(self, item: Any, kind: str, label: str | None = None) -> str:
        """The number of an object; the same object gets the same number."""
        key = (id(item), kind)
        if key not in self._ids:
            if len(self._by_id) >= MAX_HANDLES:
                raise Refusal("AW505", f"the attempt holds more than {MAX_HANDLES} objects")
            number = f"h{len(self._by_id) + 1}"
            self._ids[key] = number
            self._by_id[number] = Handle(item, kind, label or _label(kind, number))
        return self._ids[key]

    def get(self, number: str) -> Handle:
        """The object with this number.

        Raises:
            Refusal: there is none.
        """
        if number not in self._by_id:
            raise Refusal("AW504", "the code names an object it was never given")
        return self._by_id[number]


def kind_of(item: object) -> str | None:
    """The class name under which an object of Playwright may cross the border."""
    cls = type(item)
    if cls.__module__.startswith("playwright.") and cls.__name__ in CLASSES:
        return cls.__name__
    return None


def _label(kind: str, number: str) -> str:
    return f"{kind[0].lower()}{kind[1:]}_{number[1:]}"
