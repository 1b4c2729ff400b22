"""`autoweb export`: cells that passed become tests that need nothing but pytest-playwright."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from own_thread import in_own_thread
from playwright.sync_api import sync_playwright
from session_server import autoweb_command
from shop_project import LEAN

from pytest_autoweb.browser.egress.chromium import launch_args


@pytest.mark.long
def test_passed_cells_become_tests_that_run_bare_and_a_test_that_tells_nothing_is_refused(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project)
    ran = project.runpytest_subprocess(
        *("cases", "--autoweb-models=fake/wordy@turns,fake/numbers", "--autoweb-max-repairs=0"),
        *("--autoweb-models-file=models.yaml", "-k", "wordy or note"),
    )
    ran.assert_outcomes(passed=5, deselected=3)

    flags = ("--", *LEAN.split())
    done = autoweb(project, "export", "autoweb-report", "-o", "exported/tests", *flags)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "refused nothing: it passes without its actions" in done.stdout
    assert "refused spill: its cell blocked requests to http://127.0.0.1:18944, and" in done.stdout
    assert "not checked there: python: " in done.stdout
    assert "it needs the environment variables OFFICE_CODE, TOKEN" in done.stdout
    file = project.path / "exported/tests/test_shop.py"
    text = file.read_text(encoding="utf-8")
    assert sorted(path.name for path in file.parent.iterdir()) == ["test_shop.py"]
    assert "test_nothing" not in text
    assert "test_spill" not in text
    assert "import pytest_autoweb" not in text
    assert "sesame" not in text
    assert "127.0.0.1:" not in text.replace("127.0.0.1:{", "")
    # Numbers of the list have become locators.
    assert '.get_by_role("button", name="Note", exact=True).click()' in text

    # It is not lost by a second export.
    again = autoweb(project, "export", "autoweb-report", "-o", "exported/tests")
    assert again.returncode == 4
    assert "exists" in again.stderr

    monkeypatch.setenv("OFFICE_CODE", 'open "sesame" {now}')
    monkeypatch.setenv("TOKEN", "abc")
    result = bare(file.parent)
    assert "2 passed" in result.stdout, result.stdout + result.stderr


SITE = {
    "office.html": """<!doctype html><title>Office</title><h1>Sign in</h1>
<label>User <input id="user"></label> <label>Code <input id="code" type="password"></label>
<button onclick="enter()">Enter</button><p id="out"></p><script>
function enter() {
  if (code.value !== 'open "sesame" {now}') { out.textContent = 'wrong code'; return }
  location = 'desk.html?' + user.value
}
</script>""",
    "desk.html": """<!doctype html><title>Desk</title><h1>Desk</h1><p id="who"></p>
<label>Search <input id="search"></label>
<ul><li>Harbour: 17 sheets <button>Seal Harbour</button>
<li>Bridge: 23 sheets <button>Seal Bridge</button></ul>
<a href="data:text/csv,a;b" download="list.csv">List</a>
<iframe name="notes" srcdoc="<p>Notes</p><button onclick='this.textContent=`noted`'>Note</button>"
  width="400" height="200"></iframe>
<script>
who.textContent = navigator.language + ' ' + innerWidth + ' ' + document.cookie
for (const button of document.querySelectorAll('li button')) button.onclick = () => {
  fetch('api/seal', {method: 'POST', body: JSON.stringify({name: button.textContent, by: 'ana'})})
  button.outerHTML = '<b>' + button.textContent + ' done</b>'
}
</script>""",
}
CASES = r"""
version: 1
webserver: {static: ../site}
cases:
  - id: seal
    entry_url: "{{ webserver.url }}office.html"
    user_task: 'Sign in, and seal "the thickest"; \ how many sheets has it?'
    secrets: {code: {env: OFFICE_CODE, default: 'open "sesame" {now}'}, token: {default: abc}}
    setup:
      cookies: [{name: seen, value: "{{ secrets.token }}"}]
      viewport: {width: 700, height: 500}
      locale: de-DE
      js: "() => localStorage.setItem('was', 'here')"
    expect:
      - url: "**/desk.html?ana"
      - text: "de-DE 700 seen="
      - element: {role: button, name: Seal Harbour, count: 1}
      - element: {role: button, name: Seal Bridge, visible: false}
      - element: {label: Search, value: '"{x}'}
      - js: "return localStorage.was === 'here'"
      - answer: {equals: 23}
      - request: {method: POST, url: "**/api/seal", json: {name: Seal Bridge}}
      - download: {name: "*.csv", contains: "a;b"}
      - {js: "document.frames === undefined", message: always}
      - python: judges:late
  - id: note
    entry_url: "{{ webserver.url }}desk.html"
    user_task: "Press Note."
    expect:
      - text: noted
  - id: spill
    entry_url: "{{ webserver.url }}desk.html"
    user_task: "Press Note."
    expect:
      - text: noted
  - id: nothing
    entry_url: "{{ webserver.url }}office.html"
    user_task: "Type something."
    expect:
      - text: Sign in
      - python: judges:late
