"""A simulated vision model that knows the answer and errs as often as it is told to.

It replaces a model in tests and benchmarks. A mistake belongs to its picture: the same picture
always gets the same answer, as from a model at temperature 0.
"""

import random
from collections.abc import Sequence

from msgspec import Struct

from pytest_autoweb.agents.locate.candidates import Candidate, overlap
from pytest_autoweb.agents.locate.questions import (
    Badge,
    PictureAnswer,
    PictureQuestion,
    XRelation,
    YRelation,
)

X_RELATIONS: tuple[XRelation, ...] = ("left", "crossed", "right")
Y_RELATIONS: tuple[YRelation, ...] = ("above", "crossed", "below")
ABOUT_THERE = 0.3
"""The intersection over union above which a box without a candidate counts as the target's."""


class ModelNoise(Struct, frozen=True):
    """How often a simulated model errs, as shares from 0 to 1."""

    wrong: float = 0.0
    """The share of answers about a line that name one of the two other relations."""
    slack: float = 0.0
    """The distance in pixels within which a line is said to cross."""
    overlooked: float = 0.0
    """The share of questions about a visible target that are answered with *not there*."""
    pick: float = 0.0
    """The share of wrong choices among up to nine boxes; with more boxes there are more."""
    noticed: float = 1.0
    """The share of questions about a missing target that are answered with *not there*."""
    invalid: float = 0.0
    """The share of replies that cannot be parsed."""
    echo: bool = False
    """It reads the text on the target; one in ten texts is garbled."""
    fooled: float = 0.0
    """The share of targets that are mistaken for another candidate, in every call."""

    def pick_error(self, boxes: int) -> float:
        """Return the share of wrong choices among so many boxes, an assumption without data."""
        if self.pick == 0:
            return 0.0
        return max(self.pick, 0.035 + 0.003 * boxes) if boxes > 9 else self.pick


class Oracle:
    """A simulated model that answers questions about one target."""

    def __init__(
        self, candidates: Sequence[Candidate], target: int | None, noise: ModelNoise, seed: int
    ) -> None:
        """Begin a search.

        Args:
            candidates: The candidates on the page.
            target: The candidate that is meant; None if the target is not in the picture.
            noise: How often the model errs.
            seed: The seed of its mistakes.
        """
        self._candidates = candidates
        self._noise = noise
        self._seed = seed
        self._missing = target is None
        dice = random.Random(f"{seed}")
        if target is None or dice.random() < noise.fooled:
            target = dice.randrange(len(candidates))
        self._target = target

    def __call__(self, question: PictureQuestion) -> PictureAnswer | None:
        """Answer a question as a model would."""
        noise = self._noise
        # Numbers alone: the names of classes must not decide which mistakes are made.
        boxes = [(badge.number, *badge.box, badge.candidate) for badge in question.badges]
        dice = random.Random(f"{self._seed} {question.lines} {boxes}")
        if dice.random() < noise.invalid:
            return None
        unseen = noise.noticed if self._missing else noise.overlooked
        if dice.random() < unseen:
            return PictureAnswer(visible=False, mark=0 if question.badges else None)
        box = self._candidates[self._target].box
        x: XRelation | None = None
        y: YRelation | None = None
        if question.x is not None:
            x = X_RELATIONS[self._relation(question.x, box.x, box.right, dice)]
        if question.y is not None:
            y = Y_RELATIONS[self._relation(question.y, box.y, box.bottom, dice)]
        mark = self._pick(question.badges, dice)
        return PictureAnswer(True, x, y, mark, self._text(dice))

    def _relation(self, line: float, low: float, high: float, dice: random.Random) -> int:
        slack = self._noise.slack
        relation = 1 if low - slack < line < high + slack else 0 if line >= high else 2
        if dice.random() < self._noise.wrong:
            relation = (relation + dice.choice((1, 2))) % 3
        return relation

    def _pick(self, badges: Sequence[Badge], dice: random.Random) -> int | None:
        if not badges:
            return None
        right = next((one.number for one in badges if self._meant(one)), 0)
        if dice.random() >= self._noise.pick_error(len(badges)):
            return right
        return dice.choice([number for number in range(len(badges) + 1) if number != right])

    def _meant(self, badge: Badge) -> bool:
        """Tell whether a box surrounds the target, at least approximately."""
        if badge.candidate is not None:
            return badge.candidate == self._target
        return overlap(badge.box, self._candidates[self._target].box) >= ABOUT_THERE

    def _text(self, dice: random.Random) -> str:
        if not self._noise.echo:
            return ""
        name = self._candidates[self._target].name
        garbled = dice.random() < 0.1
        return name[::-1] if garbled else name
