"""The one stream to terminals and CI logs: nothing that passes through it is obeyed there."""

import io
import json
import random
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.cli.json_document import print_json
from pytest_autoweb.report.plain_stream import (
    UNSEEN,
    PlainStream,
    plain_text,
    write_obeyed,
)
from pytest_autoweb.results.records import Outcome

COMMAND = re.compile(r"(?m)^\s*::|##(?:vso|teamcity)?\[", re.IGNORECASE)
PIECES = (
    *("::error::x", "::", ":", "##", "vso[", "##vso[task.x]", "##[", "[", "#", "##teamcity[", " "),
    *("\n", "\r", "\r\n", "\x1b[2J", "\x1b]0;t\x07", "\x9b31m", "\x1b[31m", "\x1b"),
    *("[31m", "\u202e"),
    *("\u2028", "\x85", "\x0b", "a", "\t", "##VSO[", "\x00", "\ud800", "x" * 70, " " * 70, "é☃"),
)  # fmt: skip
WILD = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12)


def written(parts: list[str], *, colours: bool = False) -> str:
    file = io.StringIO()
    stream = PlainStream(file, colours=colours, returns=colours)
    for part in parts:
        assert stream.write(part) == len(part)
    return file.getvalue()


@given(WILD, st.randoms())
@example(["a\n", " ", ":", ":error"], random.Random(1))
@example(["#", "#", "vso", "[x"], random.Random(1))
@example([" " * 100, "::x"], random.Random(1))
@example([" " * 100 + ":", ":error::x"], random.Random(1))
def test_nothing_written_in_whatever_parts_is_obeyed(
    parts: list[str], chance: random.Random
) -> None:
    text = "".join(parts)
    cuts = sorted(chance.choices(range(len(text) + 1), k=5)) if text else []
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    for said in (written(parts), written(pieces), plain_text(text)):
        assert not COMMAND.search(said)
        assert not UNSEEN.search(said)
        assert "\r" not in said


@given(WILD)
def test_colours_of_a_writer_pass_and_nothing_else(parts: list[str]) -> None:
    said = written(parts, colours=True)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert not UNSEEN.search(bare.replace("\r", ""))
    assert not COMMAND.search(bare)


def test_ordinary_text_and_colours_stay_as_they_are() -> None:
    text = "cases/a.yaml::one[m] PASSED\n  a :: b, C++ x::y, # ## heading, ü 漢字 👩‍💻\n\tx\n"
    assert written(["cases/a.yaml", "::", "one[m] PASSED\n", *text.split("PASSED\n")[1:]]) == text
    assert written(["\rcollecting", " \x1b[31mFAILED\x1b[0m"], colours=True) == (
        "\rcollecting \x1b[31mFAILED\x1b[0m"
    )


def test_a_command_of_our_own_goes_through_the_one_door(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.StringIO()
    write_obeyed("::error title=x::y\n", PlainStream(file))
    write_obeyed("::warning::z\n")
    assert (file.getvalue(), capsys.readouterr().out) == ("::error title=x::y\n", "::warning::z\n")


@given(WILD)
def test_a_document_keeps_its_values_and_is_not_obeyed(parts: list[str]) -> None:
    text = "".join(parts).encode("utf-8", "replace").decode()
    before, sys.stdout = sys.stdout, io.StringIO()
    file = sys.stdout
    try:
        sys.stdout = PlainStream(file)
        print_json("x", {text: [text], "### ##vso[": "##[a]"})
    finally:
        sys.stdout = before
    assert json.loads(file.getvalue()) == {
        "format": "pytest-autoweb/x", "version": 1, text: [text], "### ##vso[": "##[a]",
    }  # fmt: skip
    assert not COMMAND.search(file.getvalue())


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\r\n::error::forged\n##vso[task.setvariable variable=a]b"


OUTCOMES: dict[str, Outcome] = {"a": "passed", "b": "failed"}


@pytest.fixture
def hostile_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run all of whose texts are hostile."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "")
    cells = [
        cell(
            CellKey(f"{name}{HOSTILE}", f"m{HOSTILE}"),
            outcome,
            reason=HOSTILE,
            case_path=f"cases/{HOSTILE}",
            folder=f"cells/{name}/m/ARIA-1",
        )
        for name, outcome in OUTCOMES.items()
    ]
    return save_run(tmp_path / "run", cells, models=(f"m{HOSTILE}",), settings={
        "sandbox": {"value": HOSTILE, "source": "flag"}})  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["run", "rerun", "cells/a/m/ARIA-1", "--run", "run"],
        ["run", "rerun", HOSTILE, "--run", "run"],
        ["export", "run"],
        ["export", HOSTILE, "--run", "run"],
        ["run", "rejudge", "run"],
        ["run", "rejudge", "run", "--json", "--output", "again"],
        ["prove", "run", "--quick"],
        ["run", "compare", "run", "run"],
        ["run", "compare", "run", HOSTILE],
        ["run", "compare", "run", "run", "--json"],
        ["run", "gate", "run", "--min-pass-rate=99"],
        ["run", "gate", "run", "--json"],
        ["run", "gate", "--comment", "run"],
        ["run", "show", "run", "--no-open"],
        ["run", "show", "run", "--json"],
        ["run", "trace", "cells/b/m/ARIA-1", "--run", "run"],
        ["run", "trace", "b", "--run", "run"],
        ["run", "publish", "run"],
        ["run", "merge", "run", "--output", "merged"],
        ["run", "labels", "run", "--labels", HOSTILE],
        ["benchmark", "pack", HOSTILE],
        ["heal", HOSTILE, "--model", HOSTILE],
        ["models", HOSTILE],
        [HOSTILE],
        ["run", "show", HOSTILE],
        ["db", "sync", HOSTILE],
    ],
    ids=lambda words: ascii(" ".join(words))[:60],
)
def test_no_command_hands_on_what_a_terminal_or_a_runner_obeys(
    hostile_run: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert hostile_run.is_dir()
    with suppress(SystemExit):
        main(words)
    said = capfd.readouterr()
    for text in (said.out, said.err):
        assert not UNSEEN.search(text)
        assert not COMMAND.search(text)
    if "--json" in words and said.out:
        assert json.loads(said.out)["format"].startswith("pytest-autoweb/")
