"""Parts of rows: ids that stay the same, and texts that every database accepts."""

import hashlib
import json
from typing import Any

LONGEST = 20_000
"""The most characters that are kept of a text; the run's own files have the rest."""


def row_id(*parts: object) -> str:
    """Return the id of whatever the parts identify; the same parts always give the same id."""
    text = json.dumps([str(part) for part in parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def clean(text: str) -> str:
    """Return a text of limited length without NUL and lone surrogates, which Postgres refuses."""
    text = (
        text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def clean_value(value: Any) -> Any:
    """Return the value, cleaned if it is a text."""
    return clean(value) if isinstance(value, str) else value
