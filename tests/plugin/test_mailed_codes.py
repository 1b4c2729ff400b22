"""A case signs in with a code or a link that its site mails, which no record of the cell shows."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from session_server import autoweb_command

pytest.importorskip("aiosmtpd")

# Mails a code or a link by SMTP, keeps it in a file for the test, takes it once, and shows what was
# typed or opened.
SERVER = '''
import os, secrets, smtplib, sys
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CODES = {}
ASK = """<!doctype html><title>Sign in</title><form method=post action=/send>
<label>Mail <input name=who></label><button>Send code</button>
<button name=without value=1>Send greeting</button></form>
<form method=post action=/send-link>
<label>Address for a link <input name=who></label><button>Send link</button></form>"""
CODE = """<!doctype html><title>Code</title><form method=post action=/check>
<input type=hidden name=who value="{who}">
<label>Code <input name=number></label><button>Sign in</button></form>"""

def send(who, without):
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@example.com", who, "Your sign-in, 2026"
    code = CODES[who] = f"{secrets.randbelow(10**6):06}"
    mail.set_content("Good day!" if without else f"Order 20261128 of 2026. Your code: {code}.")
    with open(os.environ["SENT"], "a") as sent:
        sent.write(code + "\\n")
    with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"])) as smtp:
        smtp.login("shop", "anything")
        smtp.send_message(mail)

def send_link(who, host):
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@example.com", who, "Your link"
    token = CODES[who] = secrets.token_urlsafe(12) + "7"
    link = f"http://{host}/enter?who={who}&amp;token={token}"
    mail.set_content("Open the link in a browser.")
    mail.add_alternative(
        f'<a href="http://{host}/">Shop</a> <a href="{link}">Sign in</a>'
        f'<a href="http://{host}/unsubscribe?token={token}{token}{token}">Enough</a>'
        f'<a href="http://evil.example/{token}{token}{token}{token}">Win</a>', subtype="html")
    with open(os.environ["SENT"], "a") as sent:
        sent.write(token + "\\n")
    with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"])) as smtp:
        smtp.send_message(mail)

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.path.startswith("/enter"):
            return self.say(ASK)
        told = {name: texts[0] for name, texts in parse_qs(urlsplit(self.path).query).items()}
        right = told["token"] == CODES.pop(told["who"], None)
        said = f"{'Entered' if right else 'Wrong link'} with {told['token']} as {told['who']}"
        self.say(f"<p role=status>{said}</p><input name=token value={told['token']}>")

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        who = form["who"][0]
        if self.path == "/send-link":
            send_link(who, self.headers["host"])
            return self.say("<h1>Look into your mails</h1>")
        if self.path == "/send":
            send(who, "without" in form)
            return self.say(CODE.format(who=who))
        typed = form["number"][0]
        right = typed == CODES.pop(who, None)
        self.say(f"<p role=status>{'Welcome' if right else 'Wrong code'}, you typed {typed}</p>")

    def say(self, text):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(text.encode())

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
'''
CASES = """
version: 1
webserver:
  command: "{python} ../shop.py {port}"
  env: {SMTP_PORT: "{mail_port}", SENT: "SENT_FILE"}
defaults:
  entry_url: "{{ webserver.url }}"
  user_task: "Sign in as {{ mail.address }} with the code {{ mail.code }} that is mailed to you."
  expect: [text: "Welcome, you typed"]
cases:
  - id: sign-in
    oracle: |
      # Step 1
      page.get_by_label("Mail").fill("{{ mail.address }}")
      page.get_by_role("button", name="Send code").click()
      # Step 2
      page.get_by_label("Code").fill("{{ mail.code }}")
      page.get_by_role("button", name="Sign in").click()
      # Step 3
      answer(page.get_by_role("status").inner_text())
  - id: by-link
    user_task: "Sign in as {{ mail.address }} with the link {{ mail.link }} that is mailed to you."
    expect: [text: "Entered with"]
    oracle: |
      # Step 1
      page.get_by_label("Address for a link").fill("{{ mail.address }}")
      page.get_by_role("button", name="Send link").click()
      # Step 2
      page.goto("{{ mail.link }}")
      # Step 3
      answer(page.get_by_role("status").inner_text() + ", " + page.url)
  - id: without-a-mail
    mail: {within: 1}
    oracle: |
      # Step 1
      page.get_by_label("Mail").fill("{{ mail.code }}")
  - id: without-a-code
    mail: {within: 1}
    oracle: |
      # Step 1
      page.get_by_label("Mail").fill("{{ mail.address }}")
      page.get_by_role("button", name="Send greeting").click()
      # Step 2
      page.get_by_label("Code").fill("{{ mail.code }}")
