"""Weighs what a message is made of for each type of failure: a linear model, learnt from data.

`failure_weights.json` holds the weights. `benchmarks/learn_weights.py` learns them and says from
which messages; `docs/calibration.md` says how often they are right on others.
"""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.results.records.record import FailureType

_FILE = Path(__file__).with_suffix(".json")
_NO_FAILURE = 0.7
"""Minimum probability that a text reports no failure. It is high because what is weighed failed."""


class _Learnt(NamedTuple):
    types: list[FailureType]
    bias: list[float]
    simplified: dict[int, str]
    weights: dict[str, list[int]]


class Weighed(NamedTuple):
    """The most probable type of a message."""

    type: FailureType
    """The type; `UNKNOWN` if the message is like texts that report no failure."""
    probability: float
    """From 0 to 1."""
    words: str
    """The words of the message that weighed most."""


def weigh(message: str) -> Weighed | None:
    """Return the most probable type of a message, or None if nothing in it was ever learnt."""
    types, bias, simplified, weights = _learnt()
    message = message.translate(simplified)
    known = sorted(part for part in parts_of(message) if part in weights)
    if not known:
        return None
    # The length of the sum is bounded, so a long message is no surer than a short one.
    length = math.hypot(*(weights[part][-1] for part in known))
    sums = [at + sum(weights[part][one] for part in known) / length for one, at in enumerate(bias)]
    powers = [math.exp(value - max(sums)) for value in sums]
    shares = {name: power / sum(powers) for name, power in zip(types, powers, strict=True)}
    if shares["UNKNOWN"] < _NO_FAILURE:
        del shares["UNKNOWN"]
    best = types.index(max(shares, key=lambda name: shares[name]))
    decided = max(known, key=lambda part: weights[part][best])
    return Weighed(types[best], shares[types[best]], _written(decided, message))


def parts_of(message: str) -> set[str]:
    """Return what of a message is weighed.

    Of Chinese, one to four characters in a row; of other languages, one to three words in a row and
    three to six characters of each word, whose ends are marked by spaces.
    """
    # The value of a number says nothing about the type, but its presence may.
    message = re.sub(r"\d+", "3", message.lower())
    if any("\u4e00" <= sign <= "\u9fff" for sign in message):
        return set(_rows(re.sub(r"\s", "", message), 1, 4))
    words = ["^", *re.findall(r"\w+|[^\w\s]", message)]
    rows = {" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words))}
    return rows.union(*(_rows(f" {word} ", 3, 6) for word in words))


def _rows(text: str, least: int, most: int) -> list[str]:
    sizes = range(least, most + 1)
    return [text[at : at + size] for size in sizes for at in range(len(text) - size + 1)]


def _written(part: str, message: str) -> str:
    """Return a part as whole words of the message, as far as they stand there as such."""
    words = [re.escape(word).replace("3", r"\d+") for word in part.strip("^ ").split()]
    spaced = r"\s*".join(words)
    hit = re.search(rf"\w*{spaced}\w*", message, re.IGNORECASE)
    return hit[0] if hit else part.strip("^ ")


@cache
def _learnt() -> _Learnt:
    # Loaded lazily with the first message, because most sessions have none.
    learnt = json.loads(_FILE.read_text(encoding="utf-8"))
    simplified = str.maketrans(*learnt["simplified"])
    return _Learnt(learnt["types"], learnt["bias"], simplified, learnt["weights"])
