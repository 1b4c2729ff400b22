"""Playwright's URL globs, for URLs of which no page can be asked. Pure."""

import re
from functools import cache

from pytest_autoweb.specs import Pattern


@cache
def glob_pattern(glob: str) -> re.Pattern[str]:
    r"""The glob as a regular expression for whole URLs.

    `*` stands for anything without `/`, `**` for anything, `/**/` also for a single `/`, `{a,b}`
    for one of its parts; `\` takes the next character as it is. `?` is a plain character.
    """
    parts: list[str] = []
    in_group = False
    at = 0
    while at < len(glob):
        char = glob[at]
        if char == "\\" and at + 1 < len(glob):
            parts.append(re.escape(glob[at + 1]))
            at += 2
            continue
        if char == "*":
            end = at
            while end < len(glob) and glob[end] == "*":
                end += 1
            if end - at == 1:
                parts.append("[^/]*")
            elif glob[end : end + 1] == "/":
                parts.append("(?:.+/)?" if glob[at - 1 : at] == "/" else ".*/")
                end += 1
            else:
                parts.append(".*")
            at = end
            continue
        if char in "{}":
            in_group = char == "{"
            parts.append("(?:" if in_group else ")")
        else:
            parts.append("|" if char == "," and in_group else re.escape(char))
        at += 1
    return re.compile("".join(parts), re.DOTALL)


def url_fits(wanted: str | Pattern, url: str) -> bool:
    """Whether a URL fits a glob, or a regular expression is found in it."""
    if isinstance(wanted, Pattern):
        return re.search(wanted.matches, url) is not None
    return wanted == url or glob_pattern(wanted).fullmatch(url) is not None