"""
# Answers with the address of the task that it is asked to do.
CLIENT = """
import re
from pytest_autoweb.testing import ScriptedClient, scripted_plan
CODE = '''```python
# Step 1
page.get_by_label("Mail").fill("ADDRESS")
page.get_by_role("button", name="Send code").click()
# Step 2
page.get_by_label("Code").fill("<secret:mail_code>")
page.get_by_role("button", name="Sign in").click()
# Step 3
answer(page.get_by_role("status").inner_text())
```'''

def pytest_autoweb_client(spec):
    if spec.name == "fake/ana":
        return ScriptedClient({"plan": scripted_plan("sign in"), "generate": answer})

def answer(request):
    said = "".join(str(message) for message in request.messages)
    return CODE.replace("ADDRESS", re.search(r"[a-z0-9-]+@example[.]com", said)[0])
"""


def furnish(folder: Path) -> None:
    (folder / "shop.py").write_text(SERVER)
    cases = CASES.replace("SENT_FILE", str(folder / "sent.txt"))
    (folder / "cases/shop.yaml").write_text(cases)
    (folder / "conftest.py").write_text(CLIENT)


@pytest.mark.long
def test_cells_at_the_same_time_type_the_codes_of_their_own_mails_which_are_shown_nowhere(
    project: pytest.Pytester,
) -> None:
    furnish(project.path)

    project.runpytest_subprocess(
        *("cases", "--autoweb-models=builtin/oracle,fake/ana", "-n", "2"),
        *("-k", "sign-in or oracle", "--autoweb-max-repairs=0"),
    )

    cells = {
        (case["id"], cell["model"]): cell
        for case in json.loads((project.path / "autoweb-report/report.json").read_text())["cases"]
        for cell in case["cells"]
    }
    signed_in = [cell for (case, _), cell in cells.items() if case == "sign-in"]
    assert [cell["outcome"] for cell in signed_in] == ["passed", "passed"]
    answers = {cell["attempts"][0]["answer"] for cell in signed_in}
    assert answers == {"Welcome, you typed <secret:mail_code>"}
    by_link = cells["by-link", "builtin/oracle"]
    assert by_link["outcome"] == "passed", by_link["reason"]
    said = by_link["attempts"][0]["answer"]
    assert re.search(
        r"Entered with <secret:mail_link> as by-link-\w+@example.com, http://[\d.:]+/<secret:mail_link>",
        said,
    )
    assert "no mail came to without-a-mail-" in reason(cells, "without-a-mail")
    assert "holds a code of 4 to 8 digits" in reason(cells, "without-a-code")
    assert "Good day" not in reason(cells, "without-a-code")
    sent = set((project.path / "sent.txt").read_text().split())
    assert len(sent) == 4
    written = [path for path in (project.path / "autoweb-report").rglob("*") if path.is_file()]
    found = {
        (path.name, code)
        for path in written
        for code in re.findall(rb"(?<![0-9.])[0-9]{6}(?![0-9])", path.read_bytes())
        if code.decode() in sent
    }
    assert not found
    tokens = [one.encode() for one in sent if len(one) > 6]
    assert len(tokens) == 1
    assert not [path for path in written for one in tokens if one in path.read_bytes()]

    exported = project.run(*autoweb_command(), "export", "autoweb-report", "-o", "plain")
    exported.stdout.fnmatch_lines(
        [
            "wrote   plain/test_shop.py::test_sign_in *",
            "*::test_by_link *",
            "*it needs `pip install aiosmtpd`*",
        ]
    )
    plain = (project.path / "plain/test_shop.py").read_text()
    assert 'page.get_by_label("Code").fill(mailbox.code())' in plain
    assert "page.goto(mailbox.link())" in plain
    assert "pytest_autoweb" not in plain


def reason(cells: Mapping[tuple[str, str], Any], case: str) -> str:
    return str(cells[case, "builtin/oracle"]["reason"])
