r"""Globs for URLs, matched in time that grows with the URL only.

`*` stands for anything without `/`, `**` for anything, `/**/` also for a single `/`, `{a,b}` for
one of its parts; `\` makes the next character literal. `?` is a plain character.

As a regular expression, `**a**a**a` would try every way to divide a URL that does not match, which
takes years and cannot be interrupted. So all ways are followed at once.
"""

import re
from functools import lru_cache
from typing import NamedTuple

MAX_GLOB_CHARS = 4_000
MAX_URL_CHARS = 20_000
"""Limit on the length of matched URLs: a longer one matches no glob with wildcards."""

_ANY, _NO_SLASH = "any", "no slash"
GLOB_TOKEN = re.compile(r"\\.|\*+/?|[{},]|.", re.DOTALL)
"""The tokens of a glob; the export builds its own regular expression from them."""


class _Step(NamedTuple):
    """A transition between two states, over a matching character or over none."""

    test: str
    """A character, `any` or `no slash`; empty: over no character."""
    target: int


class UrlGlob:
    """A glob for whole URLs.

    Args:
        glob: the pattern.

    Raises:
        ValueError: it is too long, or its braces are unbalanced.
    """

    def __init__(self, glob: str) -> None:
        if len(glob) > MAX_GLOB_CHARS:
            raise ValueError(f"a glob has at most {MAX_GLOB_CHARS:,} characters")
        self._steps: list[list[_Step]] = [[]]
        self._last = self._read(glob)

    def fits(self, url: str) -> bool:
        """Tell whether the whole URL matches."""
        if len(url) > MAX_URL_CHARS:
            return False
        states = self._spread({0})
        for char in url:
            states = self._spread(
                {
                    step.target
                    for state in states
                    for step in self._steps[state]
                    if step.test == char
                    or step.test == _ANY
                    or (step.test == _NO_SLASH and char != "/")
                }
            )
            if not states:
                return False
        return self._last in states

    def _spread(self, states: set[int]) -> set[int]:
        """Add the states reached over no character."""
        waiting = list(states)
        while waiting:
            for step in self._steps[waiting.pop()]:
                if not step.test and step.target not in states:
                    states.add(step.target)
                    waiting.append(step.target)
        return states

    def _new(self) -> int:
        self._steps.append([])
        return len(self._steps) - 1

    def _add(self, at: int, test: str) -> int:
        """Add a step over one character, and return the state it leads to."""
        to = self._new()
        self._steps[at].append(_Step(test, to))
        return to

    def _loop(self, at: int, test: str) -> int:
        """Add any number of characters, including none."""
        round_ = self._add(at, "")
        self._steps[round_].append(_Step(test, round_))
        return round_

    def _read(self, glob: str) -> int:
        """Build the states, and return the last one."""
        at, before = 0, ""
        group: tuple[int, list[int]] | None = None
        for token in GLOB_TOKEN.findall(glob):
            if token[0] == "*":
                at = self._wildcard(at, token, after_slash=before == "/")
            elif token in "{}" and (token == "{") is (group is not None):
                raise ValueError(f"{glob[:80]!r} has a brace without its other half")
            elif token == "{":
                group = (at, [])
            elif token == "," and group is not None:
                group[1].append(at)
                at = self._add(group[0], "")
            elif token == "}" and group is not None:
                at = self._joined([*group[1], at])
                group = None
            else:
                at = self._add(at, token[-1])
            before = token[-1:]
        if group is not None:
            raise ValueError(f"{glob[:80]!r} has a brace without its other half")
        return at

    def _joined(self, ends: list[int]) -> int:
        to = self._new()
        for end in ends:
            self._steps[end].append(_Step("", to))
        return to

    def _wildcard(self, at: int, token: str, *, after_slash: bool) -> int:
        stars = token.rstrip("/")
        if len(stars) == 1:
            end = self._loop(at, _NO_SLASH)
            return self._add(end, "/") if token != stars else end
        if token == stars:
            return self._loop(at, _ANY)
        if not after_slash:
            return self._add(self._loop(at, _ANY), "/")
        # `/**/` is also a single slash, but never two with nothing between them.
        some = self._add(self._loop(self._add(at, _ANY), _ANY), "/")
        return self._joined([at, some])


@lru_cache(maxsize=256)
def url_glob(glob: str) -> UrlGlob:
    """Return the glob, read once."""
    return UrlGlob(glob)
