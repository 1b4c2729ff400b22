"""What a case says about collecting: what to look for, how far to go, how fast."""

from typing import Annotated

from pydantic import (
    Field,
)

from pytest_autoweb.base.specs import Pattern, Spec

Positive = Annotated[int, Field(ge=1)]
Pause = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PageParameter(Spec):
    """The part of a list's address that says which page of the list it is."""

    parameter: Annotated[str, Field(min_length=1)]
    """The name of the parameter, e.g. `page` or `offset`."""
    step: Positive = 1
    """How much the value grows from page to page; an `offset` grows by the number of entries on a
    page."""
    start: int | None = None
    """The value on the first page, if the list's address does not say it. The default is 0 for
    names such as `offset`, and 1 for others."""


class Rate(Spec):
    """How politely pages are asked for."""

    delay: Pause = 1.0
    """Seconds between two pages; the pause grows by half with every refusal of the server."""
    jitter: Pause = 0.5
    """Seconds by which a pause may be shorter or longer, at random."""


class CollectSpec(Spec):
    """Strategy `collect`: what to look for, how far to go, how fast."""

    pattern: str | Pattern | None = None
    """The addresses of detail pages: a glob, or `{matches: regex}`. If this (or `xpath`) is given,
    no model is asked."""
    xpath: str | None = None
    """The XPath of the links to detail pages."""
    next: str | PageParameter | None = None
    """How to reach the next page if it is not done in a usual way: the text of the control, its
    XPath (which starts with `/` or `(`), or `{parameter: offset, step: 20}`."""
    scroll: bool = True
    """Whether to scroll to the end of each page and wait for more entries."""
    target: Positive = 50
    """The number of addresses that is enough."""
    pages: Positive = 10
    """The most pages of the list to visit; what scrolling or "load more" brings counts as a
    page."""
    navigate: Annotated[int, Field(ge=0, le=10)] = 10
    """The most steps that a model may take to set filters first; with 0, the entry page is the
    list."""
    explore: Annotated[int, Field(ge=2)] = 3
    """The number of detail pages that are visited to learn what they have in common."""
    rate: Rate = Field(default_factory=Rate)
    own_site: bool | None = None
    """Whether the sites are your own, so that their robots.txt is not asked; by default this
    machine's addresses are, and no others."""
    config: str | None = None
    """The `collection.json` of an earlier run, relative to the case file; it is repeated without
    asking a model."""
    folder: str | None = None
    """The folder in which progress is kept, relative to the case file; a run that was killed
    continues there."""
