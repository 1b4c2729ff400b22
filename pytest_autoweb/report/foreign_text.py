"""Foreign text as a line shows it: of pages, models and files of others."""

import re

from pytest_autoweb.report.plain_stream import UNSEEN


def one_line(text: str, limit: int = 200) -> str:
    """Return foreign text on one line, without control and bidi characters, cut to `limit`."""
    flat = " ".join(UNSEEN.sub("", re.sub(r"[\t\n\r\x0b\x0c\x85]+", " ", text)).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def whole_words(text: str, limit: int) -> str:
    """Return foreign text on one line as `one_line` does, cut between two words.

    Only a text whose first word is longer is cut within it.
    """
    flat = one_line(text, len(text))
    if len(flat) <= limit:
        return flat
    begin = flat[:limit].rpartition(" ")[0].rstrip(" ,;:")
    return f"{begin}…" if begin else one_line(flat, limit)


def clean_lines(text: str) -> str:
    """Return foreign text with its line breaks, without control and bidi characters."""
    return "\n".join(UNSEEN.sub("", line) for line in text.splitlines())
