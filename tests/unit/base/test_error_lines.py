"""The first line of any exception's message, whatever its class makes of `str`."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Error

import pytest_autoweb
from pytest_autoweb.base.errors import first_line, named_line
from pytest_autoweb.base.installation import asset_dir


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "line", "named"),
    [
        (ValueError("tea\nis out"), "tea", "ValueError: tea"),
        (ValueError("\n\n  tea  \r\nis out"), "tea", "ValueError: tea"),
        (ValueError(), "ValueError", "ValueError"),
        (ValueError(" \n\t"), "ValueError", "ValueError"),
        (Error(""), "Error", "Error"),
        (AssertionError("\u2028"), "AssertionError", "AssertionError"),
        (NoText(), "NoText", "NoText"),
        (KeyError("tea"), "'tea'", "KeyError: 'tea'"),
    ],
)
def test_the_first_line_of_an_error_or_its_class(error: Exception, line: str, named: str) -> None:
    assert (first_line(error), named_line(error)) == (line, named)


def test_no_place_takes_the_first_line_by_itself() -> None:
    by_hand = re.compile(r"str\(error\).*(?:splitlines\(\)|partition\(.\\n.\)\)?)\[0\](?! or)")
    package = Path(pytest_autoweb.__file__).parent
    # They run by themselves, in other programs' environments.
    templates = asset_dir("templates")

    assert [
        f"{path.name}: {line.strip()}"
        for path in sorted([*package.rglob("*.py"), *templates.rglob("*.py")])
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line)
    ] == []
