"""Keep stdout for the one document that a command with `--json` prints."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import TextIO

DOCUMENT_STREAM: ContextVar[TextIO | None] = ContextVar(
    "stdout that is kept for a document", default=None
)


@contextmanager
def kept_for_json() -> Iterator[None]:
    """Keep stdout for the document: what gates, panels and checks of users print goes to stderr."""
    token = DOCUMENT_STREAM.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        DOCUMENT_STREAM.reset(token)
