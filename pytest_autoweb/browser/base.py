"""Types of the browser package that stages and judge share."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class ContextWrapper(NamedTuple):
    """The page or frame in which a step works."""

    context: Any
    """Playwright's Page or Frame object."""
    name: str
    """`page`, or the name or URL of the frame."""


@dataclass(frozen=True, slots=True)
class RefElement:
    """One element of the numbered list that a model gets in the `refs` dialect."""

    ref: str
    """`e1`, `e2`, … in reading order."""
    role: str
    name: str
    hint: str
    """Input type and format, options, state and nearby label; may be empty."""
    locator: str
    """A Playwright expression that starts at `page` and finds exactly this element."""
    actions: tuple[str, ...]
    """Those of `click`, `fill`, `check`, `uncheck`, `select_option`, `press` that apply."""
    options: tuple[str, ...] = ()
    """Labels of the options of a select box."""


@dataclass(frozen=True, slots=True)
class RefView:
    """The page as a numbered list of elements."""

    text: str
    """The lines for the model: elements and the page's other visible text, in reading order."""
    elements: tuple[RefElement, ...]
    truncated: bool = False
