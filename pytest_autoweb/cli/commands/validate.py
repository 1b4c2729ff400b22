"""`autoweb validate`: say what is wrong in case files, without running anything."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.session.case_files import holds_cases
from pytest_autoweb.session.case_needs import lacking_anywhere
from pytest_autoweb.session.project_variants import project_variants

_ABOUT = """\
Reads case files as pytest does and says what is wrong in them: one line for each mistake, with file
and line. What an agent cannot do for a case is noted. Nothing is run, opened or sent. Files that
hold no cases are passed over, so that it can be given all YAML files of a commit.

  autoweb validate cases
  autoweb validate cases/shop.yaml

Checks that the project's conftest adds are known. An environment variable that is not set counts as
an address, because it may be set where the cases run.

Exit status: 0 all are valid; 1 there are mistakes; 4 there is no such file, or the project's
conftest cannot be loaded.
"""
# As in a session, a JSON file must be named.
_ENDINGS = {".yaml", ".yml"}
_VARIABLE = re.compile(r"\benv\.([A-Za-z_][A-Za-z0-9_]*)")
_STAND_IN = "http://stand-in.invalid"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument(
        "paths",
        nargs="*",
        default=[Path("cases")],
        type=Path,
        metavar="PATH",
        help="case files, and folders that hold some; default: the folder cases",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print each mistake on a line of its own.

    Raises:
        AutowebError: a path does not exist, or a conftest cannot be loaded.
    """
    files = [file for path in args.paths for file in _case_files(path)]
    mistakes: list[CaseError] = []
    # Most commits change no case; the conftest is then not loaded.
    if files:
        with project_variants():
            read = [_read(file) for file in files]
            mistakes = [mistake for _, found in read for mistake in found]
            for sentence in lacking_anywhere([case for cases, _ in read for case in cases]):
                print(f"note: {sentence}", file=sys.stderr)
    for mistake in mistakes:
        print(mistake)
    count = len(mistakes)
    told = f"{count} {'mistake' if count == 1 else 'mistakes'}" if count else "no mistakes"
    print(f"{len(files)} case {'file' if len(files) == 1 else 'files'}, {told}", file=sys.stderr)
    return 1 if mistakes else 0


def _case_files(path: Path) -> Iterator[Path]:
    """Yield the files of a path that hold cases."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS)
    elif path.exists():
        found = [path]
    else:
        raise SettingsError(f"there is no {path}")
    yield from (file for file in found if file.is_file() and holds_cases(file))


def _read(file: Path) -> tuple[tuple[LoadedCase, ...], list[CaseError]]:
    """Return the cases of a file, or the mistakes in it."""
    text = file.read_text(encoding="utf-8", errors="replace")
    unset = dict.fromkeys(_VARIABLE.findall(text), _STAND_IN)
    given = {name: value for name, value in os.environ.items() if value}
    usual = Deployment()
    deployment = Deployment(usual.base_url or f"{_STAND_IN}/", {**unset, **given})
    try:
        return load_case_file(file, deployment), []
    except CaseError as error:
        return (), error.all()
