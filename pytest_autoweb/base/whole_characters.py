"""Text that can be written down: without halves of surrogate pairs, which UTF-8 cannot hold.

JavaScript leaves such a half wherever it cuts a text within an emoji, and JSON can spell it. Text
of pages, models, programs and files is cleaned where it comes in.
"""

import json
import re
from typing import Any

from pytest_autoweb.base.json_values import map_texts

_HALF = re.compile("[\ud800-\udfff]")
# Every escape is matched, so that the second backslash of "\\" never begins one.
_ESCAPE = re.compile(
    r"(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_SPELT = re.compile(r"\\u[dD][89a-fA-F]")


def whole_text(text: str) -> str:
    """Return the text with each half of a surrogate pair replaced by U+FFFD."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole_value(value: Any) -> Any:
    """Return JSON data in which every text is whole, keys included."""
    return map_texts(value, whole_text, keys=True)


def whole_json(text: str | bytes) -> str:
    """Return the text of a JSON document that stays the same but for halves, spelt ones included.

    Raises:
        ValueError: these bytes are in no encoding that JSON may have.
    """
    if isinstance(text, bytes | bytearray):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    text = whole_text(text)
    if _SPELT.search(text) is None:
        return text
    return _ESCAPE.sub(lambda found: "\ufffd" if found["half"] else found[0], text)


def read_json(text: str | bytes) -> Any:
    """Return the data of a JSON document, whose texts are whole.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(whole_json(text))
