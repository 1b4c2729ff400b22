"""What README.md says was measured stands on the pages it links to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
LINK = re.compile(r"\]\((docs/[\w./-]+\.md)#[\w-]+\)")

pytestmark = pytest.mark.skipif(
    not (ROOT / "scripts").is_dir(), reason="the tests of the wheel run without the whole checkout"
)


def measured() -> list[tuple[str, str, str]]:
    """Each row of the table: what, the result, and how it is measured."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("## What was measured\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    return [(what.strip(), result, how) for what, result, how in rows[1:]]


def numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in NUMBER.findall(text)}


def test_there_is_a_row_for_each_thing_that_was_measured() -> None:
    assert len(measured()) == 4


@pytest.mark.parametrize(
    ("result", "how"), [pytest.param(result, how, id=what) for what, result, how in measured()]
)
def test_each_number_and_its_command_stand_on_the_page_that_is_linked(
    result: str, how: str
) -> None:
    (page,) = LINK.findall(how)
    text = (ROOT / page).read_text(encoding="utf-8")
    told = numbers(text)
    rounded = told | {f"{float(number):.0f}" for number in told}

    assert numbers(result) - rounded == set()
    script = re.search(r"(?:benchmarks|tests)/[\w/]+\.py", how)
    assert script is not None
    assert script[0] in text
    assert (ROOT / script[0]).is_file()
