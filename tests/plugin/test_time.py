"""Steps that run out of time, and what the terminal shows meanwhile."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from made_up_run import assert_all_time_is_in_stages

SLOW_PAGE = """<!doctype html><title>Slow</title>
<button id="add" onclick="this.dataset.clicks = 1 + Number(this.dataset.clicks || 0);
  setTimeout(() => document.body.insertAdjacentHTML('beforeend',
    '<button onclick=done()>Finish</button>'), 2500)">Add</button>
<p id="out"></p>
<script>function done() {
  document.getElementById('out').textContent =
    'clicks: ' + document.getElementById('add').dataset.clicks }</script>"""
CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: slow
    entry_url: "{{ webserver.url }}slow.html"
    user_task: "Add, then finish."
    expect: [text: "clicks: 1"]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Add").click()
      page.get_by_role("button", name="Finish").click()
"""


def cells_of(project: pytest.Pytester) -> list[dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return [cell for case in report["cases"] for cell in case["cells"]]


def cell_of(project: pytest.Pytester) -> dict[str, Any]:
    (cell,) = cells_of(project)
    return cell


@pytest.mark.long
def test_a_step_out_of_time_is_continued_once_without_repeating_what_it_did(
    project: pytest.Pytester,
) -> None:
    (project.path / "site/slow.html").write_text(SLOW_PAGE)
    (project.path / "cases/shop.yaml").write_text(CASE)
    project.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/oracle", "--autoweb-step-timeout=1"
    ).assert_outcomes(passed=1)

    cell = cell_of(project)
    assert cell["outcome"] == "passed"
    assert cell["slow"]
    (step,) = cell["attempts"][0]["step_results"]
    assert step["retried"]
    # One second of the first try, one of pause, and what was left until the button came.
    assert 2400 < step["duration_ms"] <= cell["attempts"][0]["stage_ms"]["execute"]
    assert_all_time_is_in_stages([cell])
    clicks = [c for c in cell["attempts"][0]["tool_calls"] if c["method"] == "click"]
    assert ["Add" in call["target"] for call in clicks if call["ok"]].count(True) == 1


@pytest.mark.long
def test_a_step_is_continued_too_when_a_timeout_of_its_own_ran_out(
    project: pytest.Pytester,
) -> None:
    (project.path / "site/slow.html").write_text(SLOW_PAGE)
    finish = '      page.get_by_role("button", name="Finish").click()\n'
    claim = '      expect(page.get_by_role("button", name="Finish")).to_be_visible(timeout=900)\n'
    assert finish in CASE
    for name, late in (
        ("shop", finish.replace("click()", "click(timeout=900)")),
        ("claim", claim + finish),
    ):
        text = CASE.replace(finish, late)
        (project.path / f"cases/{name}.yaml").write_text(text)
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle").assert_outcomes(
        passed=2
    )

    for cell in cells_of(project):
        assert cell["slow"], cell["folder"]
        clicks = [c for c in cell["attempts"][0]["tool_calls"] if c["method"] == "click"]
        added = ["Add" in call["target"] for call in clicks if call["ok"]].count(True)
        assert added == 1, cell["folder"]


@pytest.mark.long
def test_a_hung_step_is_killed_and_the_attempt_goes_on_to_its_report(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    hang = repr("```python\n# Step 1\ntotal = 0\nfor i in range(10**12):\n    total += i\n```")
    scripted('{"fake/m": {"plan": scripted_plan("count"), "generate": ' + hang + "}}")
    project.runpytest_subprocess(
        *("cases", "-k", "login", "--autoweb-models=fake/m"),
        *("--autoweb-step-timeout=1", "--autoweb-max-repairs=0"),
    )

    cell = cell_of(project)
    assert cell["outcome"] == "failed"
    assert cell["attempts"][0]["step_results"][0]["status"] == "failed"
    assert cell["attempts"][0]["checks"][0]["passed"] is False


@pytest.mark.long
def test_workers_show_a_line_for_each_stage_stream_the_log_and_write_junit(
    project: pytest.Pytester,
) -> None:
    result = project.runpytest_subprocess(
        *("cases", "-k", "title", "-v", "--autoweb-stdout", "--junitxml=out.xml"),
        *("--autoweb-models=builtin/oracle", "-n", "2"),
    )

    result.stdout.fnmatch_lines(
        ["*title[[]builtin/oracle] · plan*", "*title[[]builtin/oracle] · judge*"]
    )
    result.stdout.fnmatch_lines(["*title[[]builtin/oracle] │ step 1*ok*"])
    result.stdout.fnmatch_lines(["report: *autoweb-report/index.html"])
    xml = (project.path / "out.xml").read_text()
    assert 'name="autoweb.model" value="builtin/oracle"' in xml
    assert 'name="autoweb.outcome" value="passed"' in xml
