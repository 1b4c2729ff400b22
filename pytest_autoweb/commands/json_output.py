"""`--json` of the commands that read: one document on stdout, for programs and coding agents."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

VERSION = 1
"""Rises when a field of a document changes its meaning or goes away."""
_OUT: ContextVar[TextIO | None] = ContextVar("stdout that is kept for a document", default=None)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`, which means the same for every command that has it."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document instead of text, and messages on stderr (docs/json.md)",
    )


@contextmanager
def kept_for_json() -> Iterator[None]:
    """Keep stdout for the document: what gates, panels and checks of users print goes to stderr."""
    token = _OUT.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _OUT.reset(token)


def print_json(kind: str, content: Mapping[str, Any]) -> None:
    """Print the document of a command.

    Only ASCII is printed, everything else is escaped: a terminal, a pipe with another encoding and
    a CI runner all get the same bytes, and no character of a page or a model steers any of them.

    Args:
        kind: what the document is, which follows `pytest-autoweb/` in its field `format`.
        content: its fields; values may be models, paths and whatever else JSON can be made of.
    """
    # Late, because every `autoweb` command loads this module, and few of them print JSON.
    from pytest_autoweb.runs.saving import plain

    fields = {name: _with_paths_as_text(value) for name, value in content.items()}
    document = {"format": f"pytest-autoweb/{kind}", "version": VERSION, **plain(fields)}
    # DEL is the one control character of ASCII that JSON leaves as it is.
    print(json.dumps(document, indent=2).replace("\x7f", "\\u007f"), file=_OUT.get())


def _with_paths_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
