"""What verification catches and what it gets wrong, where the right elements are known; pure.

Known truth comes from the fake that errs on purpose (`pytest_autoweb.testing.FaultyClient`);
`benchmarks/act.py` feeds this.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pytest_autoweb.report.statistics import Interval, difference_interval, mcnemar, wilson
from pytest_autoweb.results import Record

Performed = Literal["right", "wrong", "asked", "nothing"]
"""Which element an action was performed on: the one meant, another, none yet because several have
the text and the model is `asked` again, or none."""


class Trial(NamedTuple):
    """One choice with known truth."""

    wrong: bool
    """The number given is another element's."""
    distinguishable: bool
    """The text of that element is another one; of a right number, that no other element has the
    text."""
    has_text: bool
    """The choice came with a text."""
    performed: Performed


class Share(Record):
    """A part of a whole."""

    count: int
    n: int
    value: float | None
    """None: n is 0."""
    interval: Interval | None
    """Wilson's, at 95 %."""


class VerifierFacts(Record):
    """How well wrong choices are told from right ones."""

    trials: int
    caught: Share
    """Of the wrong choices whose element has another text: not performed on that element."""
    set_right: Share
    """Of the same: performed on the right element, because the text says which one it is."""
    false_alarms: Share
    """Of the right choices that came with a text: nothing was performed."""
    missed_alike: Share
    """Of the wrong choices whose element has the same text: performed. No text can tell."""


class Gain(Record):
    """Two ways to go on after a choice was stopped, on the same choices."""

    n: int
    solved_with: int
    """With the message what was wrong."""
    solved_without: int
    """Asked again without it: the control arm."""
    only_with: int
    only_without: int
    difference: float | None
    """Of the shares solved."""
    interval: Interval | None
    """Of the difference, at 95 %."""
    p: float
    """McNemar's exact test."""


def verifier_facts(trials: Sequence[Trial]) -> VerifierFacts:
    """Count what became of right and wrong choices."""
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
    """Compare the arms.

    Args:
        pairs: of each choice, whether it was solved with the message, and without it.
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


def share(count: int, n: int) -> Share:
    """Return a count of a whole with its interval."""
    value = count / n if n else None
    return Share(count=count, n=n, value=value, interval=wilson(count, n))
