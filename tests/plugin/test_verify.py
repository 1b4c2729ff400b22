"""`autoweb run rejudge`: a saved run judged again by what it kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from session_server import autoweb_command

SECRET = "hunter2-hunter2"
PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1>
<label>Name <input id=name></label> <label>Password <input id=pw type=password></label>
<button onclick="fetch('/api/login', {method: 'POST', body: new URLSearchParams(
  {user: document.getElementById('name').value, password: pw.value})}).catch(() => 0);
  out.textContent = 'Welcome, ' + document.getElementById('name').value">Log in</button>
<a href=orders.csv download>Orders</a><p id=out></p>"""
CASES = """
version: 1
webserver: {static: ../site}
defaults: {entry_url: "{{ webserver.url }}shop.html"}
cases:
  - id: login
    user_task: "Log in."
    secrets: {password: {default: hunter2-hunter2}}
    expect:
      - text: "Welcome, ana"
      - url: "{{ webserver.url }}shop.html"
      - js: "document.title == 'Shop'"
      - element: {label: Password, value: "<secret:password>"}
      - request: {method: POST, url: "**/login", json: {user: ana, password: "<secret:password>"}}
      - download: {name: "*.csv", contains: tea}
      - answer: {equals: 4}
    oracle: |
      # Step 1
      page.get_by_label("Name").fill("ana")
      page.get_by_label("Password").fill("<secret:password>")
      page.get_by_role("button", name="Log in").click()
      with page.expect_download():
          page.get_by_role("link", name="Orders").click()
      answer(4)
"""


@pytest.fixture
def saved(project: pytest.Pytester) -> pytest.Pytester:
    """A project with one run of one passed cell, and a cell that never ended."""
    (project.path / "site" / "shop.html").write_text(PAGE, encoding="utf-8")
    (project.path / "site" / "orders.csv").write_text("tea,4\n", encoding="utf-8")
    (project.path / "cases" / "shop.yaml").write_text(CASES, encoding="utf-8")
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle").assert_outcomes(
        passed=1
    )
    return project


def verify(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.run(*autoweb_command(), "run", "rejudge", "autoweb-report", *arguments)


def change(project: pytest.Pytester, **texts: str) -> None:
    path = project.path / "cases" / "shop.yaml"
    content = CASES
    for old, new in texts.items():
        before = {"text": "Welcome, ana", "js": "'Shop'", "download": "tea", "task": "Log in."}[old]
        content = content.replace(before, new)
    path.write_text(content, encoding="utf-8")


def cell(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("cells/login/*/*/cell.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.long
def test_a_saved_run_is_judged_again_without_its_server_or_its_cases(
    saved: pytest.Pytester,
) -> None:
    before = {p: p.read_bytes() for p in (saved.path / "autoweb-report").rglob("*") if p.is_file()}
    killed = saved.path / "autoweb-report" / "cells" / "login" / "fake" / "ARIA_SNAPSHOT-1"
    kept = [path for path, content in before.items() if SECRET.encode() in content]
    assert kept == []

    same = verify(saved, "--fail-on-change")
    assert same.ret == 0
    same.stdout.fnmatch_lines(
        ["login?builtin/oracle-ARIA_SNAPSHOT-1?: passed", "1 cells judged again: 0 changed*"]
    )
    again = cell(saved.path / "autoweb-report-verified")
    verdicts = [(c["type"], c["passed"], c["message"]) for c in again["attempts"][0]["checks"]]
    recorded = "as recorded, not judged again"
    assert verdicts == [
        (name, True, recorded if name == "js" else "")
        for name in ("text", "url", "js", "element", "request", "download", "answer")
    ]
    assert (saved.path / "autoweb-report-verified" / "index.html").is_file()

    killed.mkdir(parents=True)
    (killed / "started").touch()
    change(saved, text="Welcome, bob", js="'Store'", download="t", task="Log in now.")
    other = verify(saved, "--fail-on-change", "--output", "other")
    assert other.ret == 1
    other.stdout.fnmatch_lines(
        [
            "login?builtin/oracle*: passed -> failed",
            "*the case has changed since the run*",
            "*check 1 text: holds -> does not hold (changed): expected visible text*Welcome, bob*",
            "*check 6 download: holds -> holds (changed)*",
            "login?fake*: broken",
            "undecided:",
            "*check 3 js: cannot be decided offline: a `js` check needs*(was: holds)",
            "2 cells judged again: 1 changed outcome, 1 checks undecided",
        ]
    )
    assert cell(saved.path / "other")["checksums"]["checks"] != again["checksums"]["checks"]
    assert {p: p.read_bytes() for p in before} == before

    # A case that is gone keeps its verdicts, and bad input is one sentence.
    (saved.path / "cases" / "shop.yaml").unlink()
    gone = verify(saved, "--output", "kept")
    assert gone.ret == 0
    gone.stdout.fnmatch_lines(["*the case is no longer in the files*"])

    (saved.path / "moved.yaml").write_text(CASES.replace("../site", "site"), encoding="utf-8")
    moved = verify(saved, "--cases", "moved.yaml", "--changed-only", "--output", "moved")
    assert moved.ret == 0
    assert "gone" not in moved.stdout.str()

    own = verify(saved, "--output", "autoweb-report")
    assert own.ret == 4
    own.stderr.fnmatch_lines(["autoweb: the output folder must not be*"])
