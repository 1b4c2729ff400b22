"""Statistics of verification where the right elements are known: what it catches and misses.

The ground truth comes from the fake that errs on purpose (`pytest_autoweb.testing.FaultyClient`),
which `benchmarks/act.py` runs.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pytest_autoweb.results.analysis.statistics import (
    Interval,
    difference_interval,
    mcnemar,
    wilson,
)
from pytest_autoweb.results.records import Record

Performed = Literal["right", "wrong", "asked", "nothing"]
"""The element that an action was performed on: the right one, a wrong one, nothing yet because
several have the text and the model is `asked` again, or nothing at all."""


class ChoiceTrial(NamedTuple):
    """One choice whose right answer is known."""

    wrong: bool
    """The number that was given belongs to another element."""
    distinguishable: bool
    """The wrongly chosen element has another text, or no other element has the right one's text."""
    has_text: bool
    """The choice came with a text."""
    performed: Performed


class ShareOfChoices(Record):
    """A part of a whole, as counts and as a share."""

    count: int
    n: int
    value: float | None
    """The share; None if n is 0."""
    interval: Interval | None
    """Wilson's 95% interval of the share."""


class VerifierFacts(Record):
    """How well verification distinguishes wrong choices from right ones."""

    trials: int
    caught: ShareOfChoices
    """Wrong choices that were not performed, among those whose element has another text."""
    set_right: ShareOfChoices
    """Wrong choices performed on the right element thanks to the text, among the same ones."""
    false_alarms: ShareOfChoices
    """Right choices that were not performed, among those that came with a text."""
    missed_alike: ShareOfChoices
    """Wrong choices that were performed, among those whose element has the very same text."""


class Gain(Record):
    """The gain of telling the model what was wrong with a choice that was stopped.

    It is measured against a control arm, which asks again about the same choices without saying
    what was wrong.
    """

    n: int
    solved_with: int
    """The number of choices solved with the message."""
    solved_without: int
    """The number of choices solved without it, in the control arm."""
    only_with: int
    only_without: int
    difference: float | None
    """The difference of the shares solved."""
    interval: Interval | None
    """The 95% interval of the difference."""
    p: float
    """The p value of McNemar's exact test."""


def verifier_facts(trials: Sequence[ChoiceTrial]) -> VerifierFacts:
    """Count how right and wrong choices ended."""
    other = [t.performed for t in trials if t.wrong and t.distinguishable]
    alike = [t.performed for t in trials if t.wrong and not t.distinguishable]
    right = [t.performed for t in trials if not t.wrong and t.has_text]
    return VerifierFacts(
        trials=len(trials),
        caught=share(len(other) - other.count("wrong"), len(other)),
        set_right=share(other.count("right"), len(other)),
        false_alarms=share(right.count("nothing"), len(right)),
        missed_alike=share(alike.count("wrong"), len(alike)),
    )


def gain(pairs: Sequence[tuple[bool, bool]]) -> Gain:
    """Compare the two arms.

    Args:
        pairs: whether a choice was solved with the message and without it, for each choice.
    """
    only_with = sum(with_it and not without for with_it, without in pairs)
    only_without = sum(without and not with_it for with_it, without in pairs)
    n = len(pairs)
    return Gain(
        n=n,
        solved_with=sum(with_it for with_it, _ in pairs),
        solved_without=sum(without for _, without in pairs),
        only_with=only_with,
        only_without=only_without,
        difference=(only_with - only_without) / n if n else None,
        interval=difference_interval([float(a) - float(b) for a, b in pairs]),
        p=mcnemar(only_with, only_without),
    )


def share(count: int, n: int) -> ShareOfChoices:
    """Return a share with its interval."""
    value = count / n if n else None
    return ShareOfChoices(count=count, n=n, value=value, interval=wilson(count, n))
