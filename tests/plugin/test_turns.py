"""`--autoweb-codegen`: a script that is written turn by turn, and the comparison with one at once."""

import json
from typing import Any

import pytest

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
    page = text[text.rindex("<<page ") :]
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


def run(office: pytest.Pytester, *flags: str) -> dict[str, Any]:
    office.runpytest_subprocess("cases", "--autoweb-max-repairs=0", *flags)
    text = (office.path / "autoweb-report/report.json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(text)
    return report


def test_turns_pass_where_a_script_at_once_is_blind(office: pytest.Pytester) -> None:
    report = run(office, "--autoweb-models=fake/looks", "--autoweb-codegen=turns,once")

    cells = {cell["model"]: cell for case in report["cases"] for cell in case["cells"]}
    assert {model: cell["outcome"] for model, cell in cells.items()} == {
        "fake/looks@turns": "passed",
        "fake/looks@once": "failed",
    }
    (attempt,) = cells["fake/looks@turns"]["attempts"]
    assert attempt["turns"] == 4
    assert [step["status"] for step in attempt["step_results"]] == ["ok", "ok", "corrected", "ok"]
    assert attempt["executed"]
    assert attempt["answer"] == 23
