"""The body of a request as data: JSON, the fields of a form, or text."""

import re
from typing import Any
from urllib.parse import parse_qs

from pytest_autoweb.base.whole_characters import read_json

_PART_NAME = re.compile(r'(?i)form-data;[^\n]*?\bname="([^"\n]*)"')


def fields_of(text: str) -> Any:
    """Return a body as data: JSON, the fields of a form, or else its text."""
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        pass
    if parts := _multipart(text):
        return parts
    try:
        form = parse_qs(text, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        return text
    return {name: values[0] if len(values) == 1 else values for name, values in form.items()}


def _multipart(text: str) -> dict[str, str]:
    """Return the fields of a form with files; empty when the text is not such a form."""
    boundary, newline, rest = text.replace("\r\n", "\n").partition("\n")
    if not boundary.startswith("--") or not newline:
        return {}
    fields: dict[str, str] = {}
    for part in ("\n" + rest).split("\n" + boundary):
        head, _, value = part.lstrip("\n").partition("\n\n")
        if name := _PART_NAME.search(head[:1000]):
            fields[name[1]] = value
    return fields
