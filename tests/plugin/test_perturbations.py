"""Runs under changes of the page: what they cost, and cases to which they are unfair."""

import json
import sys
from pathlib import Path

import pytest
from shop_project import SharedProject

from pytest_autoweb.base.variant_names import PERTURBATIONS

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
    # What is left out there counts in no rate either: the steady one passes all that counts.
    steady = next(
        row for row in report["summary"]["models"] if row["model"] == "fake/steady@banner"
    )
    assert (steady["unfair"], steady["numbers"]["cells"]) == (2, 1)
    assert steady["numbers"]["first_attempt"]["all_trials"]["value"] == 1.0


MAIL = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEAD = "<!doctype html><title>Mail</title><h1>Mail</h1>"
NAV = '<nav><a href="/home">Overview</a> <a href="/inbox">Inbox</a></nav>'
PAGES = {
    "/login": '<form method="post"><label>Name <input name="n"></label>'
    "<button>Log in</button></form>",
    "/home": NAV,
    "/inbox": NAV + '<p><a href="/mail">Greeting</a></p>',
    "/mail": NAV + "<p>Hello, ana</p>",
}

class Mail(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/login" or "sid=1" in self.headers.get("cookie", "")
        if not known:
            return self.go("/login")
        body = (HEAD + PAGES.get(self.path, "")).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.go("/home", ("set-cookie", "sid=1; HttpOnly; Path=/"))

    def go(self, where, *more):
        self.send_response(303)
        for name, value in (("location", where), ("content-length", "0"), *more):
            self.send_header(name, value)
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Mail).serve_forever()
"""
MAIL_CASES = f"""
version: 1
webserver: {{command: "{sys.executable} mail.py {{port}}", url: "http://127.0.0.1:{{port}}/login"}}
cases:
  - id: greeting
    entry_url: "{{{{ webserver.url }}}}"
    user_task: "Open ana's mail."
    expect: [{{text: "Hello, ana"}}]
    oracle: |
      # Step 1
      page.get_by_label("Name", exact=True).fill("ana")
      page.get_by_role("button", name="Log in", exact=True).click()
      # Step 2
      page.get_by_role("link", name="Inbox", exact=True).click()
      page.get_by_role("link", name="Greeting", exact=True).click()
      page.get_by_text("Hello").wait_for()
"""
# Begins again where something goes wrong, but knows only one word for the button.
LITERAL = """# Step 1
for turn in range(4):
    page.goto("/login")
    page.get_by_role("textbox").fill("ana")
    page.get_by_role("button", name="Log in", exact=True).click(timeout=2000)
    try:
        page.locator("a[href='/inbox']").click(timeout=5000)
        page.locator("a[href='/mail']").click(timeout=5000)
        page.get_by_text("Hello").wait_for(timeout=5000)
        break
    except Exception as error:
        log(str(error))
"""


@pytest.mark.journeys
def test_each_change_is_fair_to_a_solution_that_begins_again_and_the_gate_names_the_costly_one(
    tmp_path: Path,
) -> None:
    project = SharedProject(tmp_path)
    (tmp_path / "cases/shop.yaml").write_text(MAIL_CASES, encoding="utf-8")
    (tmp_path / "cases/mail.py").write_text(MAIL, encoding="utf-8")
    answers = {"plan": None, "generate": f"```python\n{LITERAL}```"}
    every = {f"fake/literal{end}": answers for end in ("", *(f"@{c}" for c in PERTURBATIONS))}
    project.script(repr(every).replace("None", "scripted_plan('open the mail')"))
    result = project.run(
        "cases",
        "--autoweb-models=fake/literal",
        f"--autoweb-perturb={','.join(PERTURBATIONS)}",
        "--autoweb-max-repairs=0",
        "--autoweb-step-timeout=8",
        "--autoweb-compare-fail=robust:10%",
    )
    report = json.loads((tmp_path / "autoweb-report/report.json").read_text(encoding="utf-8"))

    said = "\n".join(result.outlines + result.errlines)
    rows = {row["change"]: row for row in report["robustness"]}
    assert rows.keys() == set(PERTURBATIONS), said
    assert {name: (row["unfair"], row["unproven"]) for name, row in rows.items()} == dict.fromkeys(
        PERTURBATIONS, ([], [])
    ), said
    loss = {name: row["loss"] for name, row in rows.items()}
    # A script that knows the words and does not begin again.
    costly = ["error-once", "rename"]
    assert loss == {change: float(change in costly) for change in PERTURBATIONS}, said
    gates = {gate["model"]: gate["passed"] for gate in report["gates"] if gate["name"] == "robust"}
    assert [name for name, passed in gates.items() if not passed] == [
        f"fake/literal@{change}" for change in costly
    ]
    assert result.ret == 1
    assert "rename" in (tmp_path / "autoweb-report/index.html").read_text(encoding="utf-8")
    logs = "\n".join(each.read_text("utf-8") for each in tmp_path.glob("autoweb-report/**/*.log"))
    for once in ("error-once: read", "session-end: 1 cookies", "the solution begins again"):
        assert once in logs
