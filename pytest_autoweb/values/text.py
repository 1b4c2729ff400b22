"""Texts in one form, so that what looks alike compares alike. Pure."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]")
_MARKS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "’": "'", "ʼ": "'"})

_MARK_KINDS = ("Mn", "Mc", "Me", "Cf")

MAX_CHARS = 200
"""No number, date or amount is longer."""


def normalise(text: str) -> str:
    """One form for texts that look alike: NFKC, spaces collapsed, invisible marks dropped."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))).strip()


def without_marks(text: str) -> str:
    """The text without accents and vowel signs, which are written or left out."""
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in parts if unicodedata.category(char) not in _MARK_KINDS)
    return unicodedata.normalize("NFKC", kept)


def plain(text: str) -> str:
    """A value's text ready to be read: normalised, digits and signs of all scripts in ASCII.

    Empty for what is too long to be a value.
    """
    if len(text) > MAX_CHARS:
        return ""
    digits = (
        str(unicodedata.decimal(char)) if not char.isascii() and char.isdecimal() else char
        for char in normalise(text)
    )
    return "".join(digits).translate(_MARKS)
