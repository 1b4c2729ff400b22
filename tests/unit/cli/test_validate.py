"""`autoweb validate`, and what pre-commit is told of it."""

import shlex
import sys
from pathlib import Path

import pytest
import yaml

from pytest_autoweb.cli.command_line import main

ROOT = Path(__file__).parents[3]
HOOKS = ".pre-commit-hooks.yaml"
GOOD = """
version: 1
cases:
  - id: look
    entry_url: "{{ env.SHOP_ADDRESS }}/index.html"
    user_task: Read the heading.
    expect:
      - answer: {equals: Shop}
"""
BAD = GOOD.replace("expect:", "expct:").replace("id: look", "id: look at it")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOP_ADDRESS", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "cases/other.yaml").write_text("tea: 1\n", encoding="utf-8")
    return tmp_path


def test_valid_cases_need_neither_their_variables_nor_a_browser(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = "litellm" in sys.modules

    assert main(["validate", "cases"]) == 0

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "1 case file, no mistakes\n")
    assert ("litellm" in sys.modules) == before


def test_each_mistake_is_a_line_with_its_place(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "cases/bad.yaml").write_text(BAD, encoding="utf-8")

    assert main(["validate", "cases/bad.yaml", "cases/good.yaml", "cases/other.yaml"]) == 1

    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert any(line.startswith("cases/bad.yaml:7: cases[0].expct: ") for line in lines)
    assert all(line.startswith("cases/bad.yaml:") for line in lines)
    assert said.err.startswith("2 case files, ")


def test_a_file_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "nowhere.yaml"]) == 4

    assert capsys.readouterr().err == "autoweb: there is no nowhere.yaml\n"


@pytest.mark.skipif(not (ROOT / HOOKS).is_file(), reason="the tests of the wheel run without it")
def test_the_hook_of_pre_commit_runs_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hook,) = yaml.safe_load((ROOT / HOOKS).read_text(encoding="utf-8"))
    program, *words = shlex.split(hook["entry"])

    assert program == "autoweb"
    assert main([*words, "cases/good.yaml", "cases/other.yaml"]) == 0


def test_without_a_path_the_folder_of_cases_is_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "cases/bad.yaml").write_text(BAD, encoding="utf-8")

    assert main(["validate"]) == 1
    assert "cases/bad.yaml:" in capsys.readouterr().out


NEEDY = """    oracle: |
      # Step 1
      page.mouse.move(9, 9)
      page.mouse.wheel(0, 300)
      page.once("dialog", lambda asked: asked.accept("because"))
      page.get_by_text("Ask").click()
"""


def test_what_agents_cannot_do_for_a_case_is_noted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "cases/good.yaml").write_text(GOOD + NEEDY, encoding="utf-8")

    assert main(["validate"]) == 0

    notes = capsys.readouterr().err.splitlines()[:-1]
    assert notes == [
        "note: the dialect refs of small models cannot scroll or type into prompts, "
        "which case look may need",
    ]


def test_only_the_agent_of_a_case_is_asked_what_it_lacks(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = GOOD.replace("user_task", "strategy: codegen\n    user_task")
    drawing = "    oracle: |\n      # Step 1\n      page.mouse.click(9, 9)\n"
    (project / "cases/good.yaml").write_text(case + drawing, encoding="utf-8")

    assert main(["validate"]) == 0

    notes = capsys.readouterr().err
    assert "note: the dialect refs cannot click at a place in a drawing" in notes
    assert "note: act" not in notes
