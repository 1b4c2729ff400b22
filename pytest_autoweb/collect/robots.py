"""Reads what a site's robots.txt asks of programs that collect (RFC 9309)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

AGENT = "pytest-autoweb"
"""The name under which a site may address this package; otherwise its rules for `*` count."""
LONGEST = 500_000
"""The number of characters of a robots.txt that are read, which is what the RFC asks for."""
_MOST_RULES = 5_000


class RobotRule(NamedTuple):
    """A line `Allow` or `Disallow`."""

    path: str
    allows: bool

    def fits(self, path: str) -> bool:
        """Tell whether the rule is about a path; `*` stands for anything, `$` for the end."""
        parts = self.path.removesuffix("$").split("*")
        at = 0
        for number, part in enumerate(parts):
            found = path.find(part, at)
            if found < 0 or (number == 0 and found > 0):
                return False
            at = found + len(part)
        if not self.path.endswith("$"):
            return True
        # The last part may come again later, so it is looked for at the end.
        return at == len(path) or (len(parts) > 1 and path.endswith(parts[-1]))


class RobotRules(NamedTuple):
    """The rules of a robots.txt for this package."""

    rules: tuple[RobotRule, ...] = ()
    delay: float = 0.0
    """The seconds between two pages that the site asks for (`Crawl-delay`)."""

    def forbids(self, url: str) -> bool:
        """Tell whether an address may not be fetched: the longest rule counts, `Allow` in a tie."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fitting = [rule for rule in self.rules if rule.fits(path)]
        best = max(fitting, key=lambda rule: (len(rule.path), rule.allows), default=None)
        return best is not None and not best.allows


def read_robots(text: str) -> RobotRules:
    """Read the rules for this package from the text of a robots.txt."""
    groups: dict[str, list[tuple[str, str]]] = {}
    agents: list[str] = []
    begun = False
    for line in text[:LONGEST].splitlines()[:_MOST_RULES]:
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            # Lines that follow each other name the agents of one group.
            agents = [*([] if begun else agents), value.lower()]
            begun = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            begun = True
            for agent in agents:
                groups[agent].append((name, value))
    lines = groups.get(AGENT, groups.get("*", []))
    rules = (RobotRule(value, name == "allow") for name, value in lines if name != "crawl-delay")
    delays = [value for name, value in lines if name == "crawl-delay"]
    known = [float(value) for value in delays if re.fullmatch(r"\d{1,4}(\.\d+)?", value)]
    # An empty `Disallow` forbids nothing.
    return RobotRules(tuple(rule for rule in rules if rule.path), max(known, default=0.0))


@dataclass(slots=True)
class Robots:
    """The robots.txt of each origin, fetched once before the first page from there.

    Args:
        fetch: returns the text at an address, or None if there is none.
        heeded: tells whether the rules of a site count.
    """

    fetch: Callable[[str], str | None]
    heeded: Callable[[str], bool] = lambda url: True
    _known: dict[str, RobotRules] = field(default_factory=dict)

    def rules(self, url: str) -> RobotRules:
        """Return the rules of the site that an address is at."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not self.heeded(url):
            return RobotRules()
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._known:
            self._known[origin] = read_robots(self.fetch(f"{origin}/robots.txt") or "")
        return self._known[origin]

    def problem(self, url: str) -> str:
        """Say that an address may not be fetched; empty if it may."""
        if not self.rules(url).forbids(url):
            return ""
        return (
            f"robots.txt forbids {url}; if the site is your own, say so in the case: "
            "collect: {own_site: true}"
        )
