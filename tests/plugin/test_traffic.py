"""Recorded traffic: a live site is kept, changes, is switched off, and is played all the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_shop import LiveShop
from openai_server import Answer, OpenAIServer
from session_server import session_command
from shop_project import INI, SCRIPTED

from pytest_autoweb.testing import scripted_plan

PASSWORD = "open sesame 42"
KEY = "sk-test-0123456789abcdef"
BUYS = """```python
# Step 1
page.get_by_role("button", name="Buy kettle").click()
page.get_by_role("button", name="Pay").click()
```"""


@pytest.mark.long
def test_a_live_site_is_recorded_without_secrets_and_replayed_when_it_and_the_model_are_gone(
    pytester: pytest.Pytester, shop: LiveShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Each cell costs time, so that not every model runs every case.
    some = "(not price or oracle) and (not lost or buy)"
    flags = ("cases", "-k", some, "--autoweb-max-repairs=0", "--autoweb-models-file=models.yaml")
    models = "--autoweb-models=builtin/oracle,openai/m"
    with OpenAIServer([Answer(scripted_plan("buy it")), Answer(BUYS)] * 2) as provider:
        about = f"models: {{openai/m: {{api_base: '{provider.api_base}'}}}}"
        (pytester.path / "models.yaml").write_text(about)
        live = pytester.runpytest_subprocess(
            *flags, models, "--autoweb-traffic=record", "--autoweb-record-mode=all"
        )
    live.stdout.fnmatch_lines(["autoweb: *; traffic recorded*"])
    before = outcomes(pytester.path)
    shop.close()
    folder = pytester.path / "cases/traffic/live"
    kept = {file.stem: file.read_text() for file in folder.glob("*.har")}

    # The write that is held back never reached the site, and no secret reached a file.
    assert shop.paid == []
    assert {"POST /login", "POST /add", "POST /beacon"} <= set(shop.asked)
    secrets = {PASSWORD, KEY, *shop.sessions, *(one["csrf"] for one in shop.sessions.values())}
    assert not [(name, one) for name, text in kept.items() for one in secrets if one in text]
    log = recording(pytester.path, "buy")
    assert (log["version"], len(log["pages"])) == ("1.2", 2)
    asked = [entry["request"]["url"].removeprefix(shop.url) for entry in log["entries"]]
    assert "beacon" not in asked
    assert asked.count("checkout") == 2

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("SHOP_WORD", "another word")
    replayed = pytester.runpytest_subprocess(
        *(*flags, f"{models},fake/lost", "-n", "2"),
        *("--autoweb-traffic=replay", "--autoweb-record-mode=none"),
    )

    found = outcomes(pytester.path)
    compared = {key: outcome for key, outcome in found.items() if key[0] != "price"}
    assert {k: v for k, v in compared.items() if k[1] != "fake/lost"} == {
        k: v for k, v in before.items() if k[0] != "price"
    }
    assert before["buy", "openai/m"] == before["login", "builtin/oracle"] == "passed"
    assert before["login", "openai/m"] == "failed"
    # Nobody can ask a server that is not there.
    assert (before["price", "builtin/oracle"], found["price", "builtin/oracle"]) == (
        "passed",
        "ungraded",
    )
    assert found["buy", "fake/lost"] == "off_record"
    assert replayed.ret == pytest.ExitCode.TESTS_FAILED
    replayed.stdout.fnmatch_lines(
        [
            "autoweb: *; traffic replayed*",
            "OFF_RECORD *fake/lost *buy *",
            "control in doubt: price: *the site was replayed from a recording*",
        ]
    )


@pytest.mark.long
def test_a_recording_that_is_missing_or_damaged_says_so_and_how_it_is_made(
    pytester: pytest.Pytester, shop: LiveShop
) -> None:
    folder = pytester.path / "cases/traffic/live"
    folder.mkdir(parents=True)
    (folder / "login.har").write_text('{"log": {"entries": [{}]}}')
    asked = len(shop.asked)

    result = pytester.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/oracle", "--autoweb-traffic=replay", "-k", "buy or login"
    )

    assert set(outcomes(pytester.path).values()) == {"broken"}
    assert len(shop.asked) == asked
    result.stdout.fnmatch_lines_random(
        [
            "*buy*there is no recording *cases/traffic/live/buy.har. Record it with *",
            "*login*recording *cases/traffic/live/login.har is damaged or no HAR file*",
        ]
    )


CASES = """
version: 1
defaults:
  traffic: {{hold: [POST /checkout]}}
cases:
  - id: buy
    entry_url: {url}
    user_task: Put the kettle into the cart and pay.
    oracle: |
      # Step 1
      page.get_by_role("button", name="Buy kettle").click()
      # Step 2
      expect(page.get_by_text("1 in the cart")).to_be_visible()
      page.get_by_role("button", name="Pay").click()
    expect:
      - text: was held back
      - request: {{method: POST, url: "**/checkout"}}
  - id: login
    entry_url: {url}
    user_task: Log in as ana.
    secrets: {{word: {{env: SHOP_WORD}}}}
    oracle: |
      # Step 1
      page.get_by_label("Name").fill("ana")
      page.get_by_label("Password").fill("{{{{ secrets.word }}}}")
      # Step 2
      page.get_by_role("button", name="Log in").click()
    expect:
      - text: Hello ana
  - id: price
    entry_url: {url}
    user_task: What does the kettle cost?
    oracle: |
      # Step 1
      expect(page.get_by_text("9.99 EUR")).to_be_visible()
      answer(page.request.get("{url}api/goods").json()[0]["price"])
    expect:
      - answer: {{equals: 9.99 EUR}}
      - http: {{url: "{url}about"}}
"""
LOST = """{
    "fake/lost": {
        "plan": scripted_plan("look around"),
        "generate": "```python\\n# Step 1\\npage.get_by_role('link', name='About').click()\\n```",
    }
}"""


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveShop]:
    """A live site that speaks https, with a project of three cases for it."""
    monkeypatch.setattr(pytester, "_getpytestargs", session_command)
    monkeypatch.setenv("SHOP_WORD", PASSWORD)
    shop = LiveShop(tls=pytester.path)
    # By this, Python takes the certificate of the site for a valid one.
    monkeypatch.setenv("SSL_CERT_FILE", str(shop.certificate))
    pytester.makeconftest(SCRIPTED.format(answers=LOST))
    pytester.makefile(".ini", tox=INI)
    pytester.mkdir("cases")
    (pytester.path / "cases/live.yaml").write_text(CASES.format(url=shop.url))
    yield shop
    shop.close()


def outcomes(folder: Path) -> dict[tuple[str, str], str]:
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    return {
        (case["id"], cell["model"]): cell["outcome"]
        for case in report["cases"]
        for cell in case["cells"]
    }


def recording(folder: Path, case: str) -> Any:
    return json.loads((folder / f"cases/traffic/live/{case}.har").read_text())["log"]
