"""Findings about the answer reach the repair; functions of the project judge the outcome."""

import json
from collections.abc import Callable
from typing import Any

import pytest

CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: orders
    entry_url: "{{ webserver.url }}index.html"
    user_task: "List the orders of batch MB-001."
    expect:
      - answer: {records: {where: {batch: MB-001}}}
        weight: 3
      - {python: "own_checks:is_on", with: {page: index.html}}
"""
CHECKS = """
from pytest_autoweb.checks import CheckContext

def is_on(context: CheckContext, page: str) -> bool:
    return context.url.endswith(page)
"""
HINT = (
    "The answer holds 2 records; 1 of 2 do not meet the condition batch = MB-001. "
    "Apply every condition."
)


def script(*batches: str) -> str:
    records = [{"batch": batch} for batch in batches]
    return repr(f"```python\n# Step 1\nanswer({records})\n```")


@pytest.mark.long
def test_the_missing_condition_is_told_to_the_repair(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    (project.path / "cases" / "shop.yaml").write_text(CASES)
    (project.path / "own_checks.py").write_text(CHECKS)
    scripted(
        '{"fake/m": {"plan": scripted_plan("list"), "generate": '
        f"{script('MB-001', 'MB-002')}, 'repair': {script('MB-001')}}}}}"
    )

    result = project.runpytest_subprocess("cases", "--autoweb-models=fake/m")

    result.assert_outcomes(passed=1)
    (path,) = (project.path / "autoweb-report").rglob("cell.json")
    cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    first, second = cell["attempts"]
    assert [check["finding"] for check in first["checks"]] == ["PARTIAL_MATCH", ""]
    assert [check["passed"] for check in first["checks"]] == [False, True]
    assert first["checks"][0]["hint"] == HINT
    assert first["score"] == pytest.approx((3 * 0.5 + 1) / 4)
    (prompt,) = (each["prompt"] for each in second["exchanges"] if each["stage"] == "repair")
    assert (
        f"was not reached. Not as it should be: the answer. {HINT} Fix only what is necessary;"
        in prompt
    )
    assert (cell["outcome"], second["score"]) == ("healed", 1.0)


def test_a_function_that_is_not_there_is_told_before_anything_runs(
    project: pytest.Pytester,
) -> None:
    (project.path / "cases" / "shop.yaml").write_text(CASES)

    result = project.runpytest("cases", "--autoweb-models=builtin/noop")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "shop.yaml:11: cases[0].expect[1].python: there is no module 'own_checks'" in text
