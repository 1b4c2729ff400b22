"""The `autoweb` command: everything that is not a test run."""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from textwrap import fill
from typing import Any, NoReturn

from pytest_autoweb import __version__
from pytest_autoweb.commands import (
    ask_model,
    compare,
    export,
    gate,
    import_cases,
    init,
    models,
    prove,
    publish,
    record_case,
    saved_run,
    store,
    verify,
)
from pytest_autoweb.commands.arguments import kept_for_json
from pytest_autoweb.errors import AutowebError, first_line, near_miss, nearest
from pytest_autoweb.interruption import like_ctrl_c
from pytest_autoweb.report.plain_stream import plain_streams

COMMANDS = (
    init.add_init_parser,
    init.add_schema_parser,
    record_case.add_parser,
    import_cases.add_parser,
    publish.add_export_benchmark_parser,
    prove.add_prove_parser,
    prove.add_explore_parser,
    saved_run.add_show_report_parser,
    saved_run.add_rerun_parser,
    saved_run.add_trace_parser,
    export.add_export_parser,
    export.add_heal_parser,
    ask_model.add_analyze_parser,
    compare.add_merge_reports_parser,
    publish.add_publish_parser,
    models.add_models_parser,
    models.add_agents_parser,
    ask_model.add_prompts_parser,
    compare.add_compare_parser,
    verify.add_verify_parser,
    gate.add_gate_parser,
    compare.add_comment_parser,
    verify.add_judge_labels_parser,
    ask_model.add_locate_parser,
    store.add_store_parser,
    store.add_dashboard_parser,
)

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


def build_parser() -> argparse.ArgumentParser:
    """Build the command line, with a help text that teaches its use."""
    parser = CommandParser(
        prog="autoweb",
        description="Which model can drive my web app? Tools around `pytest --autoweb-models`.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"pytest-autoweb {__version__}")
    commands: Any = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add_parser in COMMANDS:
        add_parser(commands)
    return parser


def command_parser(parser: argparse.ArgumentParser, name: str) -> CommandParser:
    """Return the parser of one command."""
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
        with like_ctrl_c(), _variants_for(parsed), keeping:
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
    parser = build_parser()
    parsed, rest = parser.parse_known_args(words)
    behind = words[words.index("--") + 1 :] if "--" in words else []
    if rest and behind and rest in (["--", *behind], behind) and hasattr(parsed, "flags"):
        parsed.flags += behind
    elif rest:
        command_parser(parser, parsed.command).refuse(rest)
    return parsed


def _variants_for(parsed: argparse.Namespace) -> AbstractContextManager[None]:
    """Let the commands that say so know the variants that the project adds."""
    if not getattr(parsed, "with_variants", False):
        return nullcontext()
    # Late, because it loads whatever can be registered and starts pytest; few commands need it.
    from pytest_autoweb.registration import project_variants

    return project_variants(getattr(parsed, "rootdir", None))


if __name__ == "__main__":
    sys.exit(main())
