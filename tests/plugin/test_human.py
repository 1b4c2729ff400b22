"""The agent `human`: a person, or a program in their place, does the task and presses Done."""

import json
import sys

import pytest

from pytest_autoweb.agents.outside.person import STAND_IN

CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: login
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as <ana> with {{ secrets.word }}, and say what greets you."
    secrets: {word: {default: xyzzy-plugh}}
    expect:
      - text: "Welcome, ana"
      - answer: {equals: "Welcome, ana"}
"""
# Does what a person does, by the page with the task.
ANA = """
import html, sys, urllib.parse, urllib.request
from playwright.sync_api import sync_playwright

task_url, cdp_url = sys.argv[1:]
with sync_playwright() as playwright:
    page = playwright.chromium.connect_over_cdp(cdp_url).contexts[0].pages[0]
    with urllib.request.urlopen(task_url) as answer:
        task = html.unescape(answer.read().decode())
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill(task.partition("Log in as <ana> with ")[2].partition(",")[0])
    page.get_by_role("button", name="Log in").click()
    print("the page sees", page.evaluate("typeof autowebStep"), file=sys.stderr)
    print("password", len(page.get_by_label("Password").input_value()), file=sys.stderr)
    pressed = {"answer": page.locator("#out").inner_text(), "end": "done"}
    urllib.request.urlopen(task_url, urllib.parse.urlencode(pressed).encode())
"""
FLAGS = ("cases", "--autoweb-models=person/ana", "--autoweb-agents=human")


@pytest.mark.long
def test_what_a_person_does_is_counted_and_judged_and_no_secret_is_kept(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.path / "cases/shop.yaml").write_text(CASE)
    (project.path / "ana.py").write_text(ANA)
    monkeypatch.setenv(STAND_IN, f"{sys.executable} {project.path / 'ana.py'}")

    result = project.runpytest_subprocess(*FLAGS, "--autoweb-max-repairs=0")

    result.assert_outcomes(passed=1)
    folder = project.path / "autoweb-report"
    (case,) = json.loads((folder / "report.json").read_text())["cases"]
    (cell,) = case["cells"]
    (attempt,) = cell["attempts"]
    assert (cell["strategy"], cell["usage"]) == ("human", {})
    steps = [step["description"] for step in attempt["step_results"]]
    assert steps == ["change input text", "change input password", "click button"]
    assert "agent: the person took " in attempt["run_log_head"]
    assert "agent: the page sees undefined" in attempt["run_log_head"]
    assert "agent: password 11" in attempt["run_log_head"]
    # The page with the task is none that the checks or the recorded traffic see.
    kept = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert not any(b"xyzzy-plugh" in content or b"Your task" in content for content in kept)


def test_without_a_display_nobody_is_asked(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", STAND_IN):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")

    result = project.runpytest(*FLAGS)

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the agent 'human' needs a display*DISPLAY*AUTOWEB_HUMAN*"])
