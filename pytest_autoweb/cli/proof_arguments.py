"""Arguments of commands that prove plain tests: where their browser may go, and for how long."""

import argparse
from collections.abc import Iterable

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.browser.egress.request_policy import Origin, parse_origin

BROWSERS = ("chromium", "firefox", "webkit")


def add_proof_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--allow-origin` and `--timeout`."""
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="an origin besides the test's own that its browser may reach in the proof; can be "
        "given several times",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="wall-clock limit of each run of the proof; by default it goes by the limits of the "
        "cases, or by the lines of the file",
    )


def origins_of(urls: Iterable[str]) -> frozenset[Origin]:
    return frozenset(origin for origin in map(parse_origin, urls) if origin)


def refuse_bad_limits(args: argparse.Namespace) -> None:
    """Reject what cannot limit a proof.

    Raises:
        SettingsError: with the argument.
    """
    if args.timeout is not None and not 0 < args.timeout < float("inf"):
        raise SettingsError("--timeout takes a number of seconds above 0")
    for url in args.allow_origin:
        if not origins_of([url]):
            raise SettingsError(
                f"--allow-origin takes an origin such as https://cdn.example.com, not {url!r}"
            )
