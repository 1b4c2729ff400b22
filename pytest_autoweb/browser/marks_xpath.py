"""Ranked XPath expressions for an element, built from counts made in its page. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TEXT_CHARS = 30
_HREF_CHARS = 5
# Long numbers, hexadecimal digits, and prefixes of ids that UI frameworks generate.
_RANDOM = re.compile(
    r"\d{3,}|[0-9a-f]{8}|^:.*:$|^(?:ember|radix|react-select|headlessui|mui|ext-gen|yui_)"
    r"|[A-Za-z]\d[A-Za-z]\d|^.{41,}$",
    re.DOTALL,
)
_PIECES = re.compile(r"'|>+|[^'>]+")


def literal(text: str) -> str:
    """Return the text as an XPath 1.0 string, a syntax without escapes.

    `>>` is always split, because Playwright would take it for the separator of two selectors.
    """
    if ">>" not in text:
        if "'" not in text:
            return f"'{text}'"
        if '"' not in text:
            return f'"{text}"'
    pieces: list[str] = []
    for piece in _PIECES.findall(text):
        if piece == "'":
            pieces.append('"\'"')
        elif piece.startswith(">"):
            pieces += ["'>'"] * len(piece)
        else:
            pieces.append(f"'{piece}'")
    return f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]


def xpaths(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return expressions that find exactly the element, best first.

    The order is: own id, test id, label, end of the link, short text, path from the nearest id,
    full path. All but the paths rely on something the page's author chose; ids that look generated
    are skipped. An element in a shadow root has none, because XPath does not search there.
    """
    return tuple(dict.fromkeys(_ranked(facts))) if facts.get("steps") else ()


def selectors(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return Playwright selectors; in a shadow root this is a CSS path, which may enter it."""
    css = facts["css"]
    return (*(f"xpath={path}" for path in xpaths(facts)), *([css] if css else []))


def looks_random(identifier: str) -> bool:
    """Tell whether an id looks generated, so that it may differ next time."""
    return bool(_RANDOM.search(identifier))


def _ranked(facts: Mapping[str, Any]) -> Iterator[str]:
    tag = facts["tag"]
    if facts["id"] and not looks_random(facts["id"]):
        yield f"//*[@id={literal(facts['id'])}]"
    for name, value in facts["tests"]:
        yield f"//*[@{name}={literal(value)}]"
    if facts["label"]:
        yield f"//{tag}[@aria-label={literal(facts['label'])}]"
    if len(facts["href"]) > _HREF_CHARS:
        end = len(facts["href"]) - 1
        yield f"//a[substring(@href, string-length(@href) - {end})={literal(facts['href'])}]"
    if 0 < len(facts["text"]) <= _TEXT_CHARS:
        yield f"//{tag}[normalize-space(.)={literal(facts['text'])}]"
    anchor = facts["anchor"]
    if anchor and not looks_random(anchor["id"]):
        yield f"//*[@id={literal(anchor['id'])}]/{_path(anchor['steps'])}"
    yield f"/{_path(facts['steps'])}"


def _path(steps: Sequence[str]) -> str:
    return "/".join(steps)
