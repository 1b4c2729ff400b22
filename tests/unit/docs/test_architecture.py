"""docs/architecture.md and its picture show the packages as they are, and name files that exist."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pytest_autoweb").is_dir(), reason="the page is about the checkout"
)


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("drawing", ROOT / "docs/draw_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def section(heading: str) -> str:
    return TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_the_table_names_every_room_in_its_row(drawing: ModuleType) -> None:
    first_cells = re.findall(r"^\| (`[^|]*) \|", section("The rooms"), re.MULTILINE)

    told = [sorted(re.findall(r"`(\w+)`", cell)) for cell in first_cells]

    assert told[::-1] == drawing.rows()


def test_the_table_names_the_rooms_within_each_room(drawing: ModuleType) -> None:
    lines = re.findall(r"^\| (`[^|]*) \| (.*) \|$", section("The rooms"), re.MULTILINE)

    for names, text in lines:
        inner = [room for name in re.findall(r"`(\w+)`", names) for room in drawing.rooms_in(name)]
        assert [room for room in inner if f"`{room}`" not in text] == [], names


def test_the_picture_is_drawn_from_the_same_rows(drawing: ModuleType) -> None:
    drawn = drawing.PICTURE.read_text(encoding="utf-8")

    assert drawn == drawing.picture(drawing.rows()), "run `python docs/draw_architecture.py`"


def test_each_path_of_the_page_exists() -> None:
    rows = re.findall(r"^\| .*? \| (.*) \|$", section("Where to look"), re.MULTILINE)[1:]
    named = [path for cell in rows for path in re.findall(r"`([\w/.]+(?:/|\.\w+))`", cell)]
    drawn = re.findall(r"\b(?:\w+/)+\w+\.py\b", section("The way of a case"))
    drawn += re.findall(r"\b(?:\w+/)+\w+\.py\b", section("The way of a reply"))

    assert len(rows) >= 25
    assert [
        path
        for path in (*named, *drawn)
        if not (ROOT / "pytest_autoweb" / path).exists() and not (ROOT / path).exists()
    ] == []
