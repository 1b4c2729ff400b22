"""Types of the browser layer that stages and judge share."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class ContextWrapper(NamedTuple):
    """A page or frame that a step works in."""

    context: Any
    """Playwright's Page or Frame."""
    name: str
    """`page`, or the frame's name or URL."""


@dataclass(frozen=True, slots=True)
class RefElement:
    """One element of the numbered list that the `refs` dialect shows to a model."""

    ref: str
    """`e1`, `e2`, … in reading order."""
    role: str
    name: str
    hint: str
    """Input type and format, options, state, nearby label; empty when there is nothing to say."""
    locator: str
    """A Playwright expression on `page` that finds exactly this element."""
    actions: tuple[str, ...]
    """Of `click`, `fill`, `check`, `uncheck`, `select_option`, `press`, those that fit."""
    options: tuple[str, ...] = ()
    """Labels, for select boxes."""


@dataclass(frozen=True, slots=True)
class RefView:
    """The page as a numbered list."""

    text: str
    """The lines shown to the model: elements and the page's other visible text, in order."""
    elements: tuple[RefElement, ...]
    truncated: bool = False
