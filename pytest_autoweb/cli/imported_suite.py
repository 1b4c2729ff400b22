"""`autoweb benchmark import pytest`: its arguments, and what it does and prints."""

import argparse
import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.arguments import add_pytest_flags, tell_progress
from pytest_autoweb.cli.asked_model import add_model_arguments, asked_model, spent
from pytest_autoweb.cli.case_proofs import plays_at_once
from pytest_autoweb.cli.entry_page import served_entry, webserver_section
from pytest_autoweb.cli.logged_session import run_logged
from pytest_autoweb.cli.watched_session import watched
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.records import Usage
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.tools.importing.suite.recorded_tests import (
    RecordedSuite,
    SuiteOrder,
    record_suite,
)
from pytest_autoweb.tools.importing.suite.suite_cases import (
    NotImportable,
    NotTaken,
    SuiteCase,
    SuiteSecrets,
    candidate,
    setup_of,
    take_secrets,
)
from pytest_autoweb.tools.importing.suite.suite_files import SuiteFiles, SuiteSite
from pytest_autoweb.tools.importing.suite.suite_proofs import Sifted, sift
from pytest_autoweb.tools.importing.suite.worded_tasks import PROPOSED, worded
from pytest_autoweb.tools.importing.written_cases import usable_id, write_case_files

_ABOUT = """\
Runs tests of pytest-playwright under a recorder, and writes those that are proven as cases: what a
test does becomes the oracle, what it expects the checks, its title and docstring the task. A case
is kept when its oracle passes, doing nothing fails, and a check notices every step and request that
is left out, as for `autoweb prove`. All others are listed with the reason.

  autoweb benchmark import pytest tests/e2e
  autoweb benchmark import pytest tests/e2e --command "flask run --port {port}" -o cases/shop
  autoweb benchmark import pytest tests/e2e --model openai/gpt-5-mini -- -m smoke

A site that fixtures start is served by those fixtures: for each attempt the test is run anew, up to
its first action in a browser. With --command or --static the address is given to the tests as
PYTEST_BASE_URL and BASE_URL. What stands behind `--` goes to pytest, each time the tests are run.

Exit status: 0 a case was written; 1 none was; 4 invalid input, or tests that cannot be run; 130
interrupted, what was proven until then is written.
"""
_RUNS = Path("autoweb-import")
_LISTED = "not-imported.txt"
_OPEN_S = 2.0


