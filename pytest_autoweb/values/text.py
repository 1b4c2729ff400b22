"""Normal forms of texts, so that texts which look alike compare as equal."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]")
_MARKS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "’": "'", "ʼ": "'"})

_MARK_KINDS = ("Mn", "Mc", "Me", "Cf")

MAX_CHARS = 200
"""The longest text that is read as a number, a date or an amount."""


def normalise(text: str) -> str:
    """Return a text in NFKC with single spaces and without invisible characters."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))).strip()


def without_marks(text: str) -> str:
    """Return the text without accents and vowel signs, which many writers leave out."""
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in parts if unicodedata.category(char) not in _MARK_KINDS)
    return unicodedata.normalize("NFKC", kept)


def canonical_text(text: str) -> str:
    """Return a normalised text with the digits and signs of all scripts in ASCII.

    The result is empty for a text that is too long to be a value.
    """
    if len(text) > MAX_CHARS:
        return ""
    digits = (
        str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char
        for char in normalise(text)
    )
    return "".join(digits).translate(_MARKS)
