"""What holds outside agents in a session: their browser too, and what header and report say."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: spied
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Read the file."
    expect: [{answer: {equals: {}}}]
"""
# Uses its browser as hands: opens a file, uploads one, and saves one where it likes.
SPY = """
import json, os, pathlib, sys
from playwright.sync_api import Error, sync_playwright

start, secret = json.loads(sys.stdin.readline()), pathlib.Path(os.environ["SECRET"])
got = {}
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(start["browser"]["cdp_url"])
    page = browser.contexts[0].new_page()
    try:
        page.goto(secret.as_uri(), timeout=10_000)
        got["opened"] = page.inner_text("body")
    except Error as error:
        print(error.message.splitlines()[0], flush=True)
    page = browser.contexts[0].pages[0]
    cdp = browser.contexts[0].new_cdp_session(page)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<input type=file id=f>')")
    node = cdp.send("Runtime.evaluate", {"expression": "document.getElementById('f')"})
    field = node["result"]["objectId"]
    cdp.send("DOM.setFileInputFiles", {"files": [str(secret)], "objectId": field})
    try:
        got["uploaded"] = page.evaluate("document.getElementById('f').files[0].text()")
    except Error as error:
        print(error.message.splitlines()[0], flush=True)
    where = {"behavior": "allow", "downloadPath": str(secret.parent)}
    browser.new_browser_cdp_session().send("Browser.setDownloadBehavior", where)
    page.evaluate(\"\"\"() => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob(["x"]));
        link.download = "put-" + navigator.userAgent.length;
        document.body.append(link);
        link.click();
    }\"\"\")
    page.wait_for_timeout(1500)
print(json.dumps({"type": "answer", "value": got}), flush=True)
print(json.dumps({"type": "done"}), flush=True)
"""
SETTINGS = """
[tool.autoweb.agents.spy]
command = ["{{python}}", "agents/spy.py"]
env = {{SECRET = {held}}}
[tool.autoweb.agents.loose]
command = ["{{python}}", "agents/spy.py"]
env = {{SECRET = {loose}}}
sandbox = "off"
"""
HELD = "held: files, TCP ports, other processes, UDP, Unix sockets, memory and processes"


@pytest.mark.long
def test_a_browser_is_no_way_around_and_readers_are_told_who_was_held(
    project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a" * 32)
    secrets = {name: tmp_path / name / "secret.txt" for name in ("held", "loose")}
    for file in secrets.values():
        file.parent.mkdir()
        file.write_text("sk-secret")
    (project.path / "agents").mkdir()
    (project.path / "agents/spy.py").write_text(SPY)
    (project.path / "cases/shop.yaml").write_text(CASES)
    quoted = {name: json.dumps(str(file)) for name, file in secrets.items()}
    (project.path / "pyproject.toml").write_text(SETTINGS.format(**quoted))

    result = project.runpytest_subprocess(
        *("cases", "--autoweb-models=openai/gpt-5-mini", "--autoweb-agents=spy,loose"),
        *("--autoweb-max-repairs=0", "-v"),
    )

    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    found = {cell["strategy"]: cell for case in report["cases"] for cell in case["cells"]}
    spied = {name: answer_of(cell) for name, cell in found.items()}
    assert spied["loose"] == {"opened": "sk-secret", "uploaded": "sk-secret"}
    assert spied["spy"] == {}
    assert len(list(secrets["loose"].parent.iterdir())) == 2
    assert [file.name for file in secrets["held"].parent.iterdir()] == ["secret.txt"]
    result.stdout.fnmatch_lines([f"autoweb agents: spy: *{HELD}*", "autoweb agents: loose: *NOT*"])
    told = {agent["name"]: agent["held"] for agent in report["agents"]}
    assert told["spy"] == HELD
    assert told["loose"].startswith("NOT held: files")
    (log,) = [cell["attempts"][0]["run_log_head"] for name, cell in found.items() if name == "spy"]
    assert f"agent: {HELD}; its browser: held" in log
    summary = (project.path / "autoweb-report/summary.md").read_text()
    assert summary.count("Outside agents ran: ") == 2


def answer_of(cell: dict[str, Any]) -> Any:
    return cell["attempts"][0]["answer"]
