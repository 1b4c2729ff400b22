"""Runs under changes of the page: what they cost, and cases to which they are unfair."""

import json

import pytest
from shop_project import SharedProject

CASES = """
version: 1
webserver: {static: ../site}
defaults: {entry_url: "{{ webserver.url }}index.html"}
cases:
  - id: login
    user_task: "Log in as ana."
    expect: [{text: "Welcome, ana"}]
    oracle: |
      # Step 1
      page.get_by_label("Name").fill("ana")
      page.get_by_role("button", name="Log in").click()
  - id: quiet
    user_task: "Log in as ana, with nothing else on the page."
    expect: [{text: "Welcome, ana"}, {element: {role: dialog, count: 0}}]
    oracle: |
      # Step 1
      page.get_by_label("Name").fill("ana")
      page.get_by_role("button", name="Log in").click()
  - id: unsolved
    user_task: "Log in as ana."
    expect: [{text: "Welcome, ana"}]
"""
SOLVES = """# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("button", name="Log in").click()
"""
# Answers only where nothing asks for consent.
SHY = """# Step 1
if page.get_by_role("dialog").count() == 0:
    page.get_by_label("Name").fill("ana")
    page.get_by_role("button", name="Log in").click()
"""


@pytest.mark.long
def test_the_loss_is_counted_over_the_cases_that_the_oracle_can_still_do(
    shared_project: SharedProject,
) -> None:
    folder = shared_project.path
    (folder / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    answers = {
        f"fake/{name}{ending}": {"plan": None, "generate": f"```python\n{code}```"}
        for name, code in {"steady": SOLVES, "shy": SHY}.items()
        for ending in ("", "@banner")
    }
    shared_project.script(repr(answers).replace("None", "scripted_plan('log in')"))
    result = shared_project.run(
        "cases",
        "--autoweb-models=fake/steady,fake/shy",
        "--autoweb-perturb=banner",
        "--autoweb-max-repairs=0",
        "--autoweb-min-pass-rate=0%",
    )
    assert result.ret == 0, "\n".join(result.outlines + result.errlines)
    report = json.loads((folder / "autoweb-report/report.json").read_text(encoding="utf-8"))

    rows = {row["model"]: row for row in report["robustness"]}
    assert rows.keys() == {"fake/steady", "fake/shy"}, result.outlines
    for row in rows.values():
        assert row["change"] == "banner"
        assert (row["unfair"], row["unproven"], row["cases"]) == (["quiet"], ["unsolved"], 1)
    assert rows["fake/steady"]["loss"] == 0.0
    assert rows["fake/shy"]["loss"] == 1.0
    text = "\n".join(result.outlines)
    assert "fake/shy under banner: loses 100 points" in text
    assert "1 unfair, left out; 1 unproven, left out" in text
