"""What is taken over from a saved run that may come from anyone: case files and settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.results.runs.foreign_run import (
    ForeignCaseFile,
    NoCaseFile,
    case_file,
)
from pytest_autoweb.settings.rerun_settings import taken_settings


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a case file of its own and a run folder from elsewhere."""
    root = tmp_path / "project"
    for file in ("cases/shop.yaml", "autoweb-report/cells/x/y/z-1/cell.json"):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text("{}")
    return root


def named(project: Path, path: str, run: str = "autoweb-report") -> Path:
    return case_file(path, project, project / run)


def test_a_case_file_of_the_project_is_found(project: Path) -> None:
    (project / "conftest.py").touch()
    (project / "other").symlink_to("cases")
    assert named(project, "cases/shop.yaml") == project / "cases/shop.yaml"
    assert named(project, "other/shop.yaml") == project / "other/shop.yaml"


@pytest.mark.parametrize("path", ["", "inline", "cases/none.yaml", "cases", "a\0b", "x" * 5000])
def test_a_file_that_is_not_there_is_one_sentence(project: Path, path: str) -> None:
    with pytest.raises(NoCaseFile):
        named(project, path)


@pytest.mark.parametrize(
    "marks",
    [
        {"cells/a/b/c-1/cell.json": "{}"},
        {"cells/.keep": "", "run.json": "damaged"},
        {"manifest.json": '{"format": "pytest-autoweb/manifest"}'},
        {"report.json": '{"format":"pytest-autoweb/report"}'},
        {"run.json": json.dumps({"ts": "", "models": [], "capture_modes": []})},
    ],
)
@pytest.mark.parametrize("place", ["results", "deep/er/results"])
def test_nothing_in_a_run_folder_is_a_case_file_whatever_its_name(
    project: Path, marks: dict[str, str], place: str
) -> None:
    for name, text in marks.items():
        (project / place / name).parent.mkdir(parents=True, exist_ok=True)
        (project / place / name).write_text(text)
    inside = project / place / "sub" / "case.yaml"
    inside.parent.mkdir()
    inside.touch()
    for path in (f"{place}/sub/case.yaml", f"cases/../{place}/sub/case.yaml", str(inside)):
        with pytest.raises(ForeignCaseFile, match="lies in the run folder"):
            named(project, path)


def test_the_run_folder_itself_is_one_whatever_it_holds(project: Path) -> None:
    (project / "mine").mkdir()
    (project / "mine" / "case.yaml").touch()
    assert named(project, "mine/case.yaml")
    with pytest.raises(ForeignCaseFile):
        named(project, "mine/case.yaml", run="mine")
    with pytest.raises(ForeignCaseFile):
        case_file("case.yaml", project / "mine", project / "mine")


def test_a_path_that_leads_out_of_the_project_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").touch()
    (project / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    for path in ("../outside.yaml", str(tmp_path / "outside.yaml"), "link.yaml"):
        with pytest.raises(ForeignCaseFile, match="lies outside"):
            named(project, path)


def test_links_lead_neither_into_a_run_folder_nor_through_one(project: Path) -> None:
    run = project / "autoweb-report"
    (run / "evil.yaml").touch()
    (project / "in.yaml").symlink_to(run / "evil.yaml")
    (project / "folder").symlink_to(run)
    # Loaded from here, the project's own file would have the run's conftest.
    (run / "through.yaml").symlink_to(project / "cases/shop.yaml")
    for path in ("in.yaml", "folder/evil.yaml", "autoweb-report/through.yaml"):
        with pytest.raises(ForeignCaseFile):
            named(project, path)


def test_a_conftest_that_really_lies_in_a_run_folder_is_refused(project: Path) -> None:
    (project / "autoweb-report/conftest.py").touch()
    (project / "cases/conftest.py").symlink_to(project / "autoweb-report/conftest.py")
    with pytest.raises(ForeignCaseFile, match=r"whose conftest\.py lies in the run folder"):
        named(project, "cases/shop.yaml")


def test_messages_hold_no_commands_for_terminals(project: Path) -> None:
    (project / "autoweb-report/a\x1b[2J\nb.yaml").touch()
    with pytest.raises(ForeignCaseFile) as caught:
        named(project, "autoweb-report/a\x1b[2J\nb.yaml")
    assert str(caught.value).isprintable()


def given(value: Any, source: str = "flag") -> dict[str, Any]:
    return {"value": value, "source": source}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sandbox", "off"), ("browser_sandbox", "off"), ("connect", ["http://evil:9222"]),
        ("models_file", "autoweb-report/models.yaml"), ("cassettes", "/tmp/x"), ("live", ["a"]),
        ("record_mode", "all"), ("traffic", "record"), ("traffic_files", "x"), ("cluster", "auto"),
        ("cache", "redis://evil"), ("max_cost", 1e6), ("allow_unpriced", True), ("storage", "/"),
        ("store", "sqlite:///x"), ("judge_labels", "x"), ("report", "src"), ("unheard_of", "1"),
        ("step_timeout", "1 --p=evil"), ("step_timeout", "1\n-pevil"), ("correction", ["a", ";"]),
    ],
)  # fmt: skip
def test_a_setting_that_could_weaken_a_wall_is_told_and_not_taken(name: str, value: Any) -> None:
    taken = taken_settings({name: given(value)}, ())
    assert taken.flags == ()
    assert len(taken.left) == 1
    flag = {"store": "database"}.get(name, name.replace("_", "-"))
    assert f"--autoweb-{flag}=" in taken.left[0]
    assert taken.left[0].isprintable()


def test_settings_that_decide_how_a_cell_ends_hold_again() -> None:
    settings = {
        "max_turns": given(3),
        "record_mode": given("none", "env"),
        "traffic": given("replay"),
        "check_timeout": given(1.5, "ini"),
        "sandbox": given("off", "default"),
        "repeat": given(4),
        "feedback": "damaged",
    }
    taken = taken_settings(settings, {"repeat"})
    assert taken.flags == (
        "--autoweb-max-turns=3",
        "--autoweb-record-mode=none",
        "--autoweb-traffic=replay",
    )
    assert taken.left == ()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:3000/shop/"])
def test_an_address_on_this_machine_holds_again_as_the_flag_that_pytest_knows(url: str) -> None:
    assert taken_settings({"base_url": given(url)}, ()) == ((f"--base-url={url}",), ())


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example",
        "http://localhost@evil.example",
        "http://localhost:80@evil.example/",
        "//evil.example",
        "http://[",
    ],
)
def test_a_run_does_not_choose_the_site_that_gets_the_secrets(url: str) -> None:
    taken = taken_settings({"base_url": given(url)}, ())

    assert taken.flags == ()
    assert taken.left[0].strip("'") == f"--base-url={url}"
