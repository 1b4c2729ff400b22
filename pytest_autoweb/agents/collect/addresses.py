"""The addresses that links lead to, and the pattern that several of them share."""

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from pytest_autoweb.agents.collect.places import MIN_VISITS
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.judging.checks.answer_checks import url_fits
from pytest_autoweb.judging.checks.check_type import NotEvaluated

# A page may contain addresses of any length, and regular expressions run in this process.
_LONGEST = 1_000
_SEPARATORS = re.compile(r"([/?&#=;]+)")
_MAX_CHARS = 4_000


class CommonAddress(NamedTuple):
    """The pattern that several addresses have in common."""

    pattern: str
    """A regular expression that matches whole addresses."""
    confidence: float
    """Confidence in the pattern, from 0 to 1."""


def joined(base: str, href: str) -> str:
    """Return the address that a link leads to; empty when it does not lead to another page.

    Fragments are kept, because in single-page applications they tell pages apart.
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


def new_ones(known: Container[str], found: Iterable[str]) -> list[str]:
    """Return the addresses that are not known yet, in their order and without duplicates."""
    return [url for url in dict.fromkeys(found) if url not in known]


def fits(pattern: str | Pattern | None, url: str) -> bool:
    """Return whether an address matches a glob or regular expression; None matches every address.

    An address of more than 1,000 characters matches no pattern.

    Raises:
        CaseError: the search for the regular expression takes too long.
    """
    try:
        return pattern is None or (len(url) <= _LONGEST and url_fits(pattern, url))
    except NotEvaluated as error:
        raise CaseError(str(error), field="collect.pattern") from None


def common_address(urls: Sequence[str]) -> CommonAddress | None:
    """Return the pattern that most addresses share, or None when no two are alike.

    Addresses are split at `/ ? & # = ;`. A piece that differs between them may be anything without
    these separators, but keeps the beginning and the end that all have in common (`item-….html`).
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
    # The origin is always the same. With nothing else in common, every page would match.
    words = fixed - 1
    confidence = 0.4 if not words else max(0.0, 1.0 - 0.2 * (varying - 1))
    return CommonAddress(f"^{''.join(parts)}$", confidence)


def _pieces(url: str) -> list[str]:
    """Split an address into its origin and then, in turn, separators and words."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return [origin, *_SEPARATORS.split(url[len(origin) :])]


def _varying(column: Sequence[str]) -> str:
    head = _edge(column)
    tail = _edge([word[len(head) :][::-1] for word in column])[::-1]
    # A word that consists only of the common part has no varying part.
    some = "+" if min(map(len, column)) > len(head) + len(tail) else "*"
    return f"{re.escape(head)}[^/?&#=;]{some}{re.escape(tail)}"


def _edge(words: Sequence[str]) -> str:
    """Return the common beginning of all words, up to its last separator.

    Digits are left out: ids that share a beginning, such as a year, may do so only by chance.
    """
    shared = ""
    for letters in zip(*words, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    border = re.match(r"(?:\D*[\W_])?", shared)
    return border[0] if border else ""
