"""Which files are seen to hold cases, before anybody reads them."""

from pathlib import Path

import pytest

from pytest_autoweb.session.case_files import holds_cases


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.yaml"


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\ncases:\n  - id: buy\n",
        '{"version": 1, "cases": [{"id": "buy"}]}',
        '{"version": 1, "settings": {"a": [1, "{"]}, "cases": [{"id": "buy"}]}',
        "# Of the shop.\n{version: 1, cases: [{id: buy}]}",
        '{"version": 1,\n "cases": [',
        '{"cases": "of no kind that is allowed"',
    ],
)
def test_a_file_with_cases_at_its_top_level_holds_cases(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")

    assert holds_cases(file)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nedge_cases:\n  - id: buy\n",
        '{"version": 1, "study": {"title": "A", "cases": [1]}}',
        '[{"cases": 1}]',
        '["cases", {"id": "buy", "cases": 1}]',
        '{"title": "all, cases: none", "kind": ["a", "cases"]}',
        "",
    ],
)
def test_a_file_with_cases_elsewhere_does_not(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")

    assert not holds_cases(file)
