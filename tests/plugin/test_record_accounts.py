"""`autoweb record` where a person signs in with a one-time code and a passkey."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Playwright
from real_servers import free_port
from session_server import autoweb_command
from shop_project import LEAN
from totp_page import KEY, PAGE

from pytest_autoweb.base.one_time_codes import OneTimeCode

SITE = (
    PAGE.replace(' + ", you typed " + typed', "")
    + """<button onclick=signIn()>Use passkey</button><p id=more></p><script>
async function signIn() {
  await navigator.credentials.get({publicKey: {challenge: new Uint8Array(32)}});
  document.querySelector("#more").textContent = "Signed by passkey";
}
</script>"""
)


@pytest.mark.journeys
def test_a_sign_in_with_a_code_and_a_passkey_becomes_a_case_that_makes_its_own(
    tmp_path: Path, playwright: Playwright, launch_browser: Any
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(SITE)
    (tmp_path / "tox.ini").write_text(
        f"[pytest]\nautoweb_check_timeout = 2\naddopts = -q -x {LEAN}\n"
    )
    context = launch_browser().new_context()
    context.credentials.install()
    passkey = context.credentials.create("127.0.0.1")
    context.browser.close()
    port = free_port()
    command = [
        *(*autoweb_command(), "record", "index.html", "--static", "site"),
        *("--debug-port", str(port), "-o", "cases/shop.yaml", "--task", "Sign in.", "--yes"),
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
        page.get_by_label("Code").click()
        code = OneTimeCode.read(KEY).now()
        page.keyboard.type(code)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Welcome, ana").wait_for()
        page.get_by_role("button", name="Use passkey").click()
        page.get_by_text("Signed by passkey").wait_for()
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
    assert not [one for one in (code, KEY, passkey["privateKey"]) if one in text + draft + said]
