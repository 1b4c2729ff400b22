"""Arguments, and a way to tell of progress, that several commands share."""

import argparse
import sys
from pathlib import Path

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.report.foreign_text import one_line


def add_models_file(parser: argparse.ArgumentParser) -> None:
    """Declare `--models-file`."""
    parser.add_argument(
        "--models-file", type=Path, metavar="FILE", help="file with model settings, as for pytest"
    )


def add_max_cost(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare `--max-cost`.

    Args:
        parser: of the command.
        what: what may cost no more, for the help.
    """
    parser.add_argument(
        "--max-cost", type=float, metavar="USD", help=f"the most that {what} may cost"
    )


def add_pytest_flags(parser: argparse.ArgumentParser) -> None:
    """Declare what stands behind `--`."""
    parser.add_argument(
        "flags", nargs="*", default=[], metavar="-- FLAG", help="flags of pytest, behind `--`"
    )


def tell_progress(line: str) -> None:
    """Print one line about a command's progress to stderr, which leaves stdout to its result."""
    print(one_line(line, 400), file=sys.stderr, flush=True)


def text_path(words: str) -> Path:
    """Return the path of an argument that files of text will name.

    Raises:
        ArgumentTypeError: it holds bytes that are not UTF-8.
    """
    if whole_text(words) != words:
        raise argparse.ArgumentTypeError(f"{whole_text(words)} is not valid UTF-8")
    return Path(words)
