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
from pytest_autoweb.base.errors import AutowebError, first_line, listed, near_miss, nearest
from pytest_autoweb.base.interruption import like_ctrl_c
from pytest_autoweb.cli.kept_stdout import kept_for_json
from pytest_autoweb.report.plain_stream import plain_streams


class Command(NamedTuple):
    """What `autoweb --help` needs of a command, without loading it."""

    module: str
    """The module in `commands/` whose `add_arguments` declares what the command takes."""
    help: str
    """One line for the list of commands; empty for a command that is not listed."""
    declare: str = "add_arguments"
    """The function that does, where a module has several commands."""


COMMANDS = {
    "init": Command("init", "write a first case for your page, prove it, and set the project up"),
    "demo": Command("demo", "compare two recorded models in a small shop, without a key"),
    "record": Command("record_case", "turn what you do in a browser into a proven case"),
    "explore": Command(
        "explore_site", "have a model propose cases for a site, and keep those that are proven"
    ),
    "prove": Command("prove", "show that the checks of cases notice what is not done"),
    "try": Command("try_task", "have models do one task on a page, without a case file"),
    "run show": Command("show_report", "write the report of a run again, and open it"),
    "run ctl": Command("steer", "pause a run that goes on, stop a model of it, change its caps"),
    "run wait": Command(
        "detached_runs", "wait for the end of a run that goes on", "add_wait_arguments"
    ),
    "run stop": Command("detached_runs", "end a run that goes on", "add_stop_arguments"),
    "run view": Command("view_run", "watch a run that goes on, on a local page"),
    "run rerun": Command("rerun", "run one cell again, in view or with another model"),
    "run trace": Command("trace", "open Playwright's trace of a cell"),
    "run compare": Command(
        "compare", "compare two runs, or the models of one run, on the same cases"
    ),
    "run blame": Command(
        "blame", "tell who made a run worse than an earlier one: app, model or harness"
    ),
    "run rejudge": Command(
        "judge_again", "judge a run again, offline, by the checks as they are now"
    ),
    "run gate": Command("gate", "apply gates to a finished or merged run, or comment on it"),
    "run publish": Command("publish", "publish runs as static pages with a leaderboard"),
    "run merge": Command("merge_reports", "merge the packed reports of shards"),
    "run analyze": Command("analyze", "ask a model what went wrong in a run"),
    "run labels": Command("judge_labels", "measure how far a judging model agrees with people"),
    "export": Command("export", "write plain pytest-playwright tests from cells that passed"),
    "heal": Command("heal", "mend an exported test that broke, as a diff"),
    "benchmark import": Command("import_cases", "write case files for tasks of another benchmark"),
    "benchmark pack": Command("export_benchmark", "pack cases with all that they rest on"),
    "benchmark check": Command(
        "export_benchmark", "compare what was packed with its checksums", "add_check_arguments"
    ),
    "benchmark stress": Command(
        "stress", "measure success, robustness, resistance and restraint of models"
    ),
    "models": Command("models", "list, check and fetch models"),
    "agents": Command("agents", "list or install agents of other people, for --autoweb-agent"),
    "db sync": Command("database_runs", "write runs into the database", "add_sync_arguments"),
    "db prune": Command(
        "database_runs", "remove old runs from the database", "add_prune_arguments"
    ),
    "db serve": Command("dashboard", "show trends, failures and runs in the browser"),
    "debug settings": Command("show_settings", "list every setting with its default and meaning"),
    "debug prompts": Command("show_prompts", "print what a model would be sent for a case"),
    "debug locate": Command(
        "locate", "find an element of a page by its description, with a vision model"
    ),
    "debug schema": Command("schema", "print the JSON Schema of a file format"),
    "mcp": Command("serve_mcp", ""),
    "completion": Command("completion", ""),
    "validate": Command("validate", ""),
}
"""The commands by name, in the order of the list of commands."""


class Group(NamedTuple):
    """Commands on the same things."""

    help: str
    about: str
    """Its description, with examples."""


GROUPS = {
    "run": Group(
        "look at a run, and run, judge, compare or publish it",
        """\
What can be done with a saved run. RUN is its folder, or the number or name under which it was
saved; without it, the latest is meant. CELL is the name of a test, or a part that fits only one.

  autoweb run show
  autoweb run rerun login --headed
  autoweb run compare main autoweb-report

Exit status: that of the action; its own help says what it means.
""",
    ),
    "benchmark": Group(
        "take over the tasks of other benchmarks, pack your own, and stress models",
        """\
Cases that travel, and boards of models.

  autoweb benchmark import --help
  autoweb benchmark pack cases -o shop-1.0.zip
  autoweb benchmark check shop-1.0.zip
  autoweb benchmark stress cases --models a,b

Exit status: that of the action; its own help says what it means.
""",
    ),
    "db": Group(
        "keep runs in a database, and show their trends",
        """\
Runs in SQLite or Postgres, as `pytest --autoweb-database` writes them, for queries and trends.

  autoweb db sync
  autoweb db serve

Exit status: that of the action; its own help says what it means.
""",
    ),
    "debug": Group(
        "",
        """\
A look inside, for people who measure or extend pytest-autoweb.

  autoweb debug settings
  autoweb debug prompts --help

Exit status: that of the action; its own help says what it means.
""",
    ),
}
"""The first words of commands of two words; one without help is not listed."""

