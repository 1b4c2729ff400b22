"""Kinds of elements that a model often mistakes: it is warned of them, and asked again earlier."""

from collections.abc import Mapping

from pytest_autoweb.choice.disambiguate import LOW_CONFIDENCE
from pytest_autoweb.choice.feedback import one_line

CHOICES_COUNTED = 50
"""The most choices of earlier runs that count for a kind; the latest ones do."""
FEWEST = 5
"""The number of choices of a kind below which earlier runs say nothing."""
OFTEN = 0.2
"""The share of wrong choices from which a kind counts as often mistaken."""
IN_THIS_ATTEMPT = 2
"""The number of wrong choices of a kind in the same attempt that suffice as well."""
CAREFUL_CONFIDENCE = 0.8
"""The confidence below which a choice of such a kind gets a second look."""
_SHOWN = 3
_KIND_CHARS = 20


def often_mistaken(
    before: Mapping[str, tuple[int, int]], here: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the kinds that the model often mistakes, the worst first.

    Args:
        before: for each kind, the wrong choices and all choices of earlier runs.
        here: for each kind, the wrong choices of this attempt.
    """
    shares = {
        kind: wrong / chosen
        for kind, (wrong, chosen) in before.items()
        if chosen >= FEWEST and wrong / chosen >= OFTEN
    }
    # Two mistakes in a single attempt weigh more than any share.
    shares |= {kind: 1.0 + count for kind, count in here.items() if count >= IN_THIS_ATTEMPT}
    known = (kind for kind in shares if kind)
    return tuple(sorted(known, key=lambda kind: (-shares[kind], kind)))[:_SHOWN]


def warning(kinds: tuple[str, ...]) -> str:
    """Return the sentence of the prompt about such kinds; empty if there are none."""
    if not kinds:
        return ""
    named = ", ".join(one_line(kind)[:_KIND_CHARS] for kind in kinds)
    return (
        f"Elements of these kinds were often mistaken before: {named}. Compare number and text of "
        "such an element once more before you choose it."
    )


def confidence_limit(kind: str, kinds: tuple[str, ...]) -> float:
    """Return the confidence below which a choice of this kind gets a second look."""
    return CAREFUL_CONFIDENCE if kind in kinds else LOW_CONFIDENCE
