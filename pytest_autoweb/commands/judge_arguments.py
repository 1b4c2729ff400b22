"""The arguments of commands that ask models for `judge` checks."""

import argparse
from pathlib import Path


def add_judge_arguments(parser: argparse.ArgumentParser, *, about: str) -> None:
    """Declare who judges, what that may cost, and where the run's case files lie.

    Args:
        parser: of the command.
        about: what the command asks the judge about, for `--help`.
    """
    parser.add_argument("--ask-judge", action="store_true", help=about)
    parser.add_argument(
        "--judge-model",
        default="",
        metavar="NAME",
        help="with --ask-judge: the model of `judge` checks that name none",
    )
    parser.add_argument(
        "--max-cost",
        type=_dollars,
        metavar="USD",
        help="with --ask-judge: a call that might cost more than this in all is not made, and "
        "neither is one of a model without a known price",
    )
    parser.add_argument(
        "--rootdir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where the run's case paths begin; default: here",
    )


def _dollars(text: str) -> float:
    from pytest_autoweb.option_values import dollars

    try:
        return dollars(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
