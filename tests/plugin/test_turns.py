"""Scripts that are written turn by turn (`codegen:turns`), compared with scripts at once."""

import json
import re
from typing import Any

import pytest

from pytest_autoweb import Report
from pytest_autoweb.session.local_analysis import compact_input


@pytest.mark.long
def test_turns_pass_where_a_script_at_once_is_blind(office: pytest.Pytester) -> None:
    report = run(
        office, "--autoweb-models=fake/looks", "--autoweb-agent=codegen:turns,codegen:once"
    )

    cells = {cell["model"]: cell for case in report["cases"] for cell in case["cells"]}
    assert {model: cell["outcome"] for model, cell in cells.items()} == {
        "fake/looks@codegen:turns": "passed",
        "fake/looks@codegen:once": "failed",
    }
    (attempt,) = cells["fake/looks@codegen:turns"]["attempts"]
    assert attempt["turns"] == 4
    assert [step["status"] for step in attempt["step_results"]] == ["ok", "ok", "corrected", "ok"]
    assert attempt["executed"]
    assert attempt["answer"] == 23


@pytest.mark.long
def test_a_case_says_how_its_script_is_written_before_the_flags_do(
    office: pytest.Pytester,
) -> None:
    cases = office.path / "cases/shop.yaml"
    cases.write_text(CASES.replace("    entry_url:", "    agent: codegen:once\n    entry_url:", 1))

    flags = ("--autoweb-models=fake/looks", "--autoweb-codegen=turns", "-W", "error")
    report = run(office, *flags, shows="autoweb: --autoweb-codegen is an old name, *agent=*")

    (cell,) = report["cases"][0]["cells"]
    assert (cell["outcome"], cell["strategy"]) == ("failed", "codegen")
    assert cell["attempts"][0]["plan_text"]


@pytest.mark.long
def test_each_turn_is_told_what_became_of_the_last_one(office: pytest.Pytester) -> None:
    report = run(office, "--autoweb-models=fake/looks@turns")

    (attempt,) = report["cases"][0]["cells"][0]["attempts"]
    assert_no_plan_was_invented(attempt, report)
    third, fourth = (
        re.split(r"(?m)^\[(system|user|assistant)\]\n", exchange["prompt"])[1:]
        for exchange in attempt["exchanges"][2:]
    )
    # Roles take turns, because some servers refuse two messages of one role in a row.
    assert fourth[::2] == ["system", *["user", "assistant"] * 3, "user"]
    # What was sent before stays as it was, which prompt caches need.
    assert third[:5] == fourth[:5]
    told = fourth[-1]
    assert "TURN 3 ended in an error" in told
    assert 'page.get_by_role("button", name="Seal the thickest")' in told
    assert "waiting for get_by_role" in told
    # Durations would make each prompt a new one, which no cassette holds.
    assert "Timeout 300ms exceeded" in told
    assert "It logged:" in told
    assert "TURN 4 OF 12" in told
    # Only the newest page is shown.
    assert sum(text.count("<<page ") for text in fourth) == 1


def assert_no_plan_was_invented(attempt: dict[str, Any], report: dict[str, Any]) -> None:
    """Nobody asked for a plan; what each turn did stands with its result."""
    assert (attempt["plan_text"], attempt["plan_steps"]) == ("", [])
    assert (attempt["plan_confirmed"], attempt["plan_has_question"]) == (None, None)
    assert "plan" not in attempt["stage_ms"]
    (row,) = report["summary"]["models"]
    assert (row["numbers"]["plans"], row["numbers"]["plans_confirmed"]) == (0, 0)
    told = [step["description"] for step in attempt["step_results"]]
    assert len(told) == 4
    assert not any(description.startswith("turn ") for description in told)
    prompt = compact_input(Report.model_validate(report))
    assert "planConfirmed=not asked steps=4" in prompt


