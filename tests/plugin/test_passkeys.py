"""A case signs in with a passkey, whose signature the page checks; no record has its keys."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from session_server import autoweb_command

PAGE = """<!doctype html><title>Sign in</title>
<button onclick=signIn()>Sign in with a passkey</button>
<button onclick=register()>Register a passkey</button><p role=status></p>
<script>
const told = text => document.querySelector("[role=status]").textContent = text;
const bytes = text => Uint8Array.from(
  atob(text.replace(/-/g, "+").replace(/_/g, "/")), one => one.charCodeAt(0));
async function signIn() {
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const {response} = await navigator.credentials.get({publicKey: {challenge}});
  const key = await crypto.subtle.importKey(
    "spki", bytes("KNOWN"), {name: "ECDSA", namedCurve: "P-256"}, false, ["verify"]);
  const client = new Uint8Array(await crypto.subtle.digest("SHA-256", response.clientDataJSON));
  const signed = new Uint8Array([...new Uint8Array(response.authenticatorData), ...client]);
  // The signature is ASN.1; the browser's cryptography reads two numbers of 32 bytes.
  const der = [...new Uint8Array(response.signature)];
  const number = at => {
    const own = der.slice(at + 2, at + 2 + der[at + 1]).slice(-32);
    return [...Array(32 - own.length).fill(0), ...own];
  };
  const raw = new Uint8Array([...number(2), ...number(4 + der[3])]);
  const valid = await crypto.subtle.verify({name: "ECDSA", hash: "SHA-256"}, key, raw, signed);
  told(valid ? "Welcome, ana" : "Wrong passkey");
}
async function register() {
  await navigator.credentials.create({publicKey: {
    challenge: new Uint8Array(32), rp: {name: "Shop"},
    pubKeyCredParams: [{type: "public-key", alg: -7}],
    user: {id: new Uint8Array([1]), name: "ana", displayName: "Ana"}}});
  told("Registered");
}
</script>"""
CASES = """
version: 1
webserver: {static: ../site}
defaults: {entry_url: "{{ webserver.url }}index.html"}
cases:
  - id: sign-in
    user_task: "Sign in with the passkey."
    secrets: {passkey: {env: SHOP_PASSKEY}}
    setup: {passkeys: ["{{ secrets.passkey }}"]}
    expect: [text: "Welcome, ana"]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Sign in with a passkey").click()
  - id: register
    user_task: "Register a passkey."
    setup: {passkeys: []}
    expect: [text: Registered]
    oracle: |
      # Step 1
      page.get_by_role("button", name="Register a passkey").click()
"""


def furnish(project: pytest.Pytester, public_key: str = "") -> None:
    (project.path / "site/index.html").write_text(PAGE.replace("KNOWN", public_key))
    (project.path / "cases/shop.yaml").write_text(CASES)


@pytest.mark.long
def test_a_page_gets_the_passkey_of_a_secret_and_registers_new_ones(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    launch_browser: object,
) -> None:
    assert callable(launch_browser)
    browser = launch_browser()
    context = browser.new_context()
    context.credentials.install()
    passkey = context.credentials.create("127.0.0.1")
    browser.close()
    furnish(project, passkey["publicKey"])
    monkeypatch.setenv("SHOP_PASSKEY", json.dumps(passkey))

    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/oracle", "--tracing=on"
    )

    result.assert_outcomes(passed=2)
    written = dict(contents(project.path / "autoweb-report"))
    assert any(name.endswith(".trace") for name in written)
    assert [name for name, data in written.items() if passkey["privateKey"].encode() in data] == []

    exported = project.run(*autoweb_command(), "export", "autoweb-report", "-o", "plain")
    exported.stdout.fnmatch_lines_random(
        [
            "wrote   plain/test_shop.py::test_sign_in *",
            "wrote   plain/test_shop.py::test_register *",
        ]
    )


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what is in the files of a folder, and in those of its archives."""
    for path in folder.rglob("*"):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from ((name, archive.read(name)) for name in archive.namelist())
        elif path.is_file():
            yield str(path), path.read_bytes()


def test_what_is_no_passkey_breaks_its_cell_alone_and_is_not_told(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(project)
    monkeypatch.setenv("SHOP_PASSKEY", '{"rpId": "127.0.0.1", "privateKey": "tea-time"}')

    result = project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle")

    result.assert_outcomes(passed=1, failed=1)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    reasons = {case["id"]: case["cells"][0]["reason"] for case in report["cases"]}
    assert "setup.passkeys" in reasons["sign-in"]
    assert "the secret 'passkey' is no passkey" in reasons["sign-in"]
    assert "tea-time" not in json.dumps(report)
