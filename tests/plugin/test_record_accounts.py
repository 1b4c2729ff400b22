"""`autoweb record` where a person signs in with a one-time code, mails and a passkey."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from playwright.sync_api import Page, Playwright
from real_servers import free_port
from session_server import autoweb_command
from shop_project import LEAN
from totp_page import KEY, PAGE

from pytest_autoweb.base.one_time_codes import OneTimeCode

SITE = (
    PAGE.replace(' + ", you typed " + typed', "")
    + """<label>Mail <input id=who></label><button onclick=mail("/send")>Send code</button>
<label>Mailed code <input id=number></label><button onclick=mail("/check")>Check code</button>
<p id=mailed role=alert></p><button onclick=signIn()>Use passkey</button><p id=more></p><script>
async function mail(path) {
  const sent = {who: document.querySelector("#who").value,
                number: document.querySelector("#number").value};
  const said = await fetch(path, {method: "POST", body: JSON.stringify(sent)});
  document.querySelector("#mailed").textContent = await said.text();
}
async function signIn() {
  await navigator.credentials.get({publicKey: {challenge: new Uint8Array(32)}});
  document.querySelector("#more").textContent = "Signed by passkey";
}
</script>"""
)
SHOP = """
import json, secrets, smtplib, sys
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CODES = {}

def send(who, host):
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@example.com", who, "Your sign-in"
    CODES[who] = f"{secrets.randbelow(10**6):06}"
    link = f"http://{host}/enter?token={CODES[who] * 3}"
    mail.set_content(f"Your code: {CODES[who]}, and later {link}")
    with smtplib.SMTP("127.0.0.1", int(sys.argv[2])) as smtp:
        smtp.send_message(mail)

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/enter?token="):
            self.send_response(302)
            self.send_header("location", "/entered")
            return self.end_headers()
        entered = self.path == "/entered"
        self.say("<h1>Entered by link</h1>" if entered else open("index.html").read())

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/send":
            send(told["who"], self.headers["host"])
            return self.say("Code sent")
        right = told["number"] == CODES.pop(told["who"], None)
        self.say("Mailed code accepted" if right else "Wrong mailed code")

    def say(self, text):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(text.encode())

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""


@pytest.mark.journeys
def test_a_sign_in_with_codes_and_a_passkey_becomes_a_case_that_makes_its_own(
    tmp_path: Path, playwright: Playwright, launch_browser: Any
) -> None:
    furnish(tmp_path)
    context = launch_browser().new_context()
    context.credentials.install()
    passkey = context.credentials.create("127.0.0.1")
    context.browser.close()
    port = free_port()
    command = [
        *(*autoweb_command(), "record", "--command", "{python} shop.py {port} {mail_port}"),
        *("--debug-port", str(port), "-o", "cases/shop.yaml", "--yes"),
        *("--task", "Sign in as {{ mail.address }} with {{ mail.code }}, then {{ mail.link }}."),
        *("--totp", "SHOP_KEY", "--passkey", "SHOP_PASSKEY"),
    ]
    accounts = {"SHOP_KEY": KEY, "SHOP_PASSKEY": json.dumps(passkey)}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, **accounts},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        said = ""
        while "Recording." not in said and (line := process.stdout.readline()):
            said += line
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        (page,) = browser.contexts[0].pages
        (address,) = re.findall(r"sign in with: (\S+)", said)
        sign_in_with_authenticator(page, code := OneTimeCode.read(KEY).now())
        told = sign_in_by_mail(page, address, process.stdout)
        (mailed,) = re.findall(rf"mail    to {address}, 'Your sign-in': code (\d+)", told)
        open_link(page, told.split()[-1])
        draft = (tmp_path / "cases/shop.recorded.py").read_text()
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()

    assert process.returncode == 0, said
    text = (tmp_path / "cases/shop.yaml").read_text()
    (case,) = yaml.safe_load(text)["cases"]
    assert case["secrets"] == {
        "shop_key": {"env": "SHOP_KEY", "totp": True},
        "shop_passkey": {"env": "SHOP_PASSKEY"},
    }
    assert case["setup"] == {"passkeys": ["{{ secrets.shop_passkey }}"]}
    assert '.fill("<secret:shop_key>")' in case["oracle"]
    sign_in = "Sign in as {{ mail.address }} with {{ mail.code }}, then {{ mail.link }}."
    assert case["user_task"] == sign_in
    assert case["oracle"].count("page.goto(") == 1
    assert 'page.goto("{{ mail.link }}")' in case["oracle"]
    assert '.fill("{{ mail.address }}")' in case["oracle"]
    assert '.fill("{{ mail.code }}")' in case["oracle"]
    assert {"element": {"role": "heading", "name": "Entered by link"}} in case["expect"]
    assert address not in text
    hidden = (code, KEY, passkey["privateKey"], mailed)
    assert not [one for one in hidden if one in text + draft + said]


def furnish(folder: Path) -> None:
    (folder / "index.html").write_text(SITE)
    (folder / "shop.py").write_text(SHOP)
    ini = f"[pytest]\nautoweb_check_timeout = 2\naddopts = -q -x {LEAN}\n"
    (folder / "tox.ini").write_text(ini)


def open_link(page: Page, link: str) -> None:
    # As a person would: the recorder holds a click back, which may become a double click.
    page.wait_for_timeout(1000)
    page.goto(link)
    page.get_by_text("Entered by link").wait_for()


def sign_in_with_authenticator(page: Page, code: str) -> None:
    page.get_by_label("Code", exact=True).click()
    page.keyboard.type(code)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Welcome, ana").wait_for()
    page.get_by_role("button", name="Use passkey").click()
    page.get_by_text("Signed by passkey").wait_for()


def sign_in_by_mail(page: Page, address: str, terminal: IO[str]) -> str:
    """Type the code that the terminal tells, and return what it told."""
    page.get_by_label("Mail", exact=True).fill(address)
    page.get_by_role("button", name="Send code").click()
    told = terminal.readline()
    page.get_by_label("Mailed code").fill(re.findall(r"code (\d+)", told)[0])
    page.get_by_role("button", name="Check code").click()
    page.get_by_text("Mailed code accepted").wait_for()
    return told
