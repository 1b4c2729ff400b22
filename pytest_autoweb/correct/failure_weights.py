"""What words weigh for each type of failure, learnt from labelled messages in five languages.

The lists in `failure_words` say what a phrase means; most messages of an application that nobody
has met use other phrases. Their words still lean to some type, and the sum of what they weigh
decides where no list does, or where it contradicts a list clearly. `failure_weights.json` holds the
weights; `benchmarks/learn_weights.py` learns them.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.results.correction import FailureType

_FILE = Path(__file__).with_name("failure_weights.json")
_LONGEST = 400
"""The most characters of a message that is weighed: logs and pages say too much else."""
_OVERRULES = 0.6
"""By how much another type must be more probable before it overrules the lists."""
_ALONE = 0.35
"""How probable a type must be where no list knows the message."""
_CLEAR = 0.8
"""How probable the type of a list must be by the weights too, for its phrase to be clear."""


class WordsFound(NamedTuple):
    """What a message says, by its words."""

    type: FailureType
    """The type of the failure."""
    words: str
    """The words that decided."""
    clear: bool = True
    """False if they only lean to this type."""


def parts_of(message: str, chinese: bool) -> set[str]:
    """Return what is weighed: words, two or three together, their beginnings and their ends.

    Chinese has no spaces; its parts are one to four characters in a row.
    """
    # Which number it is says nothing about the type; that there is one may.
    message = re.sub(r"\d+", "3", message.lower())
    if chinese:
        message = re.sub(r"\s", "", message)
        starts = range(len(message))
        return {message[at : at + size] for size in (1, 2, 3, 4) for at in starts}
    words = ["^", *re.findall(r"\w+|[^\w\s]", message)]
    parts = {" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words))}
    for word in words:
        if len(word) > 5:
            parts |= {f"<{word[:4]}", f"<{word[:5]}", f"<{word[:6]}", f"{word[-4:]}>"}
    return parts


def weigh(message: str, chinese: bool, listed: WordsFound | None) -> WordsFound | None:
    """Return the type of a message and what decided, given what the lists found.

    Args:
        message: what was said; Chinese in simplified characters.
        chinese: whether it is Chinese.
        listed: what the lists of words found, or None.

    Returns:
        None if neither the lists nor the weights know the message for a failure.
    """
    if len(message) > _LONGEST:
        return listed and listed._replace(clear=False)
    types, bias, weights = _learnt()
    known = sorted(part for part in parts_of(message, chinese) if part in weights)
    if not known:
        return listed
    shares = _shares(bias, [weights[part] for part in known])
    # That something is no failure only counts where no list says that it is one.
    allowed = [at for at, name in enumerate(types) if listed is None or name != "UNKNOWN"]
    best = max(allowed, key=lambda at: shares[at])
    if listed is not None:
        # A phrase that is most of what was said leaves no doubt.
        most = len(listed.words) >= len(message) / 2
        own = shares[types.index(listed.type)]
        if most or shares[best] < own + _OVERRULES:
            return listed._replace(clear=most or own >= _CLEAR)
    elif types[best] == "UNKNOWN" or shares[best] < _ALONE:
        return None
    decided = max(known, key=lambda part: weights[part][best])
    return WordsFound(types[best], decided.strip("<>^ "), clear=False)


def _shares(bias: Sequence[float], weights: Sequence[Sequence[int]]) -> list[float]:
    """Return how probable each type is (softmax); a long message weighs no more than a short.

    Args:
        bias: what each type has before anything was said.
        weights: for each part of the message, what it weighs for each type, and then how rare it
            is (its inverse document frequency, which the weights are already multiplied by).
    """
    *by_type, rare = zip(*weights, strict=True)
    length = math.hypot(*rare)
    sums = [start + sum(own) / length for start, own in zip(bias, by_type, strict=True)]
    powers = [math.exp(value - max(sums)) for value in sums]
    return [power / sum(powers) for power in powers]


@cache
def _learnt() -> tuple[list[FailureType], list[float], dict[str, list[int]]]:
    # Late: read with the first message, since most sessions have none.
    learnt = json.loads(_FILE.read_text(encoding="utf-8"))
    return learnt["types"], learnt["bias"], learnt["weights"]
