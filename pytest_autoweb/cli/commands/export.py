"""`autoweb export`: passed cells as plain pytest-playwright tests, written only when proven."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.browser.egress.request_policy import Origin
from pytest_autoweb.cases.case import resolve_secrets
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cli.arguments import add_pytest_flags, text_path
from pytest_autoweb.cli.exported_steps import export_steps
from pytest_autoweb.cli.proof_arguments import (
    BROWSERS,
    add_proof_arguments,
    origins_of,
    refuse_bad_limits,
)
from pytest_autoweb.cli.run_arguments import (
    add_cell_arguments,
    named_run,
    names_run,
    run_around,
)
from pytest_autoweb.report.named_cells import find_cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.foreign_run import case_file
from pytest_autoweb.results.runs.loaded_run import load_run
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.tools.export.plain_code import NotExportable
from pytest_autoweb.tools.export.proof import (
    FAILED,
    Prover,
    blocked_sentence,
    browser_of_the_machine,
)
from pytest_autoweb.tools.export.written_test import (
    Source,
    WrittenTest,
    refuse_secrets,
    stand_in,
    write_file,
    write_test,
)

_START_S = 60.0
"""What a run of the proof may take beside the limits of its cases."""
_EXPORT_ABOUT = """\
Writes plain pytest-playwright tests from cells that passed: their actions with Playwright's own
locators, the checks of their cases as assertions, fixtures for web server and secrets. They need
`pip install pytest-playwright` and nothing of this package.

  autoweb export "login[openai/gpt-5-mini]" -o tests/
  autoweb export autoweb-report -o tests/ --model openai/gpt-5-mini

CELL is the name of a cell's test, a part of it that fits only one, or the cell's folder. A whole
RUN becomes a file for each case file, with a test for each case, from its best cell. A test is
written only when it passes three times and fails without its actions. What exists is kept, unless
--force is given. A test with `autoweb_step` is written to a copy of its file, NAME_plain.py, with
plain lines in place of its calls. Flags of pytest for that proof stand behind `--`.

The actions are code that a model wrote, and run without the sandbox. In the proof the browser
reaches only the origins of the case; later nothing holds it back. So an attempt whose cell blocked
requests is refused, unless --allow-origin names where they went.

Exit status: 0 everything was written; 1 a test was refused; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _EXPORT_ABOUT
    add_cell_arguments(parser, "one cell of it; RUN alone may also be a cell of the latest run")
    parser.add_argument(
        "-o",
        "--output",
        type=text_path,
        metavar="DIR",
        help="the folder for the tests; default: tests, and for steps the folder of their test",
    )
    parser.add_argument("--model", metavar="NAME", help="take only cells of this model")
    add_proof_arguments(parser)
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep a refused file as refused_NAME.py, which pytest does not collect",
    )
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


class _Refusal(NamedTuple):
    """A case for which no test was written."""

    case_id: str
    why: str


