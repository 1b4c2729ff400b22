"""`--autoweb-controls`, and the controls of a saved run."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from made_up_run import CellKey, cell, save_run
from session_server import autoweb_command
from shop_project import LEAN

CASES = """
version: 1
webserver: {static: ../site}
defaults: {entry_url: "{{ webserver.url }}index.html"}
cases:
  - id: title
    user_task: "What is the heading?"
    expect: [{answer: {equals: Shop}}]
    oracle: |
      # Step 1
      answer("Shop")
  - id: weak
    user_task: "Look at the shop."
    expect: [{text: Shop}]
"""

ANSWER = repr("```python\n# Step 1\nanswer('Shop')\n```")
MODEL = '{"fake/m": {"plan": scripted_plan("look"), "generate": ' + ANSWER + "}}"


@pytest.fixture
def sound_and_weak(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A case whose controls hold, and one that has no oracle and passes by doing nothing."""
    # Two random actions say as much here as twelve.
    monkeypatch.setenv("AUTOWEB_MAX_STEPS", "2")
    (project.path / "cases/shop.yaml").write_text(CASES)
    return project


def report_of(project: pytest.Pytester) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((project.path / "autoweb-report/report.json").read_text())
    return report


def summary(project: pytest.Pytester) -> dict[str, Any]:
    told: dict[str, Any] = report_of(project)["summary"]
    return told


def test_controls_run_three_times_first_whatever_is_repeated_or_named(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest(
        *("cases", "-k", "login", "--collect-only", "-q", "--autoweb-controls"),
        *("--autoweb-models=openai/gpt-5,builtin/noop", "--autoweb-repeat=2"),
        "--autoweb-capture=ARIA,RAW_HTML",
    )

    names = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert names == [
        *(f"login[builtin/oracle-ARIA-{repeat}]" for repeat in (1, 2, 3)),
        *(f"login[builtin/noop-ARIA-{repeat}]" for repeat in (1, 2, 3)),
        *(f"login[builtin/random-ARIA-{repeat}]" for repeat in (1, 2, 3)),
        *(f"login[openai/gpt-5-{mode}-{n}]" for mode in ("ARIA", "RAW_HTML") for n in (1, 2)),
    ]


@pytest.mark.long
def test_a_case_whose_control_breaks_fails_and_one_without_an_oracle_is_unproven(
    sound_and_weak: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(MODEL)
    result = sound_and_weak.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "--autoweb-controls"
    )

    chance = {row["case_id"]: row["random_passed"] for row in summary(sound_and_weak)["controls"]}
    missed = 3 - chance["title"]
    # The weak case passes whatever is done.
    assert chance["weak"] == 3
    result.assert_outcomes(passed=3 + 2 + 6 - missed, xfailed=3 + missed, failed=3, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    weak, title = summary(sound_and_weak)["controls"]
    assert (weak["case_id"], weak["noop"], weak["noop_held"]) == ("weak", "broken", 0)
    assert (weak["oracle"], weak["oracle_runs"]) == ("unproven", 1)
    assert (title["oracle"], title["oracle_held"]) == ("holds", 3)
    assert (title["noop"], title["noop_held"]) == ("holds", 3)
    unproven = [
        cell["reason"]
        for case in report_of(sound_and_weak)["cases"]
        for cell in case["cells"]
        if cell["outcome"] == "skipped"
    ]
    assert unproven == [
        "the case has no `oracle` script, so nothing shows that its checks can pass"
    ]


@pytest.mark.long
def test_the_controls_of_a_saved_run_are_run_into_its_folder_and_reported_with_it(
    sound_and_weak: pytest.Pytester,
) -> None:
    folder = sound_and_weak.path / "autoweb-report"
    save_run(folder, [cell(CellKey("title", "m")), cell(CellKey("gone", "m"))])
    save_run(folder / "controls", [cell(CellKey("title", "builtin/noop"), "passed")])

    here = ("--rootdir", str(sound_and_weak.path))
    result = sound_and_weak.run(*autoweb_command(), "prove", str(folder), "--quick", *here)

    assert result.ret == 0
    said = result.stdout.str()
    assert "title  holds (3 of 3)  holds (3 of 3)" in said
    assert "cases/shop.yaml has no case gone any more" in said
    (row,) = report_of(sound_and_weak)["summary"]["controls"]
    assert (row["case_id"], row["oracle"], row["noop"]) == ("title", "holds", "holds")
    assert len(list(folder.glob("controls.*/manifest.json"))) == 1


@pytest.mark.long
def test_controls_of_case_files_end_with_1_when_one_is_broken(
    sound_and_weak: pytest.Pytester,
) -> None:
    text = (sound_and_weak.path / "cases/shop.yaml").read_text()
    (sound_and_weak.path / "cases/weak.yaml").write_text(text)

    sound_and_weak.makeini(f"[pytest]\nautoweb_store = sqlite:///runs.db\naddopts = {LEAN}\n")

    result = sound_and_weak.run(
        *autoweb_command(), "prove", "cases/weak.yaml::weak", "--quick", "--json"
    )

    assert result.ret == 1
    # Trials of cases are no runs of models, of which the project's store is a record.
    assert not (sound_and_weak.path / "runs.db").exists()
    document = json.loads(result.stdout.str())
    assert (document["format"], document["version"]) == ("pytest-autoweb/controls", 1)
    assert set(document) == {"format", "version", "report", "controls", "failed", "notes"}
    (weak,) = document["controls"]
    assert (weak["case_id"], weak["oracle"], weak["noop"]) == ("weak", "unproven", "broken")
    assert weak["reason"].startswith("doing nothing passes every check")
    assert document["failed"] == 1
    assert (sound_and_weak.path / "autoweb-controls/report.json").is_file()
