"""The `autoweb` command: everything that is not a test run."""

import argparse
import io
import os
import re
import sys
from collections.abc import Container, Sequence
from contextlib import nullcontext
from importlib import import_module
from textwrap import fill
from typing import Any, NamedTuple, NoReturn

from pytest_autoweb import __version__
from pytest_autoweb.base.errors import AutowebError, first_line, near_miss, nearest
from pytest_autoweb.base.interruption import like_ctrl_c
from pytest_autoweb.cli.kept_stdout import kept_for_json
from pytest_autoweb.report.plain_stream import plain_streams


class Command(NamedTuple):
    """What `autoweb --help` needs of a command, without loading it."""

    module: str
    """The module in `commands/` whose `add_arguments` declares what the command takes."""
    help: str
    """One line for the list of commands; empty for a command that is not listed."""


COMMANDS = {
    "init": Command("init", "write a first case for your page, prove it, and set the project up"),
    "schema": Command("schema", "print the JSON Schema of a file format"),
    "record": Command("record_case", "turn what you do in a browser into a proven case"),
    "import": Command("import_cases", "write case files for the tasks of another benchmark"),
    "export-benchmark": Command(
        "export_benchmark", "pack cases with all they rest on, or verify such an archive"
    ),
    "prove": Command("prove", "show that the checks of cases notice what is not done"),
    "explore": Command(
        "explore_site", "have a model propose cases for a site, and keep those that are proven"
    ),
    "show-report": Command("show_report", "write the report of a run folder again, and open it"),
    "rerun": Command("rerun", "run one cell of a saved run again, in view or with another model"),
    "trace": Command("trace", "open Playwright's trace of a cell"),
    "export": Command("export", "write plain pytest-playwright tests from cells that passed"),
    "heal": Command("heal", "mend an exported test that broke, as a diff"),
    "analyze": Command("analyze", "ask a model what went wrong in a saved run"),
    "merge-reports": Command("merge_reports", "merge the packed reports of shards"),
    "publish": Command("publish", "publish runs as static pages with a leaderboard"),
    "models": Command("models", "list, check and fetch models"),
    "agents": Command("agents", "list or install agents of other people, for --autoweb-agents"),
    "prompts": Command("show_prompts", "print what a model would be sent for a case"),
    "compare": Command("compare", "compare two runs, or the models of one run, on the same cases"),
    "verify": Command("verify", "judge a saved run again, offline"),
    "gate": Command("gate", "apply gates to a finished or merged run"),
    "comment": Command("comment", "write a comment for a pull request about a run"),
    "judge-labels": Command("judge_labels", "measure how far a judging model agrees with people"),
    "locate": Command(
        "locate", "find an element of a page by its description, with a vision model"
    ),
    "store": Command("store", "write runs into a database, or remove old ones from it"),
    "dashboard": Command("dashboard", "show trends, failures and runs of a store in the browser"),
    "validate": Command("validate", ""),
    "completion": Command("completion", ""),
}
"""The commands by name, in the order of the list of commands."""

EPILOG = """\
A first case for a page, and the help of a command:

  autoweb init http://localhost:8000/
  autoweb record --help

Cells are run by pytest; `pytest --help` lists every --autoweb-* flag under the heading "autoweb":

  pytest cases --autoweb-models=openai/gpt-5-mini,ollama_chat/qwen3:8b

Exit status: 0 done; 1 what was asked for is not so (the help of each command says what that means);
4 invalid input; 130 interrupted.
"""


class Paragraphs(argparse.HelpFormatter):
    """Fills paragraphs of help to the terminal's width, and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            paragraph
            if any(line.startswith(" ") for line in paragraph.splitlines())
            else fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
            for paragraph in text.strip("\n").split("\n\n")
        )


class CommandParser(argparse.ArgumentParser):
    """A command line that ends with 4 if it is wrong, as pytest does, and says where help is."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Paragraphs, **settings})

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where there are examples, and exit with 4."""
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: {_guided(message)}; `{self.prog} --help` shows examples\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse arguments that no option takes, with the option that was probably meant."""
        name = unknown[0].partition("=")[0]
        meant = nearest(name, self._option_string_actions) if name.startswith("-") else None
        guess = f"; did you mean {meant}?" if meant else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{guess}")


_INVALID_CHOICE = re.compile(r"(?:argument (\S+): )?invalid choice: '(.*?)' \(choose from (.*)\)")


def _guided(message: str) -> str:
    """Return argparse's message, with the nearest choice where a word is none."""
    if (found := _INVALID_CHOICE.fullmatch(message)) is None:
        return message
    what, given, listed_choices = found.groups()
    choices = [choice.strip(" '") for choice in listed_choices.split(",")]
    return f"{what or 'argument'}: there is no {given!r}{near_miss(given, choices)}"


def build_parser(whole: Container[str] = COMMANDS) -> argparse.ArgumentParser:
    """Build the command line, with a help text that teaches its use.

    Args:
        whole: the names of the commands whose modules are loaded, so that they take their
            arguments; the others are only listed.
    """
    parser = CommandParser(
        prog="autoweb",
        description="Which model can drive my web app? Tools around `pytest --autoweb-models`.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"pytest-autoweb {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        # What has no help is not listed.
        listed: dict[str, Any] = {"help": command.help} if command.help else {}
        added = commands.add_parser(name, **listed)
        if name in whole:
            module: Any = import_module(f"pytest_autoweb.cli.commands.{command.module}")
            module.add_arguments(added)
    return parser


def command_parser(parser: argparse.ArgumentParser, name: str) -> CommandParser:
    (commands,) = (action for action in parser._actions if action.dest == "command")
    choices: Any = commands.choices
    found = choices[name]
    assert isinstance(found, CommandParser)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input is one sentence and exit code 4, as with pytest."""
    for stream in (sys.stdout, sys.stderr):
        # Where a terminal knows only ASCII, a report with other letters is better than none.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with plain_streams():
        return _run(sys.argv[1:] if arguments is None else list(arguments))


def _run(words: list[str]) -> int:
    parsed = _parsed(words)
    try:
        keeping = kept_for_json() if getattr(parsed, "json", False) else nullcontext()
        with like_ctrl_c(), keeping:
            code = int(parsed.run(parsed))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; the interpreter must not try to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except AutowebError as error:
        print(f"autoweb: {error}", file=sys.stderr)
        return 4
    except OSError as error:
        # A full disk, a folder that cannot be read or written; most errors name the file.
        print(f"autoweb: {first_line(error)}", file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130


def _parsed(words: list[str]) -> argparse.Namespace:
    """Parse the arguments; what stands behind `--` goes to the commands that pass flags on.

    argparse itself gives a command nothing behind `--` once an option stands before it.
    """
    # No option before the command takes a value, so that the first plain word is its name.
    name = [word for word in words if not word.startswith("-")][:1]
    parser = build_parser(name)
    parsed, rest = parser.parse_known_args(words)
    behind = words[words.index("--") + 1 :] if "--" in words else []
    if rest and behind and rest in (["--", *behind], behind) and hasattr(parsed, "flags"):
        parsed.flags += behind
    elif rest:
        # Not `parsed.command`, which an option `--command` of the command replaces.
        command_parser(parser, name[0]).refuse(rest)
    return parsed
