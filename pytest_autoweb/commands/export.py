"""`autoweb export` and `autoweb heal`: passed cells as plain pytest-playwright tests, kept whole.

A test is written only when it is proven. `heal` gives new action lines to one that broke, under the
same proof.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_autoweb.commands.arguments import (
    add_json_argument,
    add_model_arguments,
    asked_model,
    print_json,
    spent,
    tell_progress,
    text_path,
)
from pytest_autoweb.commands.saved_run import add_run_option, find_cell

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.cases.loader import LoadedCase
    from pytest_autoweb.egress.request_policy import Origin
    from pytest_autoweb.export.proof import HealedTest, Healer, Prover
    from pytest_autoweb.export.written_test import Source, WrittenTest
    from pytest_autoweb.llm.client import Client
    from pytest_autoweb.llm.model_spec import ModelSpec
    from pytest_autoweb.results import CellResult

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_START_S = 60.0
"""What a run of the proof may take beside the limits of its cases."""

_EXPORT_ABOUT = """\
Writes plain pytest-playwright tests from cells that passed: their actions with Playwright's own
locators, the checks of their cases as assertions, fixtures for web server and secrets. They need
`pip install pytest-playwright` and nothing of this package.

  autoweb export "login[openai/gpt-5-mini]" -o tests/
  autoweb export autoweb-report -o tests/ --model openai/gpt-5-mini

CELL is the name of a cell's test, a part of it that fits only one, or the cell's folder. RUN is the
folder of a run: it becomes a file for each case file, with a test for each case, from its best
cell. A test is written only when it passes three times and fails without its actions. What exists
is kept, unless --force is given. Flags of pytest for that proof stand behind `--`.

The actions are code that a model wrote, and run without the sandbox. In the proof the browser
reaches only the origins of the case; later nothing holds it back. So an attempt whose cell blocked
requests is refused, unless --allow-origin names where they went.

Exit status: 0 everything was written; 1 a test was refused; 4 invalid input.
"""

_BROWSERS = ("chromium", "firefox", "webkit")
_HEAL_ABOUT = """\
Mends a pytest-playwright test that broke because the page changed. The file is run; of each test
that fails, a model sees the source, the error with Playwright's log, and the page as it was then,
and writes new action lines. Assertions, fixtures, marks, imports and every other line stay as they
are. What it writes is accepted only when the test passes three times and fails without its actions.

  autoweb heal tests/test_shop.py --model openai/gpt-5-mini
  autoweb heal tests/test_shop.py::test_login --model openai/gpt-5-mini --write

The diff goes to standard output, everything else to standard error; --write applies it. Tests are
functions of the file itself that act on `page`, as `autoweb export` writes them, or written by
hand. Flags of pytest stand behind `--`.

The new lines are code that a model wrote, and run without the sandbox. In the proof the browser
reaches only the origins that the test had before; --allow-origin names more.

Exit status: 0 every test passes, or was mended; 1 one fails and could not be mended; 4 invalid
input, or a model that cannot be asked.
"""


def add_export_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb export`."""
    parser = subparsers.add_parser(
        "export",
        help="write plain pytest-playwright tests from cells that passed",
        description=_EXPORT_ABOUT,
    )
    parser.add_argument("what", metavar="CELL|RUN", help="a cell, or the folder of a run")
    parser.add_argument(
        "-o",
        "--output",
        type=text_path,
        default=Path("tests"),
        metavar="DIR",
        help="the folder for the tests; default: tests",
    )
    add_run_option(parser)
    parser.add_argument("--model", metavar="NAME", help="take only cells of this model")
    _add_proof_arguments(parser)
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep a refused file as refused_NAME.py, which pytest does not collect",
    )
    parser.add_argument(
        "flags", nargs="*", default=[], metavar="-- FLAG", help="flags of pytest, behind `--`"
    )
    parser.set_defaults(run=run_export, with_variants=True)


def _add_proof_arguments(parser: argparse.ArgumentParser) -> None:
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


def _origins(urls: Iterable[str]) -> "frozenset[Origin]":
    """Return the origins of those texts that are addresses."""
    from pytest_autoweb.egress.request_policy import parse_origin

    return frozenset(origin for origin in map(parse_origin, urls) if origin)


def _refuse_bad_limits(args: argparse.Namespace) -> None:
    """Reject what cannot limit a proof.

    Raises:
        SettingsError: with the argument.
    """
    from pytest_autoweb.errors import SettingsError

    if args.timeout is not None and not 0 < args.timeout < float("inf"):
        raise SettingsError("--timeout takes a number of seconds above 0")
    for url in args.allow_origin:
        if not _origins([url]):
            raise SettingsError(
                f"--allow-origin takes an origin such as https://cdn.example.com, not {url!r}"
            )


