"""The help of each command: examples that can be typed, exit codes, lines that fit a terminal."""

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from pytest_autoweb.cli.command_line import build_parser, main

EXAMPLE = re.compile(r"^  (autoweb .*)$", re.MULTILINE)
COLUMNS = 80


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser itself, its commands and their actions."""
    yield parser.prog, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from commands(child)


NAMES = [name for name, _ in commands(build_parser())]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_has_two_examples_and_its_exit_codes_and_fits_a_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", f"{COLUMNS}")
    parser = build_parser()
    command = dict(commands(parser))[name]
    text = command.format_help()

    examples = EXAMPLE.findall(text)
    assert sum(example.startswith(name) for example in examples) >= 2
    for example in examples:
        words = shlex.split(re.split(r" [|>] |   ", example)[0])
        if "--help" not in words:
            parser.parse_args(words[1 : words.index("--") if "--" in words else None])
    assert re.search(r"^Exit status: ", text, re.MULTILINE)
    assert [a.dest for a in command._actions if not a.help and a.metavar != "ACTION"] == (
        ["command"] if name == "autoweb" else []
    )
    long = [line for line in text.splitlines() if len(line) > COLUMNS and line[:1] != " "]
    assert long == []


def test_a_wrong_command_line_says_what_is_wrong_and_where_examples_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "rerun"])

    assert ended.value.code == 4
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        "autoweb run rerun: the following arguments are required: CELL; "
        "`autoweb run rerun --help` shows examples"
    )


def test_an_unknown_option_of_a_command_with_an_option_command_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["init", "http://localhost/", "--statik", "site"])

    assert ended.value.code == 4
    assert "did you mean --static?" in capsys.readouterr().err