"""
CLIENT = r'''
from pytest_autoweb.testing import ScriptedClient

SEAL = [
    """First the user; the code's name is wrong.
```python
def typed(label, text):
    global fields
    fields += 1
    page.get_by_label(label).fill(text)
fields = 0
typed("User", f"{'a'}na")
page.get_by_label("Codeword").fill("<secret:code>", timeout=300)
```""",
    """```python
import re
typed(
    "Code",
    "<secret:code>",
)
page.get_by_role("button", name="Enter").click()
page.wait_for_url("**/desk.html*")
log(f"typed into {fields} fields")
```""",
    """```python
# The thickest is the one with most sheets.
most = max(int(n) for n in re.findall(r"(\\d+) sheets", page.locator("ul").inner_text()))
page.get_by_role("button", name="Seal Bridge").click()
typed("Search", """ + "\'\'\'" + """"{x}\'\'\'""" + """)
with page.expect_download() as info:
    page.get_by_role("link", name="List").click()
answer(most if fields == 3 else None)
```
DONE""",
]
NOTE = """```python
page.frame_locator("iframe").get_by_role("button", name="Note").click()
```
DONE"""
SPILL = """```python
page.evaluate("fetch('http://127.0.0.1:18944/', {method: 'POST', body: 'x'}).catch(() => 0)")
page.frame_locator("iframe").get_by_role("button", name="Note").click()
```
DONE"""
NOTHING = """```python
page.get_by_label("User").fill("x")
```
DONE"""


class Turns:
    def __init__(self):
        wordy = {"seal": SEAL, "note": [NOTE], "nothing": [NOTHING], "spill": [SPILL]}
        self.wordy = {case: ScriptedClient({"generate": said}) for case, said in wordy.items()}

    def complete(self, request):
        return self.wordy[request.case_id].complete(request)


def pytest_autoweb_client(spec):
    if spec.litellm_model == "fake/wordy":
        return Turns()
    if spec.litellm_model == "fake/numbers":
        return ScriptedClient({"generate": ["```\ne6.click()\ndone()\n```"]})
'''


def autoweb(project: pytest.Pytester, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [*autoweb_command(), *arguments]
    return subprocess.run(
        command, cwd=project.path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def furnish(project: pytest.Pytester) -> None:
    for name, text in SITE.items():
        (project.path / "site" / name).write_text(text, encoding="utf-8")
    (project.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    judges = "def late(context):\n    return True\n"
    (project.path / "cases/judges.py").write_text(judges, encoding="utf-8")
    (project.path / "models.yaml").write_text("fake/numbers: {dialect: refs}\n", encoding="utf-8")
    project.makeconftest(CLIENT)


def own_chromium() -> dict[str, Any]:
    with sync_playwright() as playwright:
        return launch_args({}, playwright_executable=playwright.chromium.executable_path)


def bare(folder: Path) -> "subprocess.CompletedProcess[str]":
    """The result of the written tests where this package cannot be imported."""
    args = in_own_thread(own_chromium)
    (folder / "conftest.py").write_text(
        'import sys\nimport pytest\nsys.modules["pytest_autoweb"] = None\n'
        "@pytest.fixture(scope='session')\n"
        f"def browser_type_launch_args():\n    return {args!r}\n",
        encoding="utf-8",
    )
    flags = ("-p", "no:autoweb", *LEAN.split(), "-q", "--confcutdir=.")
    command = [sys.executable, "-m", "pytest", *flags, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)
