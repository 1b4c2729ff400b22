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


QUESTIONS = [
    ("SSO login", "How do I log in by SSO", "storage_state"),
    ("limit cost", "How do I limit the cost", "--autoweb-max-cost"),
    ("my own agent", "How do I add my own agent", "JSON lines"),
    ("run only failed", "How do I rerun only what failed", "--lf"),
    ("why ungraded", "ungraded", "nothing to judge by"),
    ("compare two prompts", "How do I compare two prompts", "--autoweb-compare=before"),
    ("Firefox", "How do I run in Firefox or WebKit", "playwright install firefox"),
    ("Docker", "How do I run in Docker", "Containerfile"),
    ("Azure OpenAI", "How do I use Azure OpenAI", "pyproject.toml"),
    ("mask data", "How do I mask personal data", "Only secrets and password fields"),
    ("custom check", "How do I write a check of my own", "package.module:function"),
    ("difference between failed and broken", "failed, broken and ungraded", "infrastructure"),
    ("iframe", "How do I work with iframes", "frame_locator"),
    ("2FA", "How do I log in by SSO", "pyotp"),
    ("cookie banner", "cookie banners", "setup.cookies"),
    ("mobile", "How do I test a mobile layout", "--device"),
    ("Jenkins", "Jenkins", "--junitxml"),
    ("What is a control?", "What is a control", "doing nothing"),
    ("not decisive", "Comparisons", "Fewer than six cases"),
]
"""What somebody types, a part of a title among the first three, and what is read there."""


@pytest.mark.journeys
def test_each_question_is_answered_by_one_of_the_first_three_results(
    built: Path, browser: Browser
) -> None:
    page = browser.new_context(offline=True).new_page()
    missed = []
    for typed, title, answer in QUESTIONS:
        page.goto((built / "tutorial.html").as_uri())
        page.get_by_role("textbox", name="Search").first.fill(typed)
        page.keyboard.press("Enter")
        page.locator("ol.search li").first.wait_for()
        first = page.locator("ol.search li").all()[:3]
        assert all(len(result.locator("p").inner_text()) > 20 for result in first), typed
        assert page.locator("ol.search li mark").count() > 0, typed
        titles = [result.get_by_role("link").inner_text() for result in first]
        place = next((i for i, told in enumerate(titles) if title in told), None)
        if place is None:
            missed.append((typed, titles))
            continue
        first[place].get_by_role("link").click()
        section = page.locator(f"[id='{page.url.partition('#')[2]}']")
        if answer not in section.inner_text():
            missed.append((typed, [page.url]))
    page.context.close()

    assert missed == []


@pytest.mark.journeys
def test_what_changed_and_how_it_is_built_comes_last(built: Path, browser: Browser) -> None:
    page = browser.new_context(offline=True).new_page()
    for typed in ("cost", "report", "browser"):
        page.goto(f"{(built / 'search.html').as_uri()}?q={typed}")
        places = page.locator(".search-place").all_inner_texts()
        assert not any("Changelog" in p or "Architecture" in p or "Ray" in p for p in places[:10])
    page.goto(f"{(built / 'search.html').as_uri()}?q=%3Czzzz%3E")
    assert "Nothing has “<zzzz>”" in page.get_by_role("status").inner_text()
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
