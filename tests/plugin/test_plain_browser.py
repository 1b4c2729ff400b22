"""The browser of tests that are no cells, where Playwright's own Chromium is missing."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

from pytest_autoweb.browser.egress.chromium import system_chromium

PLAIN = """
def test_page(page):
    page.set_content("<h1>Tea</h1>")
    assert page.inner_text("h1") == "Tea"
"""
NAMED = """
import pytest

@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, "executable_path": "/nowhere/chrome"}
"""


@pytest.fixture
def found(
    playwright: Playwright, monkeypatch: pytest.MonkeyPatch, project: pytest.Pytester
) -> Path:
    """A Chromium of this machine, on one that has none of Playwright's own."""
    own = Path(playwright.chromium.executable_path)
    browser = system_chromium() or own
    if not browser.is_file():
        pytest.skip("Playwright's headless build alone is no browser of the machine")
    monkeypatch.setenv("AUTOWEB_CHROMIUM", str(browser))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(project.path / "none"))
    (project.path / "test_page.py").write_text(PLAIN)
    return browser


@pytest.mark.long
def test_a_plain_test_runs_in_the_chromium_of_the_machine(
    project: pytest.Pytester, found: Path, workers: tuple[str, ...]
) -> None:
    result = project.runpytest_subprocess("test_page.py", *workers)

    result.assert_outcomes(passed=1)
    told = f"autoweb: Playwright's own Chromium is not installed: the tests ran in {found}"
    assert result.outlines.count(told) == 1


@pytest.mark.long
@pytest.mark.usefixtures("found")
def test_a_browser_that_the_user_names_stays(project: pytest.Pytester) -> None:
    project.makeconftest(NAMED)

    result = project.runpytest_subprocess("test_page.py")

    result.assert_outcomes(errors=1)
    assert "/nowhere/chrome" in result.stdout.str()
    assert "is not installed: the tests ran in" not in result.stdout.str()


@pytest.mark.long
@pytest.mark.usefixtures("found")
def test_without_any_browser_playwright_says_so_itself(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOWEB_CHROMIUM")
    monkeypatch.setenv("PATH", os.fspath(project.path))

    result = project.runpytest_subprocess("test_page.py")

    result.assert_outcomes(errors=1)
    assert "playwright install" in result.stdout.str()
