"""`--autoweb-controls`, and the controls of a saved run."""

import json
from collections.abc import Callable
from typing import Any

import pytest

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
def sound_and_weak(project: pytest.Pytester) -> pytest.Pytester:
    """A case whose controls hold, and one that has no oracle and passes by doing nothing."""
    (project.path / "cases/shop.yaml").write_text(CASES)
    return project


def report_of(project: pytest.Pytester) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((project.path / "autoweb-report/report.json").read_text())
    return report


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
        *(f"login[openai/gpt-5-{mode}-{n}]" for mode in ("ARIA", "RAW_HTML") for n in (1, 2)),
    ]


def test_a_case_whose_control_breaks_fails_and_one_without_an_oracle_is_unproven(
    sound_and_weak: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(MODEL)
    result = sound_and_weak.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "--autoweb-controls", "-n", "2"
    )

    result.assert_outcomes(passed=3 + 2, xfailed=3, failed=3, skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    weak, title = report_of(sound_and_weak)["summary"]["controls"]
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
