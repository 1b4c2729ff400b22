"""Pages as numbered lists of what can be acted on, each with a proven locator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Error, Frame, JSHandle, Page

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.frames import (
    MAX_FRAMES,
    OBSERVE_TIMEOUT_MS,
    RefView,
    run_script_handle,
)
from pytest_autoweb.browser.page.locator_expressions import Call, Expression
from pytest_autoweb.browser.page.locator_proof import LocatorProof
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.ref_list import SHORT, Lengths, ListedItem, ref_view

ELEMENT_LIMIT = 400
"""Limit on the elements that are examined in one document."""
_FRAME_DEPTH = 4
_FRAME_MS = 3_000.0


def observe(page: Page | Frame, *, budget_tokens: int = 1_500, lengths: Lengths = SHORT) -> RefView:
    """Return the page as a numbered list, including frames and open shadow roots.

    Waits until the page is quiet, so that the effects of an action are on the list. Every locator
    was verified to match exactly its element when the list was made. The page is only read.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _view(page, budget_tokens, lengths)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _view(page, budget_tokens, lengths)


def _view(page: Page | Frame, budget_tokens: int, lengths: Lengths) -> RefView:
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(page)
    walk = _Walk()
    found = list(walk.document(page, (), 0, None))
    return ref_view(found, budget_tokens=budget_tokens, complete=walk.complete, lengths=lengths)


@dataclass(slots=True)
class _Walk:
    complete: bool = True

    def document(
        self,
        root: Page | Frame,
        frames: tuple[Call, ...],
        depth: int,
        timeout_ms: float | None,
    ) -> Iterator[ListedItem]:
        handle = run_script_handle(
            root, "refs", ELEMENT_LIMIT, timeout_ms=timeout_ms or OBSERVE_TIMEOUT_MS
        )
        try:
            seen = read_json(handle.evaluate("made => made.json"))
            self.complete = self.complete and bool(seen["full"])
            listed = [entry for entry in seen["entries"] if entry["k"] != "t"]
            locators = LocatorProof(root, handle).prove(listed)
            inner = _inner_frames(root, handle, listed) if depth < _FRAME_DEPTH else {}
        finally:
            handle.dispose()
        for entry in seen["entries"]:
            if entry["k"] == "t":
                yield ListedItem(entry)
            elif entry["k"] == "e" and (expression := locators.get(entry["i"])):
                yield ListedItem(entry, str(expression.inside(frames)))
            elif entry["k"] == "f" and entry["i"] in inner:
                yield from self._frame(inner[entry["i"]], locators.get(entry["i"]), frames, depth)

    def _frame(
        self,
        frame: Frame,
        locator: Expression | None,
        frames: tuple[Call, ...],
        depth: int,
    ) -> Iterator[ListedItem]:
        steps = _as_frame_steps(locator)
        if steps is None:
            return
        try:
            yield from list(self.document(frame, (*frames, *steps), depth + 1, _FRAME_MS))
        except Error:
            # A frame that is gone or hangs is left out, so that the page itself can be shown.
            return


def _as_frame_steps(locator: Expression | None) -> tuple[Call, ...] | None:
    """Turn `locator(css)` into `frame_locator(css)`, keeping a trailing `nth`."""
    if locator is None or locator.calls[0].method != "locator":
        return None
    first, *rest = locator.calls
    return (Call("frame_locator", first.argument), *rest)


def _inner_frames(
    root: Page | Frame, handle: JSHandle, listed: Sequence[Mapping[str, Any]]
) -> dict[int, Frame]:
    if not any(entry["k"] == "f" for entry in listed):
        return {}
    children = root.main_frame.child_frames if isinstance(root, Page) else root.child_frames
    found: dict[int, Frame] = {}
    for child in children[:MAX_FRAMES]:
        try:
            index = child.frame_element().evaluate(
                "(element, made) => made.elements.indexOf(element)", handle
            )
        except Error:
            continue
        if index >= 0:
            found[int(index)] = child
    return found
