"""`--json`: commands that read print one document on stdout, for programs and coding agents.

Progress and messages go to stderr; docs/json.md describes the documents.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_autoweb.cli.kept_stdout import DOCUMENT_STREAM
from pytest_autoweb.results.runs.saving import plain

VERSION = 1
"""Rises when a field of a document changes its meaning or goes away."""


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`, which means the same for every command that has it."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document instead of text, and messages on stderr (docs/json.md)",
    )


def print_json(kind: str, content: Mapping[str, Any]) -> None:
    """Print the document of a command.

    Only ASCII is printed, everything else is escaped: a terminal, a pipe with another encoding and
    a CI runner all get the same bytes, and no character of a page or a model steers any of them.

    Args:
        kind: what the document is, which follows `pytest-autoweb/` in its field `format`.
        content: its fields; values may be models, paths and whatever else JSON can be made of.
    """
    fields = {name: _with_paths_as_text(value) for name, value in content.items()}
    document = {"format": f"pytest-autoweb/{kind}", "version": VERSION, **plain(fields)}
    # DEL is the one control character of ASCII that JSON leaves as it is. Azure and TeamCity obey
    # `##vso[` and its like anywhere in a line; two such signs occur only within texts.
    text = json.dumps(document, indent=2).replace("\x7f", "\\u007f").replace("##", "#\\u0023")
    print(text, file=DOCUMENT_STREAM.get())


def _with_paths_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
