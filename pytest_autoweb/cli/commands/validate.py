"""`autoweb validate`: say what is wrong in case files, without running anything."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.session.case_files import holds_cases
from pytest_autoweb.session.case_needs import lacking_anywhere
from pytest_autoweb.session.project_variants import project_variants

_ABOUT = """\
Reads case files as pytest does and says what is wrong in them: one line for each mistake, with file
and line. What an agent cannot do for a case is noted. Nothing is run, opened or sent. Files that
hold no cases are passed over, so that it can be given all YAML files of a commit.

  autoweb validate cases
  autoweb validate cases/shop.yaml
  autoweb validate cases --json | jq -r '.cases[].task'

Checks that the project's conftest adds are known. An environment variable that is not set counts as
an address, because it may be set where the cases run. With --json the cases are listed as well.

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
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print each mistake on a line of its own, or cases and mistakes as one document.

    Raises:
        AutowebError: a path does not exist, or a conftest cannot be loaded.
    """
    files = [file for path in args.paths for file in _case_files(path)]
    cases: list[LoadedCase] = []
    mistakes: list[CaseError] = []
    notes: list[str] = []
    # Most commits change no case; the conftest is then not loaded.
    if files:
        with project_variants():
            read = [_read(file) for file in files]
            cases = [case for loaded, _ in read for case in loaded]
            mistakes = [mistake for _, found in read for mistake in found]
            notes = list(lacking_anywhere(cases))
    if args.json:
        facts = [_case_facts(case) for case in cases]
        lines = [str(mistake) for mistake in mistakes]
        print_json(
            "cases",
            {"files": [*map(str, files)], "cases": facts, "mistakes": lines, "notes": notes},
        )
        return 1 if mistakes else 0
    for sentence in notes:
        print(f"note: {sentence}", file=sys.stderr)
    for mistake in mistakes:
        print(mistake)
    count = len(mistakes)
    told = f"{count} {'mistake' if count == 1 else 'mistakes'}" if count else "no mistakes"
    print(f"{len(files)} case {'file' if len(files) == 1 else 'files'}, {told}", file=sys.stderr)
    return 1 if mistakes else 0


def _case_facts(case: LoadedCase) -> dict[str, Any]:
    """Return what tells a reader what a case is about; its file has everything."""
    return {
        "case_id": case.id,
        "file": str(case.path),
        "line": case.line,
        "task": case.user_task_template,
        "entry_url": case.entry_url_template,
        "tags": case.tags,
        "checks": [check.name for check in case.shape.expect],
        "has_oracle": case.has_oracle,
    }


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
