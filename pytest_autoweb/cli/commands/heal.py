"""`autoweb heal`: give new action lines to an exported test that broke, under the same proof."""

import argparse
import os
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.redaction import Redactor, redact_shapes
from pytest_autoweb.cli.arguments import add_pytest_flags, tell_progress
from pytest_autoweb.cli.asked_model import add_model_arguments, asked_model, spent
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.proof_arguments import (
    BROWSERS,
    add_proof_arguments,
    origins_of,
    refuse_bad_limits,
)
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Usage
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.tools.export.action_lines import environment_names, texts_of
from pytest_autoweb.tools.export.healing import HealedTest, Healer
from pytest_autoweb.tools.export.proof import Prover

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _HEAL_ABOUT
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
    add_proof_arguments(parser)
    parser.add_argument(
        "--in-project",
        action="store_true",
        help="run the file with the project's conftest files and pytest settings; without this, "
        "it runs with pytest-playwright alone, as exported tests can",
    )
    parser.add_argument(
        "--browser",
        choices=BROWSERS,
        default="chromium",
        help="the browser of the tests; default: chromium",
    )
    add_json_argument(parser)
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the file, mend what fails, and print or write the difference.

    Raises:
        AutowebError: the file or the model cannot be used, or pytest cannot run the file.
    """
    path, _, only = args.test.partition("::")
    file = Path(path)
    if args.attempts < 1:
        raise SettingsError("--attempts must be 1 or more")
    refuse_bad_limits(args)
    data = _read(file)
    newline = "\r\n" if b"\r\n" in data else "\n"
    text = data.decode("utf-8").replace("\r\n", "\n")
    with asked_model(args) as (client, spec):
        tests, mended = _healer(args, file, text, client, spec).heal(file, text, only)
    diff = "".join(_diff(file, text, mended))
    if args.write and diff:
        if file.read_bytes() != data:
            raise SettingsError(f"{file} was changed in the meantime; nothing was written")
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
    args: argparse.Namespace, file: Path, text: str, client: Client, spec: ModelSpec
) -> Healer:
    """Return what mends, with the secrets that the file reads from the environment kept out.

    Raises:
        SettingsError: the file is not Python.
    """
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
            origins=origins_of([*args.allow_origin, *values.values(), *said]),
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


def _tell(tests: list[HealedTest], file: Path, *, wrote: bool) -> None:
    for test in tests:
        why = f": {test.reason}" if test.reason else ""
        tell_progress(f"{test.verdict:<10}  {file}::{test.name}{why}")
    if any(test.verdict == "healed" for test in tests):
        tell_progress(f"wrote {file}" if wrote else "nothing was written; --write applies the diff")
