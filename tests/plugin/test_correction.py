"""Corrections in a whole session: several arms from one failure, and the login hook."""

import json
from collections.abc import Callable

import pytest

WRONG = 'page.get_by_role("button", name="Login", exact=True).click(timeout=500)'
RIGHT = 'page.get_by_label("Name").fill("ana")\npage.get_by_role("button", name="Log in").click()'


def fenced(code: str) -> str:
    return f"```python\n# Step 1\n{code}\n```"


@pytest.mark.long
def test_arms_start_from_the_same_failure_and_the_report_states_their_gain(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    held = RIGHT.replace('"Log in")', '"Log in", exact=True)').replace(
        '"Name")', '"Name", exact=True)'
    )
    held = held.replace(
        'get_by_label("Name", exact=True)', 'get_by_role("textbox", name="Name", exact=True)'
    )
    scripted(
        repr(
            {
                "fake/m": {
                    "plan": [PLAN],
                    "generate": [fenced(WRONG), fenced(WRONG + "  # 2"), fenced(WRONG + "  # 3")],
                    "repair": [fenced(held)],
                }
            }
        )
    )

    result = project.runpytest_subprocess(
        "cases",
        "-k",
        "login",
        "--autoweb-models=fake/m",
        "--autoweb-correction=constrained,plain",
        "--autoweb-max-repairs=1",
    )

    result.assert_outcomes(passed=1, deselected=1)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cell = report["cases"][0]["cells"][0]
    first, retry = cell["attempts"]
    assert first["classification"]["type"] == "DATA_NOT_FOUND"
    near = [found for found in first["findings"] if found["code"] == "near"]
    assert "Log in" in near[0]["fact"]
    told = next(each["prompt"] for each in retry["exchanges"] if each["stage"] == "repair")
    assert "Log in" in told
    assert "Welcome, ana" not in told
    assert retry["correction"]["outcome"] == "solved"
    beside = cell["arms"][0]
    assert (cell["outcome"], beside["arm"], beside["passed"]) == ("healed", "plain", False)
    # The control arm asks for the script as if for the first time.
    prompts = [each["prompt"] for each in beside["attempts"][0]["exchanges"]]
    assert prompts == [each["prompt"] for each in first["exchanges"] if each["stage"] == "generate"]
    arms = {arm["arm"]: arm for arm in report["corrections"][0]["arms"]}
    assert (arms["constrained"]["gain"], arms["constrained"]["pairs"]) == (1.0, 1)
    assert "refuses a script with other elements" in arms["constrained"]["differs"]
    assert arms["plain"]["differs"]
    assert "Failures and corrections" in (project.path / "autoweb-report/index.html").read_text()


PLAN = """PLAN_START
Step 1: log in
- Description: log in
- Target URL: CURRENT_PAGE
- Entry Point Action: Direct URL
- Status: CONFIRMED
PLAN_END"""
