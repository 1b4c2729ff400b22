"""Trials of an algorithm: many searches on captured pages, answered by a simulated model."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from benchmarks.simulated_vision import ModelNoise, Oracle
from pytest_autoweb.agents.locate.candidates import Candidate, Element, Rect, Viewport, gather
from pytest_autoweb.agents.locate.questions import Outcome
from pytest_autoweb.agents.locate.search import search
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.results.records.attempt import LocatorAlgorithm


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """The clickable elements of one page in one viewport."""

    name: str
    group: str
    viewport: Viewport
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """An algorithm with its settings."""

    name: str
    algorithm: LocatorAlgorithm
    limits: SearchLimits
    echo: bool = False
    """The simulated model also says what text it reads on the target."""


@dataclass(frozen=True, slots=True)
class SearchTrial:
    """One search and the true target."""

    outcome: Outcome
    target: int | None
    """The index of the true target; None if it was not in the picture."""
    page: PageGeometry

    @property
    def solved(self) -> bool:
        """Tell whether the right element was found."""
        return self.outcome.status == "found" and self.outcome.chosen == self.target

    @property
    def wrong(self) -> bool:
        """Tell whether another element was returned as a success."""
        return self.outcome.status == "found" and self.outcome.chosen != self.target


def geometry_of(page: Mapping[str, Any]) -> PageGeometry:
    """Read a page in the format of captured pages (docs/locator.md)."""
    elements = [
        Element(
            Rect(one["x"], one["y"], one["w"], one["h"]),
            one.get("role") or "",
            one.get("name") or "",
            one.get("own", 1),
            one.get("parent", -1),
        )
        for one in page["elements"]
    ]
    width, height = page["viewport"]
    return PageGeometry(
        page.get("name") or "",
        page.get("group") or "",
        Viewport(width, height),
        gather(elements),
    )


def trials(
    pages: Sequence[PageGeometry],
    contender: Contender,
    noise: ModelNoise,
    *,
    targets: int,
    absent: bool = False,
    seed: int = 0,
) -> Iterator[SearchTrial]:
    """Search up to `targets` random targets of each page, and yield each result.

    The same seed gives every contender the same targets, and the same answers to the same pictures.
    """
    noise = replace(noise, echo=contender.echo)
    for page in pages:
        everything = range(len(page.candidates))
        dice = random.Random(f"{seed} {page.name}")
        for target in dice.sample(everything, min(targets, len(everything))):
            luck = dice.randrange(2**32)
            wanted = None if absent else target
            oracle = Oracle(page.candidates, wanted, noise, luck)
            outcome = search(
                page.candidates,
                page.viewport,
                oracle,
                limits=contender.limits,
                algorithm=contender.algorithm,
            )
            yield SearchTrial(outcome, wanted, page)
