"""`autoweb try`: have models do one task on a page, without a case file."""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from pytest_autoweb.base.errors import AutowebError, SettingsError, first_line
from pytest_autoweb.base.interruption import run_pytest
from pytest_autoweb.cli.arguments import add_pytest_flags
from pytest_autoweb.cli.entry_page import checked_url
from pytest_autoweb.report.readiness_text import readiness_lines
from pytest_autoweb.results.analysis.readiness import readiness_of
from pytest_autoweb.results.runs.loaded_run import load_run
from pytest_autoweb.session.project_variants import named_models

_RUN = "autoweb-try"
_ENDED = (0, 1, 2)
"""Exit statuses of sessions that may have run cells."""
_ABOUT = """\
Has models do one task on a page, and shows what they did. Nothing is written but the run, which
goes to autoweb-try/. Without --expect-text or --expect-url nobody checks the outcome, so the cell
is `ungraded`, whatever the model says of itself; `autoweb init` writes a case with checks.

  autoweb try http://localhost:8000/ "Log in as ana" --models ollama_chat/qwen3:8b
  autoweb try http://localhost:8000/ "Buy tea" --models a,b --expect-text "Thank you"
  autoweb try http://localhost:8000/ "Buy tea" --models a --agents codegen,act,webmcp --repeats 5

With several agents a table at the end compares them (success, tokens, calls, cost and time of a
cell), with a paired test for each two and the elements at which they failed.

Without --models, those of the project's settings are taken. Flags of pytest stand behind `--`.

Exit status: that of pytest: 0 the cells ended, and passed if they could be graded; 1 one failed or
was broken; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _ABOUT
    parser.add_argument("url", metavar="URL", help="the page on which the task starts")
    parser.add_argument("task", metavar="TASK", help="the task, in words")
    parser.add_argument(
        "--models", metavar="A,B", help="the models; default: those of the project's settings"
    )
    parser.add_argument(
        "--agents",
        "--agent",
        metavar="A,B",
        help="who drives the browser with them; several are compared at the end",
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="how often each of them does the task"
    )
    parser.add_argument(
        "--expect-text", metavar="TEXT", help="a text that has to be visible at the end"
    )
    parser.add_argument(
        "--expect-url", metavar="GLOB", help="the address at the end, such as '**/account'"
    )
    parser.add_argument("--headed", action="store_true", help="show the browser")
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the case to a file of its own, run it, and return pytest's exit status.

    Raises:
        SettingsError: the address cannot be used, or no model is named.
    """
    entry_url = checked_url(args.url)
    models = tuple(args.models.split(",")) if args.models else named_models(args.flags)
    if all(name.startswith("builtin/") for name in models):
        raise SettingsError("a task needs a model: --models openai/gpt-5-mini; controls solve none")
    case: dict[str, Any] = {
        "id": "try",
        "entry_url": entry_url,
        "user_task": args.task,
    }
    wanted = {"text": args.expect_text, "url": args.expect_url}
    if checks := [{kind: value} for kind, value in wanted.items() if value]:
        case["expect"] = checks
    with tempfile.TemporaryDirectory(prefix="autoweb-try-") as folder:
        file = Path(folder) / "try.yaml"
        file.write_text(
            yaml.safe_dump({"version": 1, "cases": [case]}, allow_unicode=True), encoding="utf-8"
        )
        flags = [f"--autoweb-cases-file={file}", f"--autoweb-report={_RUN}"]
        flags += [f"--autoweb-models={args.models}"] if args.models else []
        flags += [f"--autoweb-agent={args.agents}"] if args.agents else []
        flags += [f"--autoweb-repeat={args.repeats}"] if args.repeats else []
        flags += ["--headed"] if args.headed else []
        command = ["-m", "pytest", *flags, "--autoweb-stdout", *args.flags]
        print("$ python " + shlex.join(command), flush=True)
        status = run_pytest([sys.executable, *command])
    if status in _ENDED:
        _print_readiness()
    return status


def _print_readiness() -> None:
    """Print how several agents compare, and where they failed; nothing with a single one."""
    try:
        run = load_run(_RUN)
    except AutowebError as error:
        print(f"autoweb: {first_line(error)}", file=sys.stderr)
        return
    if (found := readiness_of(run.cells)) is not None:
        print("", *readiness_lines(found), sep="\n")
