"""What GitHub reads besides the code: issue forms, and how to cite."""

import re
from pathlib import Path

import pytest
import yaml

from pytest_autoweb import __version__

ROOT = Path(__file__).parents[3]
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"

pytestmark = pytest.mark.skipif(not FORMS.is_dir(), reason="the files are those of the checkout")


def read(path: Path) -> dict[str, object]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ["bug", "idea", "question"])
def test_a_form_has_what_github_asks_for(name: str) -> None:
    form = read(FORMS / f"{name}.yml")
    body = form["body"]

    assert {"name", "description", "body"} <= form.keys()
    assert isinstance(body, list)
    kinds = [part["type"] for part in body]
    assert set(kinds) <= {"markdown", "textarea", "input"}
    ids = [part["id"] for part in body if part["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    assert all("label" in part["attributes"] for part in body if part["type"] != "markdown")


def test_pages_that_a_form_names_exist() -> None:
    named = [
        page
        for form in FORMS.glob("*.yml")
        for page in re.findall(r"\b(?:docs/)?[\w-]+\.md\b", form.read_text(encoding="utf-8"))
    ]

    assert "docs/how-do-i.md" in named
    assert [page for page in named if not (ROOT / page).is_file()] == []


def test_the_citation_is_that_of_this_version_and_of_a_release_with_a_date() -> None:
    citation = read(ROOT / "CITATION.cff")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert citation["version"] == __version__
    assert f"## {citation['version']} - {citation['date-released']}" in changes
