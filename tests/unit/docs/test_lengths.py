"""Pages stay readable: in an editor, as a diff, and the first one on a screen and a half."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

pytestmark = pytest.mark.skipif(
    not (ROOT / "scripts").is_dir(), reason="the tests of the wheel run without the whole checkout"
)


def test_no_line_of_a_page_is_as_long_as_a_screen() -> None:
    long = [
        f"{page.name}:{number}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 1500
    ]

    assert long == []


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 800