class _Refusal(NamedTuple):
    """A case for which no test was written."""

    case_id: str
    why: str


class _File(NamedTuple):
    """A file to write, and the cells that it is made from."""

    target: Path
    cases: "tuple[LoadedCase, ...]"
    cells: "list[CellResult]"


def run_export(args: argparse.Namespace) -> int:
    """Write and prove a file for each case file.

    Raises:
        AutowebError: the run, the cell or a case file cannot be used, or a file exists.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.runs.saved_runs import load_run

    _refuse_bad_limits(args)
    whole_run = (Path(args.what) / "cells").is_dir()
    run = load_run(Path(args.what) if whole_run else args.folder)
    cells = [cell for cell in run.cells if args.model in (None, cell.model)]
    if not cells:
        raise SettingsError(f"{run.folder} has no cell of {args.model!r}")
    chosen = _best(cells) if whole_run else [_named(cells, args)]
    if not chosen:
        raise SettingsError(f"no cell of {run.folder} passed, so there is nothing to export")
    files = list(_files(chosen, run.folder, args.output, whole_run=whole_run))
    there = [str(file.target) for file in files if file.target.exists()]
    if there and not args.force:
        raise SettingsError(f"{', '.join(there)} exists; move it, or give --force to replace it")
    args.output.mkdir(parents=True, exist_ok=True)
    ran_in = run.info.environment.get("browser", "").partition(" ")[0]
    browser = ran_in if ran_in in _BROWSERS else _BROWSERS[0]
    refused = [refusal for file in files for refusal in _export(file, args, browser)]
    for case_id in dict.fromkeys(cell.case_id for cell in cells) if whole_run else ():
        if case_id not in {cell.case_id for cell in chosen}:
            print(f"left out {case_id}: no cell of it passed")
    for case_id, why in refused:
        print(f"refused {case_id}: {why}")
    if any(file.target.exists() for file in files) and not args.flags:
        _tell_of_browser(browser)
    return 1 if refused else 0


def _tell_of_browser(browser: str) -> None:
    """Say what plain tests need here if they were proven on a browser that they will not find."""
    from pytest_autoweb.export.proof import browser_of_the_machine

    if path := browser_of_the_machine(browser):
        print(f"proven on {path}; plain tests start Playwright's own, which is not installed:")
        print(f"        playwright install {browser}")


def _named(cells: "Sequence[CellResult]", args: argparse.Namespace) -> "CellResult":
    """Return the cell that is named.

    Raises:
        SettingsError: there is no such cell, there are several, or it did not pass.
    """
    from pytest_autoweb.errors import SettingsError

    cell = find_cell(tuple(cells), args.what, args.folder)
    if not _exportable(cell):
        raise SettingsError(
            f"{cell.case_id} on {cell.model} did not pass (it is {cell.outcome}); only cells that "
            "passed can be exported"
        )
    return cell


def _files(
    cells: "Sequence[CellResult]", run: Path, out: Path, *, whole_run: bool
) -> "Iterator[_File]":
    """Yield the files to write, one for each case file.

    Raises:
        AutowebError: a case file is not there, is not one of the project, or cannot be read.
    """
    from pytest_autoweb.cases.loader import load_case_file
    from pytest_autoweb.runs.foreign_run import case_file

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


def _best(cells: "Sequence[CellResult]") -> "list[CellResult]":
    """Return for each case the passed cell that makes the plainest test."""
    best: dict[tuple[str, str], CellResult] = {}
    for cell in sorted(filter(_exportable, cells), key=_plainness):
        best.setdefault((cell.case_path, cell.case_id), cell)
    order = {(cell.case_path, cell.case_id): number for number, cell in enumerate(cells)}
    return [best[case] for case in sorted(best, key=lambda case: order[case])]


def _exportable(cell: "CellResult") -> bool:
    """Tell whether a cell passed and has what it did, which a damaged one may lack."""
    return cell.passed and bool(cell.attempts)


def _plainness(cell: "CellResult") -> tuple[object, ...]:
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
    from pytest_autoweb.export.plain_code import NotExportable
    from pytest_autoweb.export.proof import FAILED, Prover, blocked_sentence
    from pytest_autoweb.export.written_test import stand_in, write_file

    out = args.output
    allowed = _origins(args.allow_origin)
    tests, sources, refused = _translated(file, allowed)
    if not tests:
        return refused
    cases = [source.case.resolve(stand_in(source.case.webserver)) for source in sources]
    prover = Prover(
        out,
        _secrets(sources),
        browser,
        tuple(args.flags),
        origins=allowed.union(*(_origins([c.entry_url, *c.allowed_origins]) for c in cases)),
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
        aside = file.target.with_name(f"refused_{file.target.name.removeprefix('test_')}")
        aside.write_text(write_file(tests, sources, out), encoding="utf-8")
        print(f"kept    {aside}, to look at")
    if kept := [pair for pair in pairs if pair[0].name not in wrong]:
        text = write_file([test for test, _ in kept], [source for _, source in kept], out)
        file.target.write_text(text, encoding="utf-8")
        _report(file.target, kept)
    return refused


def _proven(
    tests: "Sequence[WrittenTest]", sources: "Sequence[Source]", prover: "Prover", name: str
) -> dict[str, str]:
    """Return why tests are not accepted, by their names.

    Raises:
        AutowebError: pytest cannot run the draft.
        NotExportable: the file cannot be written.
    """
    from pytest_autoweb.export.written_test import refuse_secrets, write_file

    whole = write_file(tests, sources, prover.out)
    refuse_secrets(whole, list(prover.secrets.values()))
    return prover.why_not(name, whole, write_file(tests, sources, prover.out, actions=False))


def _translated(
    file: _File, allowed: "frozenset[Origin]"
) -> "tuple[list[WrittenTest], list[Source], list[_Refusal]]":
    """Return the tests of a file with their sources, and the cases that have no plain test."""
    from pytest_autoweb.export.plain_code import NotExportable
    from pytest_autoweb.export.written_test import Source, write_test

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


def _refuse_blocked(source: "Source", allowed: "frozenset[Origin]") -> None:
    """Refuse an attempt that asked for what its cell did not let it reach.

    Raises:
        NotExportable: nothing would stop the test from reaching it.
    """
    from pytest_autoweb.export.plain_code import NotExportable

    # The address at which a name was refused may follow it.
    named = [(one, _origins(one.split(" at ")[:1])) for one in source.attempt.blocked_origins]
    blocked = [one for one, origins in named if not origins & allowed]
    if blocked:
        raise NotExportable(
            f"its cell blocked requests to {', '.join(blocked)}, and nothing would block them in a "
            "plain test; if they may be sent, name them with --allow-origin"
        )


def _report(target: Path, written: "Sequence[tuple[WrittenTest, Source]]") -> None:
    for test, source in written:
        print(f"wrote   {target}::{test.name}  (from {source.cell.folder})")
        for check in test.left_out:
            print(f"        not checked there: {check}")
    variables = {secret.variable: "" for test, _ in written for secret in test.secrets}
    if variables:
        print(f"        it needs the environment variables {', '.join(variables)}")


def _case_of(cell: "CellResult", cases: "Sequence[LoadedCase]") -> "LoadedCase":
    from pytest_autoweb.errors import SettingsError

    for case in cases:
        if case.id == cell.case_id:
            return case
    raise SettingsError(f"{cell.case_path} has no case {cell.case_id!r} any more")


def _secrets(sources: "Sequence[Source]") -> dict[str, str]:
    """Return the values that the tests need, by the environment variables that hold them.

    Raises:
        CaseError: a variable is not set.
    """
    from pytest_autoweb.cases.case import resolve_secrets
    from pytest_autoweb.export.written_test import stand_in

    values: dict[str, str] = {}
    for source in sources:
        case = source.case.resolve(stand_in(source.case.webserver))
        for name, value in resolve_secrets(case, os.environ, source.case.path).items():
            values[case.secrets[name].env or name.upper()] = value
    return values


def file_name(words: str) -> str:
    """Return the name of a file that pytest collects and Python can import."""
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in words)
    return f"test_{plain}.py"


def add_heal_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb heal`."""
    parser = subparsers.add_parser(
        "heal",
        help="mend an exported test that broke, as a diff",
        description=_HEAL_ABOUT,
    )
    parser.add_argument("test", metavar="FILE[::TEST]", help="the file, or one test of it")
    add_model_arguments(parser)
    parser.add_argument("--write", action="store_true", help="apply the diff to the file")
    parser.add_argument(
        "--attempts",
        type=int,
        default=3,
        metavar="N",
        help="how often the model is asked for each test; default: 3",
    )
    _add_proof_arguments(parser)
    parser.add_argument(
        "--in-project",
        action="store_true",
        help="run the file with the project's conftest files and pytest settings; without this, "
        "it runs with pytest-playwright alone, as exported tests can",
    )
    parser.add_argument(
        "--browser",
        choices=_BROWSERS,
        default="chromium",
        help="the browser of the tests; default: chromium",
    )
    add_json_argument(parser)
    parser.add_argument(
        "flags", nargs="*", default=[], metavar="-- FLAG", help="flags of pytest, behind `--`"
    )
    parser.set_defaults(run=run_heal)


