"""`autoweb heal`: a plain test that broke gets new actions, and nothing but actions."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from openai_server import Answer, OpenAIServer, Seen
from session_server import autoweb_command

SITE = """<!doctype html><title>Shop</title><h1>Tea shop</h1>
<label>Your name <input id="user"></label> <label>PIN <input id="pin" type="password"></label>
<button onclick="out.textContent = `Welcome, ${user.value} ${pin.value.length}`">Sign in</button>
<p id="out"></p>"""
TEST = '''"""A shop."""

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, expect

FOLDER = (Path(__file__).parent / "../site").resolve()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    files = partial(SimpleHTTPRequestHandler, directory=str(FOLDER))
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as running:
        Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def secret_pin() -> str:
    return os.environ["SHOP_PIN"]


def test_sign_in(page: Page, server: str, secret_pin: str) -> None:
    """Sign in."""
    page.set_default_timeout(1500)
    page.goto(f"{server}/index.html")
    answers: list[Any] = []

    # Step 1: who
    page.get_by_label("PIN").fill(secret_pin)
    page.get_by_label("User").fill("ana")

    # Step 2: press
    page.get_by_role("button", name="Log in").click()
    answers.append(page.locator("h1").inner_text())

    # text: Welcome, ana
    expect(page.locator("body")).to_contain_text("Welcome, ana 9", use_inner_text=True)
    assert answers[-1] == "Tea shop"  # as it was


def test_heading(page: Page, server: str) -> None:
    page.goto(f"{server}/index.html")
    expect(page.locator("h1")).to_have_text("Tea shop")


def test_wrong(page: Page, server: str) -> None:
    page.goto(f"{server}/index.html")
    page.locator("h1").click()
    expect(page.locator("h1")).to_have_text("Coffee shop", timeout=300)
'''


# Plugins of the developers' environment, whose imports would double what a session costs.
LEAN = ("-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:schemathesis")


class HealingModel(OpenAIServer):
    """Knows only what it is sent: the test, the error, and the page; first it cheats."""

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        """Write the block again with the names that the page shows, or say that it cannot."""
        super().answer(seen)
        told = str(seen.body["messages"][-1]["content"])
        if "def test_wrong" in told:
            unable = Answer("CANNOT: the shop calls itself a tea shop")
            return unable, unable.body("mender")
        shown = re.search(r"#>>> block 1\n(.*?) *#<<< block 1", told, re.DOTALL)
        field, button = re.search(r'textbox "(.*?)"', told), re.search(r'button "(.*?)"', told)
        assert shown
        assert field
        assert button
        code = shown[1].replace("User", field[1]).replace("Log in", button[1])
        if "tried before" not in told:
            code = code.replace('page.locator("h1").inner_text()', '"Tea shop"')
        answer = Answer(f"The names have changed.\n```python\n{code}```")
        return answer, answer.body("mender")


@pytest.mark.long
def test_a_renamed_field_and_button_are_mended_and_nothing_else_is_touched(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(SITE)
    file = tmp_path / "tests/test_shop.py"
    file.parent.mkdir()
    file.write_text(TEST)
    # Neither the project's settings nor its conftest take part.
    (tmp_path / "tests/conftest.py").write_text("raise RuntimeError('not asked for')")

    with HealingModel() as server:
        settings = f'[tool.autoweb.models."openai/mender"]\napi_base = "{server.api_base}"\n'
        (tmp_path / "pyproject.toml").write_text(settings)
        flags = ("--model=openai/mender", "--json", "--write", "--", *LEAN)
        ran = subprocess.run(
            [*autoweb_command(), "heal", "tests/test_shop.py", *flags],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": "sk-test-0123456789", "SHOP_PIN": "sesame-77"},
            capture_output=True,
            text=True,
            check=False,
        )
        sent = "\n".join(str(seen.body["messages"]) for seen in server.requests)

    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    assert document["format"] == "pytest-autoweb/healing"
    assert [(test["name"], test["verdict"]) for test in document["tests"]] == [
        ("test_sign_in", "healed"),
        ("test_heading", "passes"),
        ("test_wrong", "not healed"),
    ]
    assert "that it cannot: the shop calls itself a tea shop" in document["tests"][2]["reason"]
    assert [test["attempts"] for test in document["tests"]] == [2, 0, 1]
    assert document["usage"]["calls"] == 3
    assert "its lines were refused: assertions rest on answers" in ran.stderr
    wanted = TEST.replace('"User"', '"Your name"').replace("Log in", "Sign in")
    assert file.read_text() == wanted
    changed = [line for line in document["diff"].splitlines() if re.match(r"[+-] ", line)]
    assert changed == [
        '-    page.get_by_label("User").fill("ana")',
        '+    page.get_by_label("Your name").fill("ana")',
        '-    page.get_by_role("button", name="Log in").click()',
        '+    page.get_by_role("button", name="Sign in").click()',
    ]
    assert sorted(path.name for path in file.parent.glob("*.py")) == ["conftest.py", file.name]
    # The log of the call is shown, the value that was typed is not.
    assert "waiting for get_by_label" in sent
    assert "sesame-77" not in sent


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.py", "--model=openai/x"), "none.py cannot be read"),
        (("broken.py", "--model=openai/x"), "broken.py:1: this is not Python"),
        (("broken.py", "--model=builtin/oracle"), "is a control"),
        (("broken.py", "--model=openai/x", "--attempts=0"), "--attempts must be 1 or more"),
    ],
)
def test_what_cannot_be_mended_is_named(
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from pytest_autoweb.cli.command_line import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def test(:\n")

    assert main(["heal", *arguments]) == 4
    assert said in capsys.readouterr().err
