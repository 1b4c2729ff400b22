"""What a capture mode is, the registered ones by name, and what several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_autoweb.browser.injected import OBSERVE_TIMEOUT_MS, run_script
from pytest_autoweb.browser.outline import Line, fit_outline
from pytest_autoweb.variants import Variants

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page


class ShownPage(NamedTuple):
    """A page as text, within its budget and without the values of its password fields."""

    text: str
    truncated: bool = False
    notes: tuple[str, ...] = ()
    """What is missing and why, for whoever reads the report."""


class NotPossible(Exception):
    """Raised by a mode that cannot show this page; its text says why. Another mode stands in."""


Show = Callable[["Page | Frame", int], "ShownPage | str"]
"""Shows a page or a frame in at most so many tokens, without changing it.

A plain text is taken for a page that may still be too long: it is cut at the end of a line, and the
values of password fields are taken out of it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureMode:
    """One way to show a page to a model as text."""

    name: str
    """In capital letters by convention; flags take it in any case."""
    summary: str
    show: Show


CAPTURE_MODES: Variants[CaptureMode] = Variants(
    "capture mode", "pytest_autoweb.browser.capture_modes"
)


def aria_snapshot(root: "Page | Frame", *, for_models: bool) -> str:
    """Return what Playwright calls the aria snapshot of the body, in one of its two forms."""
    body = root.locator("body")
    return body.aria_snapshot(mode="ai" if for_models else "default", timeout=OBSERVE_TIMEOUT_MS)


def fitted(lines: tuple[Line, ...], budget: int, notes: tuple[str, ...] = ()) -> ShownPage:
    """Return an outline within the budget."""
    cut = fit_outline(lines, budget)
    return ShownPage(cut.text, cut.truncated, notes)


def secret_texts(root: "Page | Frame") -> frozenset[str]:
    """Return the values of the password fields of the page and its frames.

    Answering at all also proves that the page is alive, before the calls that know no timeout.
    """
    # Late, as in all of this package: a session without models must not pay for Playwright.
    from playwright.sync_api import Error

    found = set(run_script(root, "secret_values"))
    for frame in inner_frames(root):
        try:
            found.update(run_script(frame, "secret_values", timeout_ms=2_000))
        except Error:
            continue
    return frozenset(str(value) for value in found)


def inner_frames(root: "Page | Frame") -> tuple["Frame", ...]:
    """Return all frames below the page's main frame, or below a frame, the outer ones first."""
    from playwright.sync_api import Page

    pending = list(root.main_frame.child_frames if isinstance(root, Page) else root.child_frames)
    found: list[Frame] = []
    while pending:
        frame = pending.pop(0)
        found.append(frame)
        pending = [*frame.child_frames, *pending]
    return tuple(found)
