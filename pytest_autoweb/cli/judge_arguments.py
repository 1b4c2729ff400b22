"""Arguments of commands that ask models for `judge` checks."""

import argparse
from pathlib import Path

from pytest_autoweb.base.values.flag_texts import dollars


def add_judge_arguments(parser: argparse.ArgumentParser, *, about: str) -> None:
    """Declare the flags for the judging model, its costs and the location of case files.

    Args:
        parser: the parser of the command.
        about: the help text of `--ask-judge`, which differs between the commands.
    """
    parser.add_argument("--ask-judge", action="store_true", help=about)
    parser.add_argument(
        "--judge-model",
        default="",
        metavar="NAME",
        help="with --ask-judge: the model for `judge` checks that name none",
    )
    parser.add_argument(
        "--max-cost",
        type=_dollars,
        metavar="USD",
        help="with --ask-judge: the most that all calls together may cost; a call that might "
        "exceed it, or whose model has no known price, is not made",
    )
    parser.add_argument(
        "--rootdir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder that the run's case paths are relative to; default: the current one",
    )


def _dollars(text: str) -> float:
    try:
        return dollars(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