FORMER = {
    "show-report": "run show",
    "rerun": "run rerun",
    "trace": "run trace",
    "compare": "run compare",
    "verify": "run rejudge",
    "verify --controls": "prove --quick",
    "gate": "run gate",
    "comment": "run gate --comment",
    "publish": "run publish",
    "merge-reports": "run merge",
    "analyze": "run analyze",
    "judge-labels": "run labels",
    "import": "benchmark import",
    "export-benchmark": "benchmark pack",
    "export-benchmark --verify": "benchmark check",
    "store": "db",
    "dashboard": "db serve",
    "prompts": "debug prompts",
    "locate": "debug locate",
    "schema": "debug schema",
}
"""Names of earlier versions, some of them with a flag, and the present ones."""

EPILOG = """\
A first case for a page, and the help of a command:

  autoweb init http://localhost:8000/
  autoweb run rerun --help

Cells are run by pytest; `pytest --help` lists the everyday --autoweb-* flags under the heading
"autoweb":

  pytest cases --autoweb-models=openai/gpt-5-mini,ollama_chat/qwen3:8b

For coding agents: `autoweb mcp --help`.

Answers by question: https://github.com/pytest-autoweb/pytest-autoweb/blob/main/docs/how-do-i.md

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
    if what != "COMMAND":
        return f"{what or 'argument'}: there is no {given!r}{near_miss(given, choices)}"
    whole = {name.rpartition(" ")[2]: name for name in reversed(COMMANDS)}
    whole |= FORMER | {name: name for name in choices}
    meant = nearest(given, whole)
    guess = f"; did you mean `autoweb {whole[meant]}`?" if meant else ""
    named = listed(name for name in choices if name != "debug")
    return f"COMMAND: there is no {given!r}{guess} (there are: {named})"


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
    actions: dict[str, Any] = {}
    for name, command in COMMANDS.items():
        group, _, action = name.rpartition(" ")
        if group and group not in actions:
            actions[group] = _add_group(commands, group)
        # What has no help is not listed.
        listed: dict[str, Any] = {"help": command.help} if command.help else {}
        added = (actions[group] if group else commands).add_parser(action, **listed)
        if name in whole:
            module: Any = import_module(f"pytest_autoweb.cli.commands.{command.module}")
            getattr(module, command.declare)(added)
    return parser


def _add_group(commands: Any, name: str) -> Any:
    """Add the first word of commands of two words, and return what takes the second."""
    group = GROUPS[name]
    # One without a help text can be given, but is not listed.
    listing = {"help": group.help} if group.help else {}
    added = commands.add_parser(name, description=group.about, **listing)
    return added.add_subparsers(dest="action", required=True, metavar="ACTION")


def _passes_flags_on(parser: argparse.ArgumentParser, name: str, words: Sequence[str]) -> bool:
    if not name:
        return False
    found: Any = command_parser(parser, name)
    # What is imported has a name of its own, and takes arguments of its own.
    for sources in (a.choices for a in found._actions if a.dest == "source"):
        found = next((sources[word] for word in words if word in sources), found)
    return any(a.dest == "flags" for a in found._actions)


def command_parser(parser: argparse.ArgumentParser, name: str) -> CommandParser:
    """Return the parser of a command, by its one word or its two."""
    found: Any = parser
    for word in name.split():
        (choices,) = (a.choices for a in found._actions if a.dest in ("command", "action"))
        found = choices[word]
    assert isinstance(found, CommandParser)
    return found


def present_words(words: Sequence[str]) -> tuple[list[str], str]:
    """Return a command line in the present names, and what to say of one of earlier versions.

    Args:
        words: what stands behind `autoweb`.
    """
    for old in sorted(FORMER, key=len, reverse=True):
        name, _, flag = old.partition(" ")
        if words[:1] != [name]:
            continue
        rest = [word for word in words[1:] if word != flag]
        if flag and len(rest) == len(words) - 1:
            rest = [word.removeprefix(f"{flag}=") for word in rest]
            if rest == words[1:]:
                continue
        told = f"`autoweb {old}` is an old name, read for one more version; use `autoweb "
        return [*FORMER[old].split(), *rest], f"{told}{FORMER[old]}`"
    return list(words), ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input is one sentence and exit code 4, as with pytest."""
    for stream in (sys.stdout, sys.stderr):
        # Where a terminal knows only ASCII, a report with other letters is better than none.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with plain_streams():
        words, told = present_words(sys.argv[1:] if arguments is None else list(arguments))
        if told:
            print(f"autoweb: {told}", file=sys.stderr)
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        parsed = _parsed(words)
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

    argparse itself would take the first of them for a cell, or leave them over.
    """
    # No option before the command takes a value, so that the first plain words are its name.
    plain = [word for word in words if not word.startswith("-")][:2]
    name = next((n for n in (" ".join(plain), *plain[:1]) if n in COMMANDS), "")
    parser = build_parser((name,))
    passed = "--" in words and _passes_flags_on(parser, name, words)
    at = words.index("--") if passed else len(words)
    parsed, rest = parser.parse_known_args(words[:at])
    if at < len(words):
        parsed.flags = [*parsed.flags, *words[at + 1 :]]
    if rest:
        command_parser(parser, name).refuse(rest)
    return parsed
