import sys
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.browser.egress.chromium import launch_args, system_chromium


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a `google-chrome` and nothing else."""
    chrome = tmp_path / ("google-chrome.exe" if sys.platform == "win32" else "google-chrome")
    chrome.write_text("#!/bin/sh\n", encoding="utf-8")
    chrome.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("AUTOWEB_CHROMIUM", raising=False)
    return chrome


def test_a_browser_on_the_path_is_found(fake: Path) -> None:
    assert system_chromium() == fake


def test_the_build_without_windows_is_preferred_unless_one_is_wanted(fake: Path) -> None:
    shell = fake.with_name("chromium-headless-shell" + fake.suffix)
    shell.write_text("#!/bin/sh\n", encoding="utf-8")
    shell.chmod(0o755)

    assert system_chromium() == shell
    assert system_chromium(headless=False) == fake


def test_the_environment_variable_comes_first(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOWEB_CHROMIUM", sys.executable)

    assert system_chromium() == Path(sys.executable)


def test_a_variable_that_names_no_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOWEB_CHROMIUM", "/nowhere/chrome")

    with pytest.raises(BrowserError, match="AUTOWEB_CHROMIUM names '/nowhere/chrome'"):
        system_chromium()


def test_the_system_browser_stands_in_for_a_missing_download(fake: Path, tmp_path: Path) -> None:
    args = launch_args({"slow_mo": 5}, playwright_executable=str(tmp_path / "none"))

    assert args["executable_path"] == str(fake)
    assert args["slow_mo"] == 5
    assert "--disable-quic" in args["args"]


def test_a_downloaded_browser_is_kept(fake: Path) -> None:
    assert "executable_path" not in launch_args({}, playwright_executable=str(fake))


def test_a_downloaded_headless_shell_is_kept(fake: Path, tmp_path: Path) -> None:
    (tmp_path / "chromium_headless_shell-1").mkdir()
    wanted = str(tmp_path / "chromium-1" / "chrome-linux" / "chrome")

    assert "executable_path" not in launch_args({}, playwright_executable=wanted)
    assert "executable_path" in launch_args({"headless": False}, playwright_executable=wanted)


@pytest.mark.parametrize("base", [{"channel": "msedge"}, {"executable_path": "/my/chrome"}])
def test_an_explicit_choice_is_kept(fake: Path, base: dict[str, object]) -> None:
    assert launch_args(base, playwright_executable="/none").items() >= base.items()


def test_other_browsers_are_left_alone(fake: Path) -> None:
    args = launch_args({"slow_mo": 1}, playwright_executable="/none", browser_name="firefox")

    assert args == {"slow_mo": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere browsers lie in fixed places")
def test_no_browser_at_all_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("AUTOWEB_CHROMIUM", raising=False)

    with pytest.raises(BrowserError, match="playwright install chromium"):
        launch_args({}, playwright_executable="/none")
