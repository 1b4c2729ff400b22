"""CONTRIBUTING.md and the pages it leads to: their links lead somewhere, their files exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")

pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").exists(), reason="the page is about the checkout"
)


def pages() -> list[Path]:
    docs = ROOT / "docs"
    return [
        ROOT / "CONTRIBUTING.md",
        docs / "architecture.md",
        *sorted((docs / "contributing").glob("*.md")),
    ]


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading).strip() for heading in headings)
    return {heading.lower().replace(" ", "-") for heading in plain}


def test_each_link_leads_to_a_page_and_a_heading() -> None:
    lost = []
    for page in pages():
        for path, anchor in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                lost.append(f"{page.name}: {path}#{anchor}")

    assert lost == []


def test_each_file_that_contributing_names_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+(?:/|\.py|\.md|\.yaml))`", text)

    missing = [
        path
        for path in named
        if not (ROOT / path).exists() and not (ROOT / "pytest_autoweb" / path).exists()
    ]
    assert missing == []