def run_heal(args: argparse.Namespace) -> int:
    """Run the file, mend what fails, and print or write the difference.

    Raises:
        AutowebError: the file or the model cannot be used, or pytest cannot run the file.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.results import Usage
    from pytest_autoweb.runs.saving import write_text_atomic

    path, _, only = args.test.partition("::")
    file = Path(path)
    if args.attempts < 1:
        raise SettingsError("--attempts must be 1 or more")
    _refuse_bad_limits(args)
    data = _read(file)
    newline = "\r\n" if b"\r\n" in data else "\n"
    text = data.decode("utf-8").replace("\r\n", "\n")
    with asked_model(args) as (client, spec):
        tests, mended = _healer(args, file, text, client, spec).heal(file, text, only)
    diff = "".join(_diff(file, text, mended))
    if args.write and diff:
        if file.read_bytes() != data:
            raise SettingsError(f"{file} was changed meanwhile; nothing was written")
        write_text_atomic(file, mended.replace("\n", newline))
    usage = Usage.total(test.usage for test in tests)
    if args.json:
        fields = {"file": file, "written": bool(args.write and diff), "diff": diff}
        print_json("healing", {**fields, "tests": tests, "usage": usage})
    else:
        print(diff, end="")
        sys.stdout.flush()
        _tell(tests, file, wrote=args.write)
        if usage.calls:
            print(spent(usage), file=sys.stderr)
    return int(any(test.verdict == "not healed" for test in tests))


def _read(file: Path) -> bytes:
    from pytest_autoweb.errors import SettingsError

    try:
        data = file.read_bytes()
        data.decode("utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is not written in UTF-8") from None
    ends = data.count(b"\r\n")
    if data.count(b"\r") != ends or ends not in (0, data.count(b"\n")):
        raise SettingsError(f"{file} has line ends of several kinds")
    return data


def _healer(
    args: argparse.Namespace, file: Path, text: str, client: "Client", spec: "ModelSpec"
) -> "Healer":
    """Return what mends, with the secrets that the file reads from the environment kept out.

    Raises:
        SettingsError: the file is not Python.
    """
    from pytest_autoweb.export.action_lines import texts_of
    from pytest_autoweb.export.proof import Healer, Prover
    from pytest_autoweb.redaction import Redactor, redact_shapes

    names, said = dict.fromkeys(_variables(file, text)), [*texts_of(text)]
    for conftest in _conftests(file) if args.in_project else ():
        source = conftest.read_text("utf-8", "replace")
        names |= dict.fromkeys(_variables(conftest, source))
        said += texts_of(source)
    values = {name: os.environ[name] for name in names if name in os.environ}
    redactor = Redactor(values)
    return Healer(
        prover=Prover(
            file.parent,
            values,
            args.browser,
            tuple(args.flags),
            args.in_project,
            origins=_origins([*args.allow_origin, *values.values(), *said]),
            seconds=args.timeout,
        ),
        client=client,
        spec=spec,
        redact=lambda said: redact_shapes(redactor(said)),
        attempts=args.attempts,
        say=tell_progress,
    )


def _variables(file: Path, text: str) -> list[str]:
    """Return the environment variables that a file reads.

    Raises:
        SettingsError: the file is not Python.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.export.action_lines import environment_names

    try:
        return list(environment_names(text))
    except SyntaxError as error:
        raise SettingsError(f"{file}:{error.lineno}: this is not Python: {error.msg}") from None


def _conftests(file: Path) -> Iterator[Path]:
    """Yield the conftest files that pytest reads for a test below the working folder."""
    for folder in file.resolve().parents:
        if folder.is_relative_to(Path.cwd()) and (folder / "conftest.py").is_file():
            yield folder / "conftest.py"


def _diff(file: Path, before: str, after: str) -> Iterator[str]:
    name = file.as_posix().lstrip("/")
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in unified_diff(old, new, f"a/{name}", f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _tell(tests: "list[HealedTest]", file: Path, *, wrote: bool) -> None:
    for test in tests:
        why = f": {test.reason}" if test.reason else ""
        tell_progress(f"{test.verdict:<10}  {file}::{test.name}{why}")
    if any(test.verdict == "healed" for test in tests):
        tell_progress(f"wrote {file}" if wrote else "nothing was written; --write applies the diff")
