"""The search for one of many boxes by asking on which side of lines it lies.

This is the part of the vision locator that needs no browser: it takes boxes, asks questions and
says honestly how the search ended. The files around it:

- `question.py`: the shared types `Rect`, `Viewport`, `Element`, `Candidate`, `PictureQuestion` and
  `PictureAnswer`.
- `candidates.py`: `gather(elements)` merges elements that no picture can tell apart;
  `weigh(candidates, expected_text=…, role=…)` turns what the caller knows into their weights.
- `bayes.py` (with `likelihood.py`, `lines.py`): a posterior over the candidates and over *not
  there*, with questions chosen by the information that they are expected to bring.
- `limits.py`: `SearchLimits`, which holds every number. `endings.py`: `Outcome` and `Turn`.
- `seed.py` (with `intervals.py`): the elimination method with bisected intervals, as a baseline.
- `region.py` (with `stretch.py`): `search_region(room, ask, …)` for targets that are not elements,
  such as drawings on a canvas, by the same kind of posterior over where they begin and end.
- `simulated.py`: answers from a known target, with adjustable noise.

Usage::

    candidates = gather(elements)
    outcome = search(candidates, Viewport(1280, 720), ask, limits=SearchLimits(), algorithm="bayes")

`ask(question)` draws `question.x`, `question.y` and `question.badges` on one picture, asks one
question about all of them and parses the reply. It may ask again in the same conversation, saying
what was wrong, as long as `question.calls_left` allows; `PictureAnswer.calls` is the number of
calls that this took. It returns None or an empty `PictureAnswer` when the reply cannot be parsed.
Scrolling, other frames and pictures are up to the caller: `not_found` refers to this viewport only.
"""

from collections.abc import Sequence

from pytest_autoweb.locate.bayes import narrow
from pytest_autoweb.locate.endings import Outcome, Turn
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.question import (
    Ask,
    Badge,
    Candidate,
    Element,
    PictureAnswer,
    PictureQuestion,
    Rect,
    Viewport,
)
from pytest_autoweb.locate.seed import eliminate
from pytest_autoweb.results.location import LocatorAlgorithm

__all__ = [
    "Ask",
    "Badge",
    "Candidate",
    "Element",
    "Outcome",
    "PictureAnswer",
    "PictureQuestion",
    "Rect",
    "SearchLimits",
    "Turn",
    "Viewport",
    "search",
]

ALGORITHMS = {"bayes": narrow, "seed": eliminate}


def search(
    candidates: Sequence[Candidate],
    viewport: Viewport,
    ask: Ask,
    *,
    limits: SearchLimits | None = None,
    algorithm: LocatorAlgorithm = "bayes",
) -> Outcome:
    """Find the candidate that `ask` answers about.

    Args:
        candidates: From `candidates.gather`; their order is the order of the outcome's posterior.
        viewport: CSS pixels, with the scale of the picture that the model gets.
        ask: See the module's docstring. It is never called once the budget is spent.
        limits: Budget, thresholds, assumed mistakes.
        algorithm: `bayes`, or `seed` as the baseline to compare with.

    Returns:
        The outcome; without candidates it is `not_found`, and no question is asked.
    """
    return ALGORITHMS[algorithm](tuple(candidates), viewport, ask, limits or SearchLimits())