class _File(NamedTuple):
    """A file to write, and the cells that it is made from."""

    target: Path
    cases: tuple[LoadedCase, ...]
    cells: list[CellResult]


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Write and prove a file for each case file.

    Raises:
        AutowebError: the run, the cell or a case file cannot be used, or a file exists.
    """
    refuse_bad_limits(args)
    folder, said = _run_and_cell(args)
    whole_run = not said
    saved = load_run(folder)
    found = [cell for cell in saved.cells if args.model in (None, cell.model)]
    if not found:
        raise SettingsError(f"{saved.folder} has no cell of {args.model!r}")
    steps, cells = _divided(found, None if whole_run else find_cell(tuple(found), said, folder))
    failed = export_steps(steps, saved.folder, args)
    if not cells:
        return failed
    args.output = args.output or Path("tests")
    chosen = _best(cells) if whole_run else [_named(cells, said, folder)]
    if not chosen:
        raise SettingsError(f"no cell of {saved.folder} passed, so there is nothing to export")
    files = list(_files(chosen, saved.folder, args.output, whole_run=whole_run))
    there = [str(file.target) for file in files if file.target.exists()]
    if there and not args.force:
        raise SettingsError(f"{', '.join(there)} exists; move it, or give --force to replace it")
    args.output.mkdir(parents=True, exist_ok=True)
    ran_in = saved.info.environment.get("browser", "").partition(" ")[0]
    browser = ran_in if ran_in in BROWSERS else BROWSERS[0]
    refused = [refusal for file in files for refusal in _export(file, args, browser)]
    for case_id in dict.fromkeys(cell.case_id for cell in cells) if whole_run else ():
        if case_id not in {cell.case_id for cell in chosen}:
            print(f"left out {case_id}: no cell of it passed")
    for case_id, why in refused:
        print(f"refused {case_id}: {why}")
    if any(file.target.exists() for file in files) and not args.flags:
        _tell_of_browser(browser)
    return 1 if refused or failed else 0


def _divided(
    cells: Sequence[CellResult], named: CellResult | None
) -> tuple[list[CellResult], list[CellResult]]:
    """Return the steps of tests and the cells of cases among those that are to be exported."""
    if named is not None and named.step_call is not None:
        return [cell for cell in cells if cell.nodeid == named.nodeid], []
    steps = [cell for cell in cells if cell.step_call is not None]
    rest = [cell for cell in cells if cell.step_call is None]
    return ([], rest) if named is not None else (steps, rest)


def _tell_of_browser(browser: str) -> None:
    """Say what plain tests need here if they were proven on a browser that they will not find."""
    if path := browser_of_the_machine(browser):
        print(f"proven on {path}, which plain tests use as well where this package is installed;")
        print(f"        elsewhere they need Playwright's own: playwright install {browser}")


def _run_and_cell(args: argparse.Namespace) -> tuple[Path, str]:
    """Return the run that is named, and the cell in it; an empty text means the whole run."""
    run, cell = args.named or "", args.cell or ""
    if args.run_option:
        return named_run(args.run_option), run or cell
    if cell or not run:
        return named_run(run), cell
    if names_run(run):
        return named_run(run), ""
    return run_around(Path(run)) or named_run(""), run


def _named(cells: Sequence[CellResult], said: str, folder: Path) -> CellResult:
    """Return the cell that is named.

    Raises:
        SettingsError: there is no such cell, there are several, or it did not pass.
    """
    cell = find_cell(tuple(cells), said, folder)
    if not _exportable(cell):
        raise SettingsError(
            f"{cell.case_id} on {cell.model} did not pass (it is {cell.outcome}); only cells that "
            "passed can be exported"
        )
    return cell


def _files(
    cells: Sequence[CellResult], run: Path, out: Path, *, whole_run: bool
) -> Iterator[_File]:
    """Yield the files to write, one for each case file.

    Raises:
        AutowebError: a case file is not there, is not one of the project, or cannot be read.
    """
    by_path: dict[str, list[CellResult]] = {}
    for cell in cells:
        by_path.setdefault(cell.case_path, []).append(cell)
    stems = [Path(path).stem for path in by_path]
    for path, of_file in by_path.items():
        place = Path(path)
        name = place.stem if stems.count(place.stem) == 1 else str(place.with_suffix(""))
        words = name if whole_run else f"{name}_{of_file[0].case_id}"
        cases = load_case_file(case_file(path, Path(), run))
        yield _File(out / file_name(words), cases, of_file)


def _best(cells: Sequence[CellResult]) -> list[CellResult]:
    """Return for each case the passed cell that makes the plainest test."""
    best: dict[tuple[str, str], CellResult] = {}
    for cell in sorted(filter(_exportable, cells), key=_plainness):
        best.setdefault((cell.case_path, cell.case_id), cell)
    order = {(cell.case_path, cell.case_id): number for number, cell in enumerate(cells)}
    return [best[case] for case in sorted(best, key=lambda case: order[case])]


def _exportable(cell: CellResult) -> bool:
    """Tell whether a cell passed and has what it did, which a damaged one may lack."""
    return cell.passed and bool(cell.attempts)


def _plainness(cell: CellResult) -> tuple[object, ...]:
    """Return what sorts cells: models before controls, no repair, few acts."""
    acts = sum(call.acting for call in cell.attempts[-1].tool_calls)
    return (
        cell.strategy == "collect",
        cell.model.startswith("builtin/"),
        cell.outcome != "passed",
        cell.strategy == "act",
        cell.slow,
        acts,
    )


def _export(file: _File, args: argparse.Namespace, browser: str) -> list[_Refusal]:
    """Write the tests of one case file that are proven, and return the others.

    Raises:
        AutowebError: a secret is not set, or pytest cannot run the draft.
    """
    out = args.output
    allowed = origins_of(args.allow_origin)
    tests, sources, refused = _translated(file, allowed)
    if not tests:
        return refused
    cases = [source.case.resolve(stand_in(source.case.webserver)) for source in sources]
    prover = Prover(
        out,
        _secrets(sources),
        browser,
        tuple(args.flags),
        origins=allowed.union(*(origins_of([c.entry_url, *c.allowed_origins]) for c in cases)),
        seconds=args.timeout or _START_S + sum(case.timeout for case in cases),
    )
    try:
        print(f"proving {file.target}: three times, and once without actions", flush=True)
        wrong = _proven(tests, sources, prover, file.target.name)
        if failing := [name for name, why in wrong.items() if why.startswith(FAILED)]:
            # A cell waits until the page is quiet before each step; most tests need not.
            print(f"proving {', '.join(failing)} again, with waits between the steps", flush=True)
            tests = [test.waiting() if test.name in failing else test for test in tests]
            wrong = _proven(tests, sources, prover, file.target.name)
    except NotExportable as why:
        return [*refused, *(_Refusal(source.cell.case_id, str(why)) for source in sources)]
    if prover.blocked:
        print(blocked_sentence(prover.blocked))
    pairs = list(zip(tests, sources, strict=True))
    refused += [
        _Refusal(source.cell.case_id, wrong[test.name])
        for test, source in pairs
        if test.name in wrong
    ]
    if args.keep and wrong:
        refused_file = file.target.with_name(f"refused_{file.target.name.removeprefix('test_')}")
        refused_file.write_text(write_file(tests, sources, out), encoding="utf-8")
        print(f"kept    {refused_file}, to look at")
    if kept := [pair for pair in pairs if pair[0].name not in wrong]:
        text = write_file([test for test, _ in kept], [source for _, source in kept], out)
        file.target.write_text(text, encoding="utf-8")
        _report(file.target, kept)
    return refused


def _proven(
    tests: Sequence[WrittenTest], sources: Sequence[Source], prover: Prover, name: str
) -> dict[str, str]:
    """Return why tests are not accepted, by their names.

    Raises:
        AutowebError: pytest cannot run the draft.
        NotExportable: the file cannot be written.
    """
    whole = write_file(tests, sources, prover.out)
    refuse_secrets(whole, list(prover.secrets.values()))
    return prover.why_not(name, whole, write_file(tests, sources, prover.out, actions=False))


def _translated(
    file: _File, allowed: frozenset[Origin]
) -> tuple[list[WrittenTest], list[Source], list[_Refusal]]:
    """Return the tests of a file with their sources, and the cases that have no plain test."""
    tests: list[WrittenTest] = []
    sources: list[Source] = []
    refused: list[_Refusal] = []
    for cell in file.cells:
        source = Source(cell, _case_of(cell, file.cases))
        try:
            _refuse_blocked(source, allowed)
            tests.append(write_test(source, tests))
        except NotExportable as why:
            refused.append(_Refusal(cell.case_id, str(why)))
        else:
            sources.append(source)
    return tests, sources, refused


def _refuse_blocked(source: Source, allowed: frozenset[Origin]) -> None:
    """Refuse an attempt that asked for what its cell did not let it reach.

    Raises:
        NotExportable: nothing would stop the test from reaching it.
    """
    # The address at which a name was refused may follow it.
    named = [(one, origins_of(one.split(" at ")[:1])) for one in source.attempt.blocked_origins]
    blocked = [one for one, origins in named if not origins & allowed]
    if blocked:
        raise NotExportable(
            f"its cell blocked requests to {', '.join(blocked)}, and nothing would block them in a "
            "plain test; if they may be sent, name them with --allow-origin"
        )


def _report(target: Path, written: Sequence[tuple[WrittenTest, Source]]) -> None:
    for test, source in written:
        print(f"wrote   {target}::{test.name}  (from {source.cell.folder})")
        for check in test.left_out:
            print(f"        not checked there: {check}")
    variables = {secret.variable: "" for test, _ in written for secret in test.secrets}
    if variables:
        print(f"        it needs the environment variables {', '.join(variables)}")
    webserver = written[0][1].case.webserver
    if webserver is not None and webserver.takes_mail:
        print("        it needs `pip install aiosmtpd`, for the mails of its web server")


def _case_of(cell: CellResult, cases: Sequence[LoadedCase]) -> LoadedCase:
    for case in cases:
        if case.id == cell.case_id:
            return case
    raise SettingsError(f"{cell.case_path} has no case {cell.case_id!r} any more")


def _secrets(sources: Sequence[Source]) -> dict[str, str]:
    """Return the values that the tests need, by the environment variables that hold them.

    Raises:
        CaseError: a variable is not set.
    """
    values: dict[str, str] = {}
    for source in sources:
        case = source.case.resolve(stand_in(source.case.webserver))
        for name, value in resolve_secrets(case, os.environ, source.case.path).items():
            if not case.secrets[name].mail:
                values[case.secrets[name].env or name.upper()] = value
    return values


def file_name(words: str) -> str:
    """Return the name of a file that pytest collects and Python can import."""
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in words)
    return f"test_{plain}.py"
