"""The proof that a locator expression matches one element and no other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Frame, JSHandle, Page

from pytest_autoweb.browser.page.frames import (
    run_on_elements,
)
from pytest_autoweb.browser.page.locator_expressions import (
    Call,
    Expression,
    candidates,
    last_resort,
)

_BATCH = 40


@dataclass(slots=True)
class LocatorProof:
    """The search for an expression that matches only the element, for each listed element."""

    root: Page | Frame
    handle: JSHandle
    proven: dict[int, Expression] = field(default_factory=dict)

    def prove(self, listed: Sequence[Mapping[str, Any]]) -> dict[int, Expression]:
        """Return the expression of each element for which one was found, by its index."""
        choices = {entry["i"]: list(_choices(entry)) for entry in listed}
        while pending := {i: left.pop(0) for i, left in choices.items() if left}:
            shared = _by_expression(pending)
            single = [(users[0], e) for e, users in shared.items() if len(users) == 1]
            for batch in _batches(single):
                self._try(batch)
            for expression, users in shared.items():
                if len(users) > 1:
                    self._number(expression, users)
            for index in self.proven:
                choices.pop(index, None)
        for entry in listed:
            if entry["i"] not in self.proven:
                self._by_position(entry)
        return self.proven

    def _try(self, batch: Sequence[tuple[int, Expression]]) -> None:
        """Test many locators at once: does their union find exactly their elements?

        If it does not, each half is tested, until the locators at fault are isolated.
        """
        union = batch[0][1].on(self.root)
        for _, expression in batch[1:]:
            union = union.or_(expression.on(self.root))
        found = run_on_elements(union, "positions", self.handle)
        if sorted(found) == sorted(index for index, _ in batch):
            self.proven.update(batch)
        elif len(batch) > 1:
            middle = len(batch) // 2
            self._try(batch[:middle])
            self._try(batch[middle:])

    def _number(self, expression: Expression, users: Sequence[int]) -> None:
        """Distinguish elements that share an expression by their order."""
        found = run_on_elements(expression.on(self.root), "positions", self.handle)
        if sorted(found) == sorted(users):
            for place, index in enumerate(found):
                self.proven[index] = expression.nth(place)

    def _by_position(self, entry: Mapping[str, Any]) -> None:
        for expression in _resorts(entry):
            found = run_on_elements(expression.on(self.root), "positions", self.handle)
            if entry["i"] in found:
                self.proven[entry["i"]] = expression.nth(found.index(entry["i"]))
                return


def _choices(entry: Mapping[str, Any]) -> Iterator[Expression]:
    if entry["k"] == "f":
        return (Expression((Call("locator", css),)) for css in entry["css"])
    return candidates(entry)


def _resorts(entry: Mapping[str, Any]) -> Iterator[Expression]:
    if entry["k"] == "f":
        return iter((Expression((Call("locator", entry["tag"]),)),))
    return last_resort(entry)


def _by_expression(pending: Mapping[int, Expression]) -> Mapping[Expression, list[int]]:
    shared: dict[Expression, list[int]] = {}
    for index, expression in pending.items():
        shared.setdefault(expression, []).append(index)
    return shared


def _batches(
    tries: Sequence[tuple[int, Expression]],
) -> Iterator[Sequence[tuple[int, Expression]]]:
    """Yield groups of expressions that cannot match each other's elements.

    No element has two roles, names, labels, ids or positions, so different locators of one such
    kind are disjoint, and their union can be tested at once. Others are tested one by one.
    """
    kinds: dict[str, list[tuple[int, Expression]]] = {}
    for index, expression in tries:
        kinds.setdefault(_kind(expression), []).append((index, expression))
    for kind, group in kinds.items():
        # A question costs one visit to the page, so as many locators as possible share it.
        size = _BATCH if kind else 1
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _kind(expression: Expression) -> str:
    call = expression.calls[0]
    css = str(call.argument)
    if call.method != "locator":
        return call.method
    if css.startswith("html > "):
        return "place"
    if " " in css:
        return ""
    return "id" if css.startswith("#") else "name" if "[name=" in css else ""
