"""The "did you mean" of error messages, and lists of what is allowed."""

from collections.abc import Iterable
from difflib import get_close_matches


def listed(names: Iterable[str]) -> str:
    """Names as they appear in a sentence."""
    return ", ".join(names) or "none"


def near_miss(name: str, allowed: Iterable[str], also: Iterable[str] = ()) -> str:
    """The end of a sentence about an unknown name: the nearest known one, and all of them.

    Names of `also` are accepted too, but not worth listing.
    """
    known = list(dict.fromkeys(allowed))
    folded = {candidate.lower(): candidate for candidate in reversed((*also, *known))}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    guess = f"; did you mean {folded[close[0]]!r}?" if close else ""
    return f"{guess} (allowed: {listed(known)})"
