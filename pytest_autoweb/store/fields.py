"""What rows are made of: ids that stay the same, and texts that every database takes."""

import hashlib
import json
from typing import Any

LONGEST = 20_000
"""Characters kept of a text; the run's own files have the rest."""


def row_id(*parts: object) -> str:
    """The id of what the parts name."""
    text = json.dumps([str(part) for part in parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def clean(text: str) -> str:
    """A text without what Postgres refuses (NUL, half characters), and not too long."""
    text = (
        text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def clean_value(value: Any) -> Any:
    """The value, clean if it is a text."""
    return clean(value) if isinstance(value, str) else value
