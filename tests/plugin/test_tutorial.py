"""The tutorial, done as it says, and the commands of the how-to pages in the project it leaves."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from walkthrough import blocks, follow, run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = {
    # Checks that fail wait less long for what never comes; everything else is as for anybody.
    "AUTOWEB_CHECK_TIMEOUT": "1",
    "PYTEST_ADDOPTS": "-p no:anyio -p no:hypothesispytest -p no:schemathesis",
}
PAGES = ("compare", "preview", "shards", "store")
STAND_INS = {
    "--autoweb-models=openai/gpt-5-mini,local/smollm2-135m": "--autoweb-models=fake/reads",
    "openai/gpt-5-mini": "fake/reads",
    "=A,B": "=fake/reads",
    "=a,b": "=fake/reads",
    "--models a,b": "--models fake/reads,fake/hasty",
    "--model a": "--model fake/reads",
    "gpt-5,gpt-6": "fake/reads,fake/reads",
    "cases/djangoadmin.yaml::django-log-in-and-edit": "cases/tea.yaml::order-Oolong",
    "cases/shop.yaml::login": "cases/tea.yaml::order-Oolong",
    "cases/shop.yaml": "cases/tea.yaml",
    "login[": "order-Oolong[",
    "--autoweb-shard=1/3": "--autoweb-shard=1/2",
    "--autoweb-shard=2/3": "--autoweb-shard=2/2",
    " -- --autoweb-codegen=once": "",
    "sqlite:////data/runs.db": "sqlite:///runs.db",
    "--database URL": "--database sqlite:///runs.db",
    "RUN...": "autoweb-report",
}
"""What the pages name, and what the tutorial's project has in its place."""
NOT_RUN = {
    "autoweb models check": "asks a service",
    "autoweb db serve": "serves until it is stopped",
    "autoweb run blame": "calls models; test_blame runs it",
}
ONE_CASE = " -k Oolong"
_FENCE = re.compile(r"```(?:console|bash|sh)?\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="the tests of the wheel may run without the documentation"
)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the tutorial was followed from top to bottom."""
    folder = tmp_path_factory.mktemp("tutorial")
    # As if Playwright's own Chromium were installed, which plain tests need.
    done = []
    for block in blocks((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        follow(block, folder, SETTINGS)
        done.append(block.order)
    assert done == ["Write", "Run", "Write", "Run", "Write", "Run", "Run", "Run", "Write", "Run"]
    return folder


@pytest.mark.long
def test_the_tutorial_leads_from_an_empty_folder_to_a_plain_test(tutorial: Path) -> None:
    (written,) = (tutorial / "e2e").glob("test_*.py")

    assert "autoweb benchmark import" not in written.read_text(encoding="utf-8")
    assert (tutorial / "autoweb-report" / "index.html").is_file()
    assert (tutorial / "cases" / "sencha.yaml").is_file()


def commands_of(page: str) -> Iterator[str]:
    """The commands of this package that a page shows, without prompt and comment."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        for line in fence[1].replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ").partition("  #")[0].strip()
            if command.startswith(("autoweb ", "pytest ")):
                yield command


def in_the_tutorial(command: str) -> str:
    for named, there in STAND_INS.items():
        command = command.replace(named, there)
    return command + (ONE_CASE if command.startswith("pytest ") else "")


@pytest.mark.journeys
def test_what_the_how_to_pages_tell_to_run_runs(tutorial: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    shutil.copytree(tutorial, ready, ignore=shutil.ignore_patterns("e2e"))
    # What the pages suppose to be there already: a run, and two that were saved.
    both = "pytest cases/tea.yaml --autoweb-models=fake/reads,fake/hasty --autoweb-max-repairs=0"
    # The latest run is the last whole one, so only the other is of one case.
    for name, part in (("last-release", ONE_CASE), ("today", "")):
        run(f"{both} --autoweb-save={name}{part}", [], ready, SETTINGS)
    saved = next((ready / ".autoweb").glob("*.json"))
    for copy in (ready / "old", ready / "new"):
        shutil.copy(saved, copy)

    ended = {}
    for page in PAGES:
        folder = tmp_path / page
        shutil.copytree(ready, folder)
        for command in dict.fromkeys(commands_of(page)):
            if not command.startswith(tuple(NOT_RUN)):
                done = run(in_the_tutorial(command), [], folder, SETTINGS)
                ended[f"{page}: {command}"] = done

    assert len(ended) >= 9
    # 1 says that a model lost a case, which is what the stand-in is for.
    assert {command: code for command, code in ended.items() if code not in (0, 1)} == {}
