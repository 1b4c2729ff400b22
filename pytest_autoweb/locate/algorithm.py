"""Find one of many boxes by asking on which side of lines it lies.

This is the pure part of the vision locator: geometry in, questions out, an honest ending. It knows
no browser. The files around it:

- `question.py`: the shared words: `Box`, `Viewport`, `Element`, `Candidate`, `Question`, `Answer`.
- `candidates.py`: `gather(elements)` merges what no picture can tell apart; `weigh(candidates,
  expected_text=…, role=…)` puts what the caller knows into their weights.
- `bayes.py` (with `likelihood.py`, `lines.py`): a posterior over the candidates and over *not
  there*, questions chosen by the information they bring.
- `limits.py`: `Limits`, every number in one place. `endings.py`: `Outcome`, `Turn`.
- `seed.py` (with `intervals.py`): the elimination method with bisected intervals, as a baseline.
- `region.py` (with `stretch.py`): `search_region(room, ask, …)` for targets that are no element
  (canvas), by the same posterior over where they begin and end.
- `simulated.py`: answers from a known target, with adjustable noise.

How to use it::

    candidates = gather(elements)
    outcome = search(candidates, Viewport(1280, 720), ask, limits=Limits(), algorithm="bayes")

`ask(question)` draws `question.x`, `question.y` and `question.badges` on one picture, asks once
about all of it, reads the reply, and may ask again (in the same conversation, quoting what was
wrong) while `question.calls_left` allows; `Answer.calls` says how many calls that took. It returns
None, or an `Answer` with nothing in it, when nothing could be read. Scrolling, other frames and
pictures belong to the caller: an outcome `not_found` speaks of this viewport only.
"""

from collections.abc import Sequence

from pytest_autoweb.locate.bayes import narrow
from pytest_autoweb.locate.endings import Outcome, Turn
from pytest_autoweb.locate.limits import Limits
from pytest_autoweb.locate.question import (
    Answer,
    Ask,
    Badge,
    Box,
    Candidate,
    Element,
    Question,
    Viewport,
)
from pytest_autoweb.locate.seed import eliminate
from pytest_autoweb.results.location import LocatorAlgorithm

__all__ = [
    "Answer",
    "Ask",
    "Badge",
    "Box",
    "Candidate",
    "Element",
    "Limits",
    "Outcome",
    "Question",
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
    limits: Limits | None = None,
    algorithm: LocatorAlgorithm = "bayes",
) -> Outcome:
    """Find the candidate that `ask` answers about.

    Args:
        candidates: From `candidates.gather`; their order is the order of the outcome's posterior.
        viewport: CSS pixels, with the scale of the picture that the model gets.
        ask: See the module's text. It is never called once the budget is spent.
        limits: Budget, thresholds, assumed mistakes.
        algorithm: `bayes`, or `seed` as the baseline to compare with.

    Returns:
        The outcome, `not_found` without a question when there is no candidate.
    """
    return ALGORITHMS[algorithm](tuple(candidates), viewport, ask, limits or Limits())
