"""Searching texts for regular expressions of others, in a time that has a limit.

Case files, scripts, pages and benchmarks bring expressions; some of them would keep Python's `re`
busy for years, and nothing can interrupt it. So whatever this process itself matches against such
an expression is matched here: by an engine whose time grows with the text only, or, where that one
might answer differently, by `re` in a process that is ended when it takes too long.
"""

from functools import lru_cache

from pytest_autoweb.base.values.interruptible import TookTooLong, carry_out
from pytest_autoweb.base.values.linear_patterns import NotLinear, linear_search

_SHOWN_CHARS = 80


class SlowPattern(Exception):
    """Raised when a search takes too long; the message says so to the expression's author."""


def search(pattern: str, text: str, flags: int = 0) -> str | None:
    """Return the first part of a text that a regular expression matches, or None.

    Args:
        pattern: a valid expression in Python's syntax.
        text: any text.
        flags: those of `re`.

    Raises:
        SlowPattern: the search was given up.
    """
    try:
        return linear_search(pattern, text, flags)
    except NotLinear:
        found, slow = _searched(pattern, text, int(flags))
    if slow:
        raise SlowPattern(slow)
    return found


# A check asks the same again and again until it holds.
@lru_cache(maxsize=16)
def _searched(pattern: str, text: str, flags: int) -> tuple[str | None, str]:
    """Return what `re` finds, and a sentence if it was given up."""
    try:
        return carry_out("search", pattern, text, flags), ""
    except TookTooLong:
        cut = pattern if len(pattern) <= _SHOWN_CHARS else pattern[: _SHOWN_CHARS - 1] + "…"
        return None, (
            f"the pattern {cut!r} takes too long on this text of {len(text):,} characters; write "
            "it without a repetition inside a repetition"
        )
