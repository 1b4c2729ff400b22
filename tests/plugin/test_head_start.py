"""What takes long to start is started first, and used only if it is what the session wants."""

from pathlib import Path

import psutil
import pytest

NOTES = """
import os
from pathlib import Path
from playwright.sync_api import Browser, BrowserType

launch, close = BrowserType.launch, Browser.close

def note(what):
    with Path("notes.txt").open("a") as file:
        file.write(what + "\\n")

def noted_launch(self, **args):
    note("launched" + (" slowly" if args.get("slow_mo") else ""))
    return launch(self, **args)

def noted_close(self, **args):
    note("closed")
    return close(self, **args)

BrowserType.launch, Browser.close = noted_launch, noted_close

def pytest_collection_finish(session):
    if session.items:
        note("collected")

def pytest_unconfigure():
    left = [name for name in ("NODE_COMPILE_CACHE", "NODE_OPTIONS") if name in os.environ]
    note("left: " + (", ".join(left) or "nothing"))
"""
OWN_ARGUMENTS = """
import pytest

@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, "slow_mo": 1}
"""
ORACLE = "--autoweb-models=builtin/oracle"


@pytest.fixture(autouse=True)
def _an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("NODE_COMPILE_CACHE", "NODE_OPTIONS"):
        monkeypatch.delenv(name, raising=False)


def notes(project: pytest.Pytester) -> list[str]:
    return (project.path / "notes.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("place", ["cases", "cases/shop.yaml::login"])
def test_the_browser_starts_before_the_cases_are_read_where_only_cases_are_named(
    place: str, project: pytest.Pytester, tmp_path: Path
) -> None:
    project.makeconftest(NOTES)

    ran = project.runpytest_subprocess(place, ORACLE)

    assert ran.ret == 0, ran.stdout.str()
    # What the driver compiled is for the driver alone.
    assert notes(project) == ["launched", "collected", "closed", "left: nothing"]
    assert any((tmp_path / "cache/pytest-autoweb/driver").rglob("*"))


PAGE_TEST = """
def test_page(page):
    page.goto("data:text/html,<h1>Hello")
"""


@pytest.mark.parametrize("where", ["a module", "a conftest", "an option"])
def test_it_starts_when_it_is_asked_for_where_more_than_cases_decides_how(
    where: str, project: pytest.Pytester
) -> None:
    project.makeconftest(NOTES + (OWN_ARGUMENTS if where == "a conftest" else ""))
    (project.path / "cases/test_page.py").write_text(
        PAGE_TEST if where == "a module" else "", encoding="utf-8"
    )
    named = ["cases"] if where == "a module" else ["cases/shop.yaml"]
    more = ["--tracing=on"] if where == "an option" else []

    ran = project.runpytest_subprocess(*named, ORACLE, *more)

    assert ran.ret == 0, ran.stdout.str()
    launched = "launched slowly" if where == "a conftest" else "launched"
    assert notes(project)[:2] == ["collected", launched]


def test_one_that_was_started_otherwise_than_the_cells_want_it_is_closed(
    project: pytest.Pytester,
) -> None:
    project.makeconftest(NOTES)
    # pytest reads it when it comes to the folder, and not before.
    (project.path / "cases/deeper").mkdir()
    (project.path / "cases/shop.yaml").rename(project.path / "cases/deeper/shop.yaml")
    site = (project.path / "cases/deeper/shop.yaml").read_text(encoding="utf-8")
    (project.path / "cases/deeper/shop.yaml").write_text(
        site.replace("../site", "../../site"), encoding="utf-8"
    )
    (project.path / "cases/deeper/conftest.py").write_text(OWN_ARGUMENTS, encoding="utf-8")

    ran = project.runpytest_subprocess("cases", ORACLE)

    assert ran.ret == 0, ran.stdout.str()
    assert notes(project) == [
        "launched", "collected", "closed", "launched slowly", "closed", "left: nothing",
    ]  # fmt: skip


def test_a_run_that_is_refused_leaves_no_browser(
    project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The profile of a browser lies there, which its processes are told.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    project.makeconftest(NOTES)
    (project.path / "cases/shop.yaml").write_text("cases: [{id: 1}]", encoding="utf-8")

    ran = project.runpytest_subprocess("cases/shop.yaml", ORACLE)

    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert notes(project) == ["launched", "left: nothing"]
    commands = [
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    ]
    assert not [
        command for command in commands if str(tmp_path) in command and "profile" in command
    ]
