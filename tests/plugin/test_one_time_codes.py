"""A case signs in with the code of an authenticator app, which no record of the cell shows."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from session_server import autoweb_command
from totp_page import KEY, PAGE

from pytest_autoweb.base.one_time_codes import OneTimeCode

CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: sign-in
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Sign in with the code {{ secrets.code }}."
    secrets: {code: {env: SHOP_KEY, totp: true}}
    expect: [text: "Welcome, ana"]
    oracle: |
      # Step 1
      page.get_by_label("Code").fill("<secret:code>")
      page.get_by_role("button", name="Sign in").click()
      # Step 2
      answer(page.get_by_role("status").inner_text())
"""


def furnish(folder: Path) -> None:
    (folder / "site/index.html").write_text(PAGE)
    (folder / "cases/shop.yaml").write_text(CASES)


@pytest.mark.long
def test_the_code_of_the_moment_is_typed_and_shown_nowhere(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project.path)
    monkeypatch.setenv("SHOP_KEY", KEY)

    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle")

    result.assert_outcomes(passed=1)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    attempt = report["cases"][0]["cells"][0]["attempts"][0]
    assert attempt["answer"] == "Welcome, ana, you typed <secret:code>"
    written = [path for path in (project.path / "autoweb-report").rglob("*") if path.is_file()]
    texts = [path.read_text("utf-8", "replace") for path in written]
    assert not any(KEY in text for text in texts)
    assert not any(re.search(r"you typed \d", text) for text in texts)

    exported = project.run(*autoweb_command(), "export", "autoweb-report", "-o", "plain")
    exported.stdout.fnmatch_lines(["wrote   plain/test_shop.py::test_sign_in *"])
    plain = (project.path / "plain/test_shop.py").read_text()
    assert 'page.get_by_label("Code").fill(secret_code())' in plain


LIVE_PAGE = b"""<!doctype html><title>Sign in</title>
<label>Code <input id=code></label><button onclick=check()>Sign in</button><p role=status></p>
<script>
async function check() {
  const number = document.querySelector("#code").value;
  const said = await fetch("/sign-in", {method: "POST", body: JSON.stringify({number})});
  document.querySelector("[role=status]").textContent = await said.text();
}
</script>"""
LIVE_CASES = """
version: 1
cases:
  - id: sign-in
    entry_url: "URL"
    user_task: "Sign in with the code {{ secrets.code }}."
    secrets: {code: {env: SHOP_KEY, totp: true}}
    expect: [text: "Welcome, ana, you typed"]
    oracle: |
      # Step 1
      page.get_by_label("Code").fill("<secret:code>")
      page.get_by_role("button", name="Sign in").click()
      # Step 2
      answer(page.get_by_role("status").inner_text())
"""
EACH_SECOND = f"otpauth://totp/Shop:ana?secret={KEY}&period=1"


class SignIn(BaseHTTPRequestHandler):
    """Takes the codes of the last few seconds, and shows what was typed."""

    def do_GET(self) -> None:
        self._say(LIVE_PAGE)

    def do_POST(self) -> None:
        typed = json.loads(self.rfile.read(int(self.headers["content-length"])))["number"]
        welcome = "Welcome, ana" if typed in codes_of_the_last(5) else "Wrong code"
        self._say(f"{welcome}, you typed {typed}".encode())

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""


def codes_of_the_last(seconds: int) -> list[str]:
    known = OneTimeCode.read(EACH_SECOND)
    return [known.at(time.time() - late) for late in range(seconds)]


@pytest.fixture
def live_site() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), SignIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.server_close()


@pytest.mark.long
def test_recorded_traffic_with_a_code_is_replayed_with_the_code_of_another_moment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_site: ThreadingHTTPServer
) -> None:
    cases = LIVE_CASES.replace("URL", f"http://127.0.0.1:{live_site.server_port}/")
    (project.path / "cases/shop.yaml").write_text(cases)
    monkeypatch.setenv("SHOP_KEY", EACH_SECOND)
    flags = ("cases", "--autoweb-models=builtin/oracle")

    project.runpytest_subprocess(*flags, "--autoweb-traffic=record").assert_outcomes(passed=1)
    live_site.shutdown()
    live_site.server_close()
    kept = (project.path / "cases/traffic/shop/sign-in.har").read_text()
    result = project.runpytest_subprocess(*flags, "--autoweb-traffic=replay")

    result.assert_outcomes(passed=1)
    assert "you typed <secret:code.code>" in kept
    assert not [code for code in codes_of_the_last(120) if code in kept]
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    attempt = report["cases"][0]["cells"][0]["attempts"][0]
    assert attempt["answer"] == "Welcome, ana, you typed <secret:code>"


def test_a_key_that_makes_no_codes_is_an_error_before_anything_runs(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project.path)
    monkeypatch.setenv("SHOP_KEY", "tea-time-tea-time-1")

    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "secrets.code: its value is no base32 key" in said
    assert "tea-time-tea" not in said
