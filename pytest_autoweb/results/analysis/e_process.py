"""Whether two sides differ, by a test that may be looked at after every pair; pure.

A p value promises its level for one look at a number of cases that was fixed beforehand. Whoever
looks again and again, and stops at a good moment, is misled far more often. An e-process keeps its
promise at every moment at once: if the sides are equal, the chance that it *ever* reaches 1/alpha
is at most alpha (J. Ville, "Étude critique de la notion de collectif", 1939).

It is the capital of somebody who begins with 1 and bets against equality. Pairs in which both sides
pass, or both fail, leave the capital alone; each pair that differs wins or loses a stake. For the
idea see A. Ramdas, P. Grünwald, V. Vovk and G. Shafer, "Game-theoretic statistics and safe
anytime-valid inference", Statistical Science 38 (2023) 576-601, and R. J. Turner, A. Ly and
P. Grünwald, "Generic E-variables for exact sequential k-sample tests that allow for optional
stopping", Journal of Statistical Planning and Inference 230 (2024) 106116, which treats 2x2 tables.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import cos, exp, log1p, pi

_STAKES = 32
_LARGEST = 700.0
"""The logarithm of about the largest float."""

# The shares of the capital that are staked, on the second side if positive. They are the nodes of
# Chebyshev's quadrature; bets with equal capital on each of them are the mixture of R. Krichevsky
# and V. Trofimov, "The performance of universal encoding", IEEE Transactions on Information Theory
# 27 (1981) 199-207, which needs no guess of how much the sides differ.
_SHARES = tuple(cos((2 * node + 1) * pi / (2 * _STAKES)) for node in range(_STAKES))

Payoffs = Mapping[float, int]
"""How many cases pay what, from -1 (only the first side passes) to 1; those of 0 may be missing."""


def capital(payoffs: Payoffs) -> float:
    """Return the capital after one bet on each case, with a mixture of fixed stakes.

    With a payoff of a case that has mean 0 whatever came before, it is an e-process: see I.
    Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal
    of the Royal Statistical Society B 86 (2024) 1-27. A case multiplies it by less than 2, however
    often it is repeated, so no single case decides.

    Raises:
        ValueError: a payoff is out of its range.
    """
    if any(not -1 <= payoff <= 1 for payoff in payoffs):
        raise ValueError("needs payoffs from -1 to 1")
    logs = [0.0] * _STAKES
    for payoff, cases in payoffs.items():
        logs = [log + cases * gain for log, gain in zip(logs, _log_gains(payoff), strict=True)]
    return sum(exp(min(_LARGEST, log)) for log in logs) / _STAKES


@lru_cache(maxsize=64)
def _log_gains(payoff: float) -> tuple[float, ...]:
    """Return the logarithm by which a payoff multiplies the capital behind each stake."""
    return tuple(log1p(share * payoff) for share in _SHARES)


def e_value(players: Sequence[Payoffs]) -> float:
    """Return the capital of players who each had an equal part of it at the beginning.

    The mean of e-processes is one again, so nobody need choose beforehand which way of betting
    suits the models best.
    """
    return sum(map(capital, players)) / len(players)


def adjusted(e_values: Sequence[float]) -> list[float]:
    """Return what is left of each of several e-values when all of them are looked at.

    Those that reach 1/alpha may all be called decided: the chance that one of them is wrong, at any
    time, is at most alpha. This is the closed test in which the mean of e-values speaks for
    several hypotheses at once, which holds however they depend on each other: V. Vovk and R. Wang,
    "E-values: calibration, combination and applications", Annals of Statistics 49 (2021) 1736-1754.
    It is never weaker than Bonferroni's rule, which would divide each by their number.
    """
    found = []
    for place, own in enumerate(e_values):
        least = total = own
        others = sorted((*e_values[:place], *e_values[place + 1 :]))
        for count, other in enumerate(others, 2):
            total += other
            least = min(least, total / count)
        found.append(least)
    return found
