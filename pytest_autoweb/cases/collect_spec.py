"""What a case may say of collecting: what to look for, how far to go, how fast."""

from typing import Annotated

from pydantic import Field

from pytest_autoweb.specs import Pattern, Spec

Positive = Annotated[int, Field(ge=1)]
Pause = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PageParameter(Spec):
    """The part of the list's address that says which page it is."""

    parameter: Annotated[str, Field(min_length=1)]
    """Its name, e.g. `page` or `offset`."""
    step: Positive = 1
    """How much it grows from page to page; an `offset` grows by the entries of a page."""
    start: int | None = None
    """Its value on the first page, when the list's address does not say it; else 0 for names
    such as `offset`, 1 for others."""


class Rate(Spec):
    """How politely pages are asked for."""

    delay: Pause = 1.0
    """Seconds between two pages; grows by half with every refusal of the server."""
    jitter: Pause = 0.5
    """Seconds that a pause may be shorter or longer, by chance."""


class CollectSpec(Spec):
    """Strategy `collect`: what to look for, how far to go, how fast."""

    pattern: str | Pattern | None = None
    """Addresses of detail pages: a glob, or `{matches: regex}`. With it (or `xpath`) no model is
    asked."""
    xpath: str | None = None
    """Where the detail links are."""
    next: str | PageParameter | None = None
    """The way to the next page, when it is no usual one: the control's text, its XPath (starts
    with `/` or `(`), or `{parameter: offset, step: 20}`."""
    scroll: bool = True
    """Scroll to the end of each page and wait for more."""
    target: Positive = 50
    """Enough addresses."""
    pages: Positive = 10
    """Most pages of the list; what scrolling or "load more" brings counts as a page."""
    navigate: Annotated[int, Field(ge=0, le=10)] = 10
    """Most steps that a model may take to set filters first; 0: the entry page is the list."""
    explore: Annotated[int, Field(ge=2)] = 3
    """Detail pages that are visited to learn what they have in common."""
    rate: Rate = Field(default_factory=Rate)
    config: str | None = None
    """A `collection.json` of an earlier run, relative to the case file: it is done again without
    asking a model."""
    folder: str | None = None
    """Where progress is kept, relative to the case file: a run that was killed goes on there."""