@pytest.mark.long
def test_the_limit_ends_an_attempt_and_is_reported(office: pytest.Pytester) -> None:
    shown = "*attempt 1: 3 turns, steps 1:ok 2:ok 3:failed"
    flags = ("--autoweb-models=fake/looks@turns", "--autoweb-max-steps=3")
    report = run(office, *flags, shows=shown)

    cell = report["cases"][0]["cells"][0]
    (attempt,) = cell["attempts"]
    assert cell["outcome"] == "failed"
    assert attempt["turns"] == 3
    # Nothing followed in which the last error could be corrected.
    assert [step["status"] for step in attempt["step_results"]] == ["ok", "ok", "failed"]
    assert attempt["code_notes"] == [
        "The limit of 3 turns was reached before the model said that it was done."
    ]


SITE = {
    "index.html": """<!doctype html><title>Office</title><h1>Sign in</h1>
<label>User <input id="user"></label>
<button onclick="location = 'desk.html?' + document.getElementById('user').value">Enter</button>""",
    "desk.html": """<!doctype html><title>Desk</title><h1>Desk</h1>
<a href="files.html">Filing cabinet</a> <a href="index.html">Leave</a>""",
    "files.html": """<!doctype html><title>Files</title><h1>Files</h1>
<ul><li>Harbour: 17 sheets <button onclick="seal('Harbour')">Seal Harbour</button>
<li>Bridge: 23 sheets <button onclick="seal('Bridge')">Seal Bridge</button></ul><p id="out"></p>
<script>function seal(name) { out.textContent = name + ' is sealed' }</script>""",
}
CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: seal
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Sign in as ana, open the files and seal the thickest one. How many sheets has it?"
    expect:
      - text: Bridge is sealed
      - answer: {equals: 23}
"""
CLIENT = r'''
import re

import pytest
from pytest_autoweb.testing import ScriptedClient, scripted_plan


def looks(request):
    """Knows nothing but what it is sent: names come from the listing that is shown last."""
    text = request.messages[-1].content
    # An equal page is not listed again.
    shown = "\n".join(message.content for message in request.messages)
    page = shown[shown.rindex("<<page ") :]
    names = dict(re.findall(r'(button|link|textbox) "([^"]+)"', page)[::-1])
    if "textbox" in names:
        code = f"""page.get_by_label("{names['textbox']}").fill("ana")
page.get_by_role("button", name="{names['button']}").click()"""
        return f"First I sign in.\n```python\n{code}\n```"
    if "link" in names:
        return f"""```python\npage.get_by_role("link", name="{names['link']}").click()\n```"""
    if "ended in an error" in text:
        sheets = max(map(int, re.findall(r"(\d+) sheets", page)))
        name = re.search(rf"(\w+): {sheets} sheets", page)[1]
        return f"""```python
page.get_by_role("button", name="Seal {name}").click()
answer(most)
```
DONE"""
    return """Counting.
```python
most = max(int(found) for found in re.findall(r"(\\d+) sheets", page.locator("ul").inner_text()))
log(most)
page.get_by_role("button", name="Seal the thickest").click(timeout=300)
```"""


BLIND = """```python
# Step 1
page.get_by_label("User").fill("ana")
page.get_by_role("button", name="Enter").click()
page.get_by_role("link", name="Files").click(timeout=300)
```"""


@pytest.hookimpl
def pytest_autoweb_client(spec):
    if spec.litellm_model == "fake/looks":
        return ScriptedClient(
            {
                "plan": scripted_plan("do it"),
                "generate": looks if spec.takes_turns else BLIND,
                "repair": looks if spec.takes_turns else BLIND,
            }
        )
'''


@pytest.fixture
def office(project: pytest.Pytester) -> pytest.Pytester:
    for name, text in SITE.items():
        (project.path / "site" / name).write_text(text, encoding="utf-8")
    (project.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    project.makeconftest(CLIENT)
    return project


def run(office: pytest.Pytester, *flags: str, shows: str = "*autoweb*") -> dict[str, Any]:
    result = office.runpytest_subprocess("cases", "--autoweb-max-repairs=0", *flags)
    result.stdout.fnmatch_lines([shows])
    text = (office.path / "autoweb-report/report.json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(text)
    return report
