from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.tools.demo.laid_out import lay_out, session_environment


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["demo", str(folder)]) == 4
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_shop_cases_and_recordings_are_laid_out_and_may_stay(tmp_path: Path) -> None:
    folder = tmp_path / "demo"

    lay_out(folder)
    (folder / "notes.txt").write_text("mine")
    first = contents(folder)
    lay_out(folder)

    assert {"pytest.ini", "shop.py", "shop.yaml", "models.yaml"} <= first.keys()
    assert any(name.startswith("cassettes/") for name in first)
    assert contents(folder) == first


def test_a_folder_with_other_files_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    said = refused(tmp_path, capsys)

    assert "holds files that are not of the demo; name another folder: autoweb demo FOLDER" in said
    assert contents(tmp_path) == {"pytest.ini": b"[pytest]\n"}


def test_a_changed_case_file_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path / "demo")
    file = tmp_path / "demo" / "shop.yaml"
    file.write_text("version: 1\n")

    said = refused(tmp_path / "demo", capsys)

    assert "shop.yaml was changed, or is of another version; remove " in said
    assert file.read_text() == "version: 1\n"


def test_a_file_in_place_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").write_text("")

    assert "demo is a file; name a folder" in refused(tmp_path / "demo", capsys)


def test_settings_of_own_runs_do_not_reach_the_demo() -> None:
    environ = {
        "AUTOWEB_REPEAT": "3",
        "PYTEST_ADDOPTS": "--lf",
        "AUTOWEB_CHROMIUM": "/usr/bin/chromium",
        "HOME": "/ana",
    }

    assert session_environment(environ) == {
        "AUTOWEB_CHROMIUM": "/usr/bin/chromium",
        "HOME": "/ana",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "DEMO_SHOP_SECONDS": "60",
    }
