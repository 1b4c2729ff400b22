"""Names of earlier versions, and words that are near a command."""

import re

import pytest

from pytest_autoweb.cli.command_line import COMMANDS, FORMER, build_parser, main, present_words


@pytest.mark.parametrize("old", FORMER)
def test_a_name_of_earlier_versions_is_a_present_command(old: str) -> None:
    words, told = present_words([*old.split(), "x"])

    assert words == [*FORMER[old].split(), "x"]
    assert f"`autoweb {old}` is an old name" in told
    assert f"use `autoweb {FORMER[old]}`" in told
    name = re.sub(r" --.*", "", FORMER[old])
    assert name in COMMANDS or any(each.startswith(f"{name} ") for each in COMMANDS)


@pytest.mark.parametrize(
    ("old", "present"),
    [
        ("verify run --controls --json", "prove --quick run --json"),
        ("verify run --fail-on-change", "run rejudge run --fail-on-change"),
        ("export-benchmark --verify shop.zip --run run", "benchmark check shop.zip --run run"),
        ("export-benchmark --verify=shop.zip", "benchmark check shop.zip"),
        ("store sync run --store URL", "db sync run --store URL"),
        ("rerun login --run run --strategy act -- -q", "run rerun login --run run --strategy act"),
        ("comment run --baseline old -o c.md", "run gate --comment run --baseline old -o c.md"),
        ("gate run --storage s --autosave", "run gate run --storage s --autosave"),
    ],
)
def test_a_command_line_of_earlier_versions_is_taken_as_it_was(old: str, present: str) -> None:
    words, _ = present_words(old.split())

    assert " ".join(words).removesuffix(" -- -q") == present
    build_parser().parse_args(present.split())


def test_an_old_name_is_told_on_stderr_and_does_what_it_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema", "report"]) == 0

    said = capsys.readouterr()
    assert said.out.startswith("{\n")
    assert said.err == (
        "autoweb: `autoweb schema` is an old name, read for one more version; "
        "use `autoweb debug schema`\n"
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("compair", "`autoweb run compare`"),
        ("benchmrk", "`autoweb benchmark`"),
        ("export-benchmarks", "`autoweb benchmark pack`"),
        ("serv", "`autoweb db serve`"),
    ],
)
def test_a_word_near_a_command_is_answered_with_it(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([word])

    assert ended.value.code == 4
    assert f"there is no {word!r}; did you mean {meant}?" in capsys.readouterr().err


def test_thirteen_words_are_listed_and_debug_is_not() -> None:
    text = build_parser(()).format_help()

    listed = re.findall(r"^    (\S+)(?: |$)", text, re.MULTILINE)
    assert len(listed) <= 13
    assert {"init", "prove", "try", "run", "benchmark", "db"} <= set(listed)
    assert "debug" not in listed