def add_suite(sources: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the source `pytest`."""
    parser = sources.add_parser(
        "pytest", help="tests of pytest-playwright that you have", description=_ABOUT
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="as for pytest: files or folders")
    server = parser.add_mutually_exclusive_group()
    server.add_argument("--static", metavar="DIR", help="serve this folder to the tests")
    server.add_argument(
        "--command", metavar="COMMAND",
        help="start this program for the tests and cases; {port} stands for a free port",
    )  # fmt: skip
    parser.add_argument(
        "--url", metavar="URL", help="where the --command answers, if its port is fixed"
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PYTHON",
        help="the interpreter of the suite's environment; default: this one",
    )  # fmt: skip
    add_model_arguments(parser, required=False, use="words the tasks; a person accepts them")
    parser.add_argument(
        "--weak", action="store_true",
        help="also keep cases of whose steps some go unnoticed, with the tag `weak`",
    )  # fmt: skip
    parser.add_argument(
        "-n", "--concurrency", type=int, default=1, metavar="N",
        help="the most plays at once; default: 1, since fixtures may share a database or a port",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR",
        help="the folder of the files; default: cases/NAME, as the tests' folder is called",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    add_pytest_flags(parser)
    parser.set_defaults(run=_import_suite)


def _import_suite(args: argparse.Namespace) -> int:
    """Record, prove and write; return 1 if no test became a case.

    Raises:
        AutowebError: an argument cannot be used, or pytest could not run the tests.
    """
    plays = plays_at_once(args.concurrency, ())
    paths, flags = _paths(args.paths), tuple(args.flags)
    name = usable_id(Path(paths[0].partition("::")[0]).resolve().stem)
    output = args.output or Path("cases") / name
    if not args.overwrite and (there := sorted(output.glob("*.yaml"))):
        raise SettingsError(
            f"{there[0]} is there already; name another place with -o, or replace "
            "what is there with --overwrite"
        )
    order = SuiteOrder(paths, flags, _interpreter(args.python))
    _RUNS.mkdir(parents=True, exist_ok=True)
    section = _section(args, output / "suite.yaml")
    suite = _recorded(args, order, section, output)
    secrets = SuiteSecrets(re.sub(r"\W", "_", name).upper())
    take_secrets(suite.tests, secrets)
    files = SuiteFiles(suite, order, SuiteSite(section, _running(suite, section)), secrets, output)
    candidates, left = _candidates(suite, files, secrets)
    sifted = Sifted((), ())
    if candidates:
        tell_progress(f"{count_of(len(candidates), 'test')} of {len(suite.tests)} to be proven")
        with _environment(secrets):
            start = watched(_RUNS, sessions=3)
            sifted = sift(candidates, files, _RUNS, start, concurrency=plays, weak=args.weak)
    kept = _worded(args, sifted.kept)
    count = 0
    if kept:
        texts = {name: files.text(group) for name, group in files.groups(kept).items()}
        with _environment(secrets):
            count = write_case_files(output, texts, overwrite=args.overwrite)
        for file in texts:
            print(f"wrote   {output / file}")
    _tell(output, suite, kept, (*left, *sifted.left_out), secrets)
    return 130 if sifted.interrupted else int(not count)


def _paths(given: Sequence[str]) -> tuple[str, ...]:
    missing = [path for path in given if not Path(path.partition("::")[0]).exists()]
    if missing:
        raise SettingsError(f"there is no {missing[0]}: name files or folders of tests")
    return tuple(given)


def _interpreter(named: str) -> str:
    found = shutil.which(named)
    if found is None:
        raise SettingsError(f"--python: {named} cannot be started")
    return found if named != sys.executable else named


def _section(args: argparse.Namespace, file: Path) -> dict[str, str]:
    if args.url and not args.command:
        raise SettingsError("--url says where --command answers, and there is none")
    if args.url:
        if not args.url.startswith(("http://", "https://")):
            raise SettingsError(f"--url: {args.url!r} is not an http or https URL")
        above = os.path.relpath(Path(), file.parent)
        url = f"{args.url.rstrip('/')}/"
        return {"command": args.command, "cwd": above, "url": url, "reset": "restart"}
    section = webserver_section(args, file)
    return {**section, "reset": "restart"} if "command" in section else section


def _recorded(
    args: argparse.Namespace, order: SuiteOrder, section: dict[str, str], output: Path
) -> RecordedSuite:
    def run(command: Sequence[str], environ: Mapping[str, str], log: Path) -> int:
        return run_logged(command, Path.cwd(), log, lambda: None, environ)

    tell_progress("running the tests under the recorder")
    # The site's root: the tests say which of its pages they open.
    root = argparse.Namespace(**{**vars(args), "url": ""})
    with ExitStack() as stack:
        site = ""
        if section:
            site = stack.enter_context(served_entry(root, section, output / "suite.yaml")).site
        started = order._replace(base_url=site.rstrip("/"))
        return record_suite(started, _RUNS / "pytest.log", run, tell_progress)


def _running(suite: RecordedSuite, section: Mapping[str, str]) -> frozenset[str]:
    """Return the sites that still answer, now that the suite has ended."""
    if section:
        return frozenset()
    codes = (step.code for test in suite.tests for step in test.steps)
    origins = {found[1] for code in codes if (found := _GOTO.match(code))}
    return frozenset(f"{origin}/" for origin in origins if _answers(origin))


_GOTO = re.compile(r"page\.goto\(['\"](https?://[^/'\"?#]+)")


def _answers(origin: str) -> bool:
    parts = urlsplit(origin)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with suppress(OSError), socket.create_connection((parts.hostname or "", port), _OPEN_S):
        return True
    return False


def _candidates(
    suite: RecordedSuite, files: SuiteFiles, secrets: SuiteSecrets
) -> tuple[list[SuiteCase], list[NotTaken]]:
    found: list[SuiteCase] = []
    left: list[NotTaken] = []
    for test in suite.tests:
        try:
            one = candidate(test, secrets, [other.id for other in found])
            setup_of(test, held=files.site.holds(one))
        except NotImportable as why:
            left.append(NotTaken(test.where, test.name, str(why)))
            continue
        found.append(one)
    return found, left


@contextmanager
def _environment(secrets: SuiteSecrets) -> Iterator[None]:
    """Give the plays the secrets that the tests have typed; they are written nowhere."""
    before = dict(os.environ)
    os.environ.update(secrets.values())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _worded(args: argparse.Namespace, kept: Sequence[SuiteCase]) -> list[SuiteCase]:
    if not args.model or not kept:
        return list(kept)
    found: list[SuiteCase] = []
    usage = Usage()
    with asked_model(args) as (client, spec):
        for number, one in enumerate(kept, 1):
            tell_progress(f"[{number}/{len(kept)}] {spec.name} words {one.id}")
            proposed, used = worded(client, spec, one)
            usage += used
            found.append(proposed)
        tell_progress(f"{spec.name}: {spent(usage)}")
    return found


def _tell(
    output: Path,
    suite: RecordedSuite,
    kept: Sequence[SuiteCase],
    left: Sequence[NotTaken],
    secrets: SuiteSecrets,
) -> None:
    """Print what became of the suite, and write the list of what was left out."""
    lines = [_line(one) for one in left]
    within = [_line(lost) for one in kept for lost in one.left_out]
    for line in lines:
        print(f"left out {line}")
    if lines or within:
        output.mkdir(parents=True, exist_ok=True)
        head = [f"{len(kept)} of {count_of(len(suite.tests), 'test')} became cases. Not imported:"]
        also = ["", "Left out of the cases:", *within] if within else []
        write_text_atomic(output / _LISTED, "\n".join([*head, *lines, *also]) + "\n")
    checks = sum(len(one.checks) for one in kept)
    print(
        f"{len(kept)} of {count_of(len(suite.tests), 'test')} became cases, with "
        f"{count_of(checks, 'check')}"
        + (f"; what was left out: {output / _LISTED}" if lines or within else "")
    )
    for name in sorted({name for one in kept for name in one.secrets}):
        print(f"needs the secret {name} in the environment variable {secrets.variables[name]}")
    if any(PROPOSED in one.tags for one in kept):
        print(f"read the tasks that a model has worded, and remove the tag {PROPOSED} from each")
    if kept:
        print(f"\nNext:\n\n  pytest {output} --autoweb-models=openai/gpt-5-mini")


def _line(one: NotTaken) -> str:
    return one_line(f"{one.where} {one.name}: {one.why}", 400)
