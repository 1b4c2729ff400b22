"""Who changed: a site, a model and the settings change one after the other, and each is named."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen
from session_server import autoweb_command, session_command
from shop_project import INI

from pytest_autoweb.testing import scripted_plan

PAGE = """<!doctype html><title>Shop</title><link rel=icon href="data:,"><h1>Shop</h1>
{buttons}<p id="out"></p><script>
  const says = {says};
  for (const button of document.querySelectorAll("button"))
    button.onclick = () => setTimeout(() =>
      document.getElementById("out").textContent = says + " " + button.textContent, 700);
</script>"""
COUNT = 8
CASES = """
version: 1
defaults: {{entry_url: {url}}}
cases:
  - id: buy
    matrix: {{n: [{numbers}]}}
    user_task: "Buy thing {{{{ matrix.n }}}}."
    expect:
      - text: "Bought thing {{{{ matrix.n }}}}"
    oracle: |
      # Step 1
      page.get_by_role("button", name="thing {{{{ matrix.n }}}}").click()
"""
MODELS = "models: {{openai/m: {{api_base: '{base}'}}}}"
FLAGS = ("cases", "--autoweb-models=builtin/oracle,openai/m", "--autoweb-models-file=models.yaml")
AFTERWARDS = ("--", "--autoweb-models-file=models.yaml")


class Site:
    """A site on loopback whose next version sells nothing."""

    def __init__(self) -> None:
        self.sells = True
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                buttons = "".join(f"<button>thing {n}</button>" for n in range(1, COUNT + 1))
                says = json.dumps("Bought" if site.sells else "Sold out:")
                body = PAGE.format(buttons=buttons, says=says).encode()
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Provider(OpenAIServer):
    """A service whose next version of the model looks at the page and does nothing."""

    acts = True

    def answer(self, seen: Seen) -> tuple[Answer, bytes]:
        super().answer(seen)
        said = json.dumps(seen.body["messages"])
        number = re.search(r"Buy thing (\d)", said)
        assert number is not None, said
        act = f'page.get_by_role("button", name="thing {number[1]}").click()'
        look = 'expect(page.get_by_role("heading", name="Shop")).to_be_visible()'
        code = f"```python\n# Step 1\n{act if self.acts else look}\n```"
        plans = "```python" not in said
        answer = Answer(
            scripted_plan("buy it") if plans else code,
            served="m-2025-01-01" if self.acts else "m-2025-06-01",
            fingerprint="fp_1" if self.acts else "fp_2",
        )
        return answer, answer.body("m")


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def shop(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, site: Site, provider: Provider
) -> pytest.Pytester:
    """A project with eight cases for the site, and a run of them whose recordings are kept."""
    monkeypatch.setattr(pytester, "_getpytestargs", session_command)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    settle(pytester.path, check_timeout=2)
    pytester.mkdir("cases")
    numbers = ", ".join(map(str, range(1, COUNT + 1)))
    (pytester.path / "cases/shop.yaml").write_text(CASES.format(url=site.url, numbers=numbers))
    (pytester.path / "models.yaml").write_text(MODELS.format(base=provider.api_base))
    before = pytester.runpytest_subprocess(
        *FLAGS, "--autoweb-record-mode=record", "--autoweb-traffic=record", "--autoweb-save=before"
    )
    assert before.ret == 0, before.stdout.str()
    return pytester


def settle(folder: Path, check_timeout: float) -> None:
    text = INI.replace("autoweb_check_timeout = 1\n", f"autoweb_check_timeout = {check_timeout}\n")
    (folder / "tox.ini").write_text(f"{text}autoweb_concurrency = 8\nautoweb_max_repairs = 0\n")


def later_run(shop: pytest.Pytester, *more: str) -> pytest.RunResult:
    return shop.runpytest_subprocess(FLAGS[0], "--autoweb-models=openai/m", *FLAGS[2:], *more)


def blamed(shop: pytest.Pytester, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*autoweb_command(), "run", "blame", "before", "autoweb-report", *arguments, *AFTERWARDS],
        cwd=shop.path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def found(shop: pytest.Pytester, output: str) -> Any:
    return json.loads(blamed(shop, "--json", f"--output={output}").stdout)


@pytest.mark.long
def test_the_app_the_model_and_the_harness_are_named_when_they_changed(
    shop: pytest.Pytester, site: Site, provider: Provider
) -> None:
    site.sells = False
    later_run(shop)

    text = blamed(shop).stdout
    print(text)
    assert text == ""
