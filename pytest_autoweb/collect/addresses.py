"""Addresses of detail pages: joined, told apart, and what several of them have in common. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from pytest_autoweb.checks.url_glob import url_fits
from pytest_autoweb.collect.paths import MIN_VISITS
from pytest_autoweb.specs import Pattern

_SEPARATORS = re.compile(r"([/?&#=;]+)")
_MAX_CHARS = 4_000


class CommonAddress(NamedTuple):
    """What addresses have in common."""

    pattern: str
    """A regular expression for whole addresses."""
    confidence: float
    """0 to 1."""


def joined(base: str, href: str) -> str:
    """The address that a link leads to; empty when it leads to no page.

    Fragments are kept: in single-page applications they are the address.
    """
    href = href.strip()
    if not href or len(href) > _MAX_CHARS:
        return ""
    try:
        url = urljoin(base, href).strip()
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    if url.split("#")[0] == base.split("#")[0] and parts.fragment[:1] not in ("/", "!"):
        return ""  # a place on the list page itself
    return url


def new_ones(known: Collection[str], found: Iterable[str]) -> list[str]:
    """The addresses that are not known yet, in their order; compared as exact texts."""
    return [url for url in dict.fromkeys(found) if url not in known]


def fits(pattern: str | Pattern | None, url: str) -> bool:
    """Whether an address fits a glob or an expression; no pattern fits all."""
    return pattern is None or url_fits(pattern, url)


def common_address(urls: Sequence[str]) -> CommonAddress | None:
    """The expression that most addresses share; None when no two are alike.

    Addresses are cut at `/ ? & # = ;`. Pieces that differ may be anything without these, but keep
    the beginning and the end that all of them have (`item-….html`).
    """
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for url in dict.fromkeys(urls):
        pieces = _pieces(url)
        shapes.setdefault((pieces[0], *pieces[2::2]), []).append(pieces)
    best = max(shapes.values(), key=len, default=[])
    if len(best) < MIN_VISITS:
        return None
    parts, varying, fixed = [], 0, 0
    for column in zip(*best, strict=True):
        if len(set(column)) == 1:
            parts.append(re.escape(column[0]))
            fixed += bool(column[0]) and not _SEPARATORS.fullmatch(column[0])
        else:
            varying += 1
            parts.append(_varying(column))
    # The origin is always the same; with nothing else in common every page would fit.
    words = fixed - 1
    confidence = 0.4 if not words else max(0.0, 1.0 - 0.2 * (varying - 1))
    return CommonAddress(f"^{''.join(parts)}$", confidence)


def _pieces(url: str) -> list[str]:
    """Origin, then separators and words in turn."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return [origin, *_SEPARATORS.split(url[len(origin) :])]


def _varying(column: Sequence[str]) -> str:
    head = _edge(column)
    tail = _edge([word[len(head) :][::-1] for word in column])[::-1]
    return f"{re.escape(head)}[^/?&#=;]+{re.escape(tail)}"


def _edge(words: Sequence[str]) -> str:
    """The beginning that all words share, up to its last sign; without numbers, e.g. years."""
    shared = ""
    for letters in zip(*words, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    border = re.match(r"(?:\D*[\W_])?", shared)
    return border[0] if border else ""
