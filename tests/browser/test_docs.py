"""The documentation as a site: strict, complete, sorted by kind, and searchable from disk."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
BUILD = (sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going")

pytestmark = pytest.mark.skipif(
    not (ROOT / "scripts" / "docs").is_file(), reason="the tests of the wheel run without it"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    assert " ".join(BUILD[3:]) in (ROOT / "scripts" / "docs").read_text(encoding="utf-8")
    where = ("-d", str(folder / "trees"), str(ROOT / "docs"), str(folder / "html"))
    command = [*BUILD, "-b", "html", *where]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.mark.journeys
def test_the_site_has_four_kinds_of_pages_and_what_comes_from_the_code(built: Path) -> None:
    front = (built / "index.html").read_text(encoding="utf-8")
    kinds = re.findall(r'<p class="caption"[^>]*><span class="caption-text">([^<]+)<', front)

    assert kinds == ["Tutorial", "How to", "Reference", "Explanation"]
    reference = {
        name: (built / "reference" / f"{name}.html").read_text(encoding="utf-8")
        for name in ("commands", "case-file", "python", "changelog", "contributing")
    }
    assert "autoweb run merge" in reference["commands"]
    assert "user_task" in reference["case-file"]
    assert "load_run" in reference["python"]
    assert "Unreleased" in reference["changelog"]
    assert "How a change gets in" in reference["contributing"]


@pytest.mark.journeys
def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    outside = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"')
    loaded = {
        address
        for page in built.rglob("*.html")
        for address in outside.findall(page.read_text(encoding="utf-8"))
    }

    assert loaded == set()


@pytest.mark.journeys
def test_the_search_finds_pages_without_a_server_and_without_a_network(
    built: Path, browser: Browser
) -> None:
    page = browser.new_context(offline=True).new_page()
    page.goto(f"{(built / 'index.html').as_uri()}")

    page.get_by_role("textbox", name="Search").first.fill("matrix")
    page.keyboard.press("Enter")
    page.locator("ul.search li").first.wait_for()

    found = page.locator("ul.search li a").all_inner_texts()
    assert any("tutorial" in title.lower() or "case" in title.lower() for title in found)
    page.context.close()


@pytest.mark.long
def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser"]\nmyst_heading_anchors = 4\n')
    (tmp_path / "index.md").write_text("# Home\n\n[Gone](gone.md) and [lost](#nowhere)\n")

    command = [*BUILD, "-b", "html", str(tmp_path), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 1
    assert "gone.md" in done.stderr
    assert "nowhere" in done.stderr
