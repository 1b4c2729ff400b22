"""Steps that run out of time, and what the terminal shows meanwhile."""

import json
from collections.abc import Callable
from typing import Any

import pytest

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


def cell_of(project: pytest.Pytester) -> dict[str, Any]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cell: dict[str, Any] = report["cases"][0]["cells"][0]
    return cell


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
    assert cell["attempts"][0]["step_results"][0]["retried"]
    clicks = [c for c in cell["attempts"][0]["tool_calls"] if c["method"] == "click"]
    assert ["Add" in call["target"] for call in clicks if call["ok"]].count(True) == 1


@pytest.mark.parametrize(
    "late",
    [
        'expect(page.get_by_role("button", name="Finish")).to_be_visible(timeout=900)\n',
        'page.get_by_role("button", name="Finish").click(timeout=900)\n',
    ],
)
def test_a_step_is_continued_too_when_a_timeout_of_its_own_ran_out(
    project: pytest.Pytester, late: str
) -> None:
    (project.path / "site/slow.html").write_text(SLOW_PAGE)
    finish = '      page.get_by_role("button", name="Finish").click()\n'
    assert finish in CASE
    last = f"      {late}" + (finish if "expect" in late else "")
    (project.path / "cases/shop.yaml").write_text(CASE.replace(finish, last))
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle").assert_outcomes(
        passed=1
    )

    cell = cell_of(project)
    assert cell["slow"]
    clicks = [c for c in cell["attempts"][0]["tool_calls"] if c["method"] == "click"]
    assert ["Add" in call["target"] for call in clicks if call["ok"]].count(True) == 1


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


def test_verbose_shows_a_line_for_each_stage_and_stdout_streams_the_log(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = project.runpytest_subprocess(
        *("cases", "-k", "title", "-v", "--autoweb-stdout"),
        *("--autoweb-models=builtin/oracle", *workers),
    )

    result.stdout.fnmatch_lines(
        ["*title[[]builtin/oracle] · plan*", "*title[[]builtin/oracle] · judge*"]
    )
    result.stdout.fnmatch_lines(["*title[[]builtin/oracle] │ step 1*ok*"])
    result.stdout.fnmatch_lines(["report: *autoweb-report/index.html"])


def test_junit_carries_the_cells_properties(project: pytest.Pytester) -> None:
    project.runpytest_subprocess(
        "cases", "-k", "title", "--autoweb-models=builtin/oracle", "--junitxml=out.xml"
    )

    xml = (project.path / "out.xml").read_text()
    assert 'name="autoweb.model" value="builtin/oracle"' in xml
    assert 'name="autoweb.outcome" value="passed"' in xml
