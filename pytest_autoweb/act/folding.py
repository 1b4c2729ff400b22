"""The forms in which texts are compared: folded, without spaces, without decoration. Pure."""

import re
import unicodedata
from functools import lru_cache

MAX_CHARS = 400
"""Longer texts are compared by their beginnings."""

_SPACE = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
"""Spaces, but for those between two digits: `1 2` is not `12`."""
_OPTIONAL = re.compile("[\u0640\u064b-\u0652\u0670\ufe00-\ufe0f]")
"""Arabic stretching and vowel signs, and how an emoji is drawn: written or left out."""
_GROUPS = {
    "-": "‐‑‒–—−",
    "'": "’‘ʼ`´",
    '"': "“”„",
    "x": "×✕✖✗✘⨯╳❌",
    ">": "→➜➔➡⇒❯›▶►▸⟩〉",
    "<": "←⬅⇐❮‹◀◄◂⟨〈",
    "^": "↑▲△⬆",
    ">>": "»⏩",
    "<<": "«⏪",
}
_ALIKE = str.maketrans({sign: plain for plain, signs in _GROUPS.items() for sign in signs})
"""Signs that nobody tells apart on a picture; a double arrow is not a single one."""
_DIRECTIONS = frozenset("<>^")
_DECORATION = frozenset(" <>^|:.,;!?*·•…、,。،؛؟-_\"'")
"""Signs at the ends of a text that are often left out when it is read."""


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """One form for texts that look alike.

    NFKC and case folding (`ß` is `ss`), digits of all scripts in ASCII, spaces collapsed; without
    zero-width and direction marks, and without the private characters that icon fonts draw.
    """
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARS].translate(_ALIKE))
    folded = unicodedata.normalize("NFKC", folded.casefold()).translate(_ALIKE)
    kept = (_digit(char) for char in _OPTIONAL.sub("", folded) if not _is_unseen(char))
    return _SPACE.sub(" ", "".join(kept)).strip()


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Co", "Cs") or (char < " " and not char.isspace())


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char


def tight(folded: str) -> str:
    """A folded text without spaces; those between digits stay."""
    return _LOOSE_SPACE.sub("", folded)


def undecorated(folded: str) -> str:
    """A folded text without arrows, bullets, punctuation and emoji at its ends.

    A text of nothing else stays as it is.
    """
    start, end = 0, len(folded)
    while start < end and _is_decoration(folded[start]):
        start += 1
    while end > start and _is_decoration(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_decoration(char: str) -> bool:
    return char in _DECORATION or unicodedata.category(char) == "So"


def directions(folded: str) -> str:
    """The arrows of a text, in their order."""
    return "".join(char for char in folded if char in _DIRECTIONS)


def is_wide(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return unicodedata.east_asian_width(char) in ("W", "F") and char.isalnum()


def is_border(text: str, at: int) -> bool:
    """Whether a word ends or begins between `text[at - 1]` and `text[at]`."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (_in_word(before) and _in_word(after)):
        return True
    return is_wide(before) != is_wide(after)


def _in_word(char: str) -> bool:
    # A sign inside a number or a name belongs to it: `4.5`, `don't`, `e-mail`.
    return char.isalnum() or char in "'_.," or unicodedata.category(char)[0] == "M"
