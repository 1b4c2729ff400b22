"""`autoweb import`: tasks of other benchmarks as case files."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_MINIWOB = """\
Writes case files for the tasks of MiniWoB++: one case for each task and seed. Every page is opened
in a browser to read its goal; it also gives the reward, on which the case's check rests. Most
tasks come with an oracle, so that `autoweb verify --controls` can prove them.

  autoweb import miniwob
  autoweb import miniwob --tasks click-button,login-user --seeds 10 -o cases/wob

The pages are those of the package miniwob (pip install 'pytest-autoweb[demo]'), or of --pages DIR,
the folder `html` of a checkout. Seeds are those of the pages (Math.seedrandom).
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb import` and its sources."""
    parser = subparsers.add_parser(
        "import",
        help="write case files for the tasks of another benchmark",
        description="Writes case files for the tasks of another benchmark.",
        epilog="examples:\n\n  autoweb import miniwob --tasks click-button,login-user\n"
        "  autoweb import jsonl tasks.jsonl --map task=ques,url=web\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sources = parser.add_subparsers(dest="source", required=True, metavar="SOURCE")
    _add_miniwob(sources)


def _add_miniwob(sources: "Subparsers") -> None:
    parser = sources.add_parser(
        "miniwob",
        help="MiniWoB++: 125 small tasks by seed",
        description=_MINIWOB,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_output(parser, "cases/miniwob")
    parser.add_argument(
        "--tasks", default="", metavar="A,B", help="these tasks; default: BrowserGym's 125"
    )
    parser.add_argument(
        "--seeds", type=_seeds, default="3", metavar="N|A-B", help="seeds 1 to N (default 3), or A-B"
    )
    parser.add_argument("--pages", type=Path, metavar="DIR", help="the folder html of MiniWoB++")
    parser.add_argument(
        "--reward",
        choices=("positive", "full"),
        default="positive",
        help="the reward that passes: any positive one, as for BrowserGym (default), or the full "
        "one, which a few tasks cannot give",
    )
    parser.set_defaults(run=_import_miniwob)


def _add_output(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(default), metavar="DIR",
        help=f"the folder of the files; default: {default}",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")


def _seeds(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    try:
        start, end = (int(first), int(last)) if dash else (1, int(first))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seeds and no A-B") from None
    if not 0 <= start <= end or end - start >= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 1 and 1000 seeds")
    return list(range(start, end + 1))


def _import_miniwob(args: argparse.Namespace) -> int:
    """Read the goals and write the files.

    Raises:
        AutowebError: the pages are not there, a task is unknown, or a file cannot be written.
    """
    from pytest_autoweb.importing import miniwob
    from pytest_autoweb.importing.case_files import write_case_files
    from pytest_autoweb.report.wording import one_line

    folder = miniwob.pages_folder(args.pages)
    tasks = miniwob.chosen_tasks(folder, miniwob.task_names(args.tasks))
    with _browser() as browser:
        goals = miniwob.read_goals(
            browser, folder, tasks, args.seeds, lambda text: print(one_line(text), file=sys.stderr)
        )
    files = miniwob.case_files(folder, goals, args.seeds, args.reward, packaged=args.pages is None)
    count = write_case_files(args.output, files, overwrite=args.overwrite)
    without = sorted(set(tasks) - set(miniwob.solutions()))
    _tell(args.output, list(files), count)
    if without:
        print(f"without an oracle: {', '.join(without)}")
    return 0


def _tell(folder: Path, names: list[str], count: int) -> None:
    for name in names:
        print(f"wrote   {folder / name}")
    print(f"{count} cases. Next:\n\n  autoweb verify --controls {folder}")
    print(f"  pytest {folder} --autoweb-models=openai/gpt-5-mini")


@contextmanager
def _browser() -> "Iterator[Browser]":
    from playwright.sync_api import Error, sync_playwright

    from pytest_autoweb.egress.chromium import browser_environ, launch_args
    from pytest_autoweb.errors import BrowserError

    with sync_playwright() as playwright:
        chromium = playwright.chromium
        base = {"env": browser_environ(os.environ)}
        args = launch_args(base, playwright_executable=chromium.executable_path)
        try:
            browser = chromium.launch(**args)
        except Error as error:
            raise BrowserError(f"no browser can be started: {error}") from None
        with browser:
            yield browser
