"""Who changed: a site, a model and the settings change one after the other, and each is named."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, Seen
from session_server import autoweb_command
from shop_project import INI, SharedProject

from pytest_autoweb.testing import scripted_plan

PAGE = """<!doctype html><title>Shop</title><link rel=icon href="data:,"><h1>Shop</h1>
{buttons}<p id="out"></p><script>
  const says = navigator.language === "fr-FR" ? "Fermé:" : {says};
  for (const button of document.querySelectorAll("button"))
    button.onclick = () =>
      document.getElementById("out").textContent = says + " " + button.textContent;
</script>"""
COUNT = 7
"""As few cells as still decide when three differences are compared."""
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
FRENCH = """
import pytest

@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return {**browser_context_args, "locale": "fr-FR"}
"""
"""What a project adds to its harness; its site does nothing for such a browser."""
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
        look = 'page.get_by_role("heading", name="Shop").click()'
        code = f"```python\n# Step 1\n{act if self.acts else look}\n```"
        plans = "You plan how" in said
        answer = Answer(
            scripted_plan("buy it") if plans else code,
            served="m-2025-01-01" if self.acts else "m-2025-06-01",
            fingerprint="fp_1" if self.acts else "fp_2",
        )
        return answer, answer.body("m")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-none")
        yield provider


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory, site: Site, provider: Provider) -> Path:
    """A project with cases for the site, and a run of them whose recordings are kept."""
    folder = tmp_path_factory.mktemp("before")
    settle(folder)
    (folder / "cases").mkdir()
    numbers = ", ".join(map(str, range(1, COUNT + 1)))
    (folder / "cases/shop.yaml").write_text(CASES.format(url=site.url, numbers=numbers))
    (folder / "models.yaml").write_text(MODELS.format(base=provider.api_base))
    ran = SharedProject.at(folder).run(
        *FLAGS, "--autoweb-record-mode=record", "--autoweb-traffic=record", "--autoweb-save=before"
    )
    assert ran.ret == 0, ran.stdout.str()
    return folder


def copied(project: Path, folders: pytest.TempPathFactory) -> Path:
    return shutil.copytree(project, folders.mktemp("project"), dirs_exist_ok=True)


def settle(folder: Path, harness: str = "") -> None:
    (folder / "tox.ini").write_text(
        f"{INI}autoweb_concurrency = 4\nautoweb_max_repairs = 0\n"
        + ("autoweb_step_timeout = 31\n" if harness else "")
    )
    (folder / "conftest.py").write_text(harness)


def later_run(folder: Path, *more: str) -> pytest.RunResult:
    flags = (FLAGS[0], "--autoweb-models=openai/m", *FLAGS[2:], *more)
    return SharedProject.at(folder).run(*flags)


def blamed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*autoweb_command(), "run", "blame", "before", "autoweb-report", *arguments, *AFTERWARDS],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.journeys
def test_the_app_is_named_when_it_changed(
    before: Path, tmp_path_factory: pytest.TempPathFactory, site: Site
) -> None:
    folder = copied(before, tmp_path_factory)
    site.sells = False
    try:
        later_run(folder)
        app = json.loads(blamed(folder, "--json").stdout)
        again = blamed(folder)
    finally:
        site.sells = True

    assert (app["blame"]["answer"], app["blame"]["culprits"]) == ("named", ["app"])
    assert cells_of(app, "replies_recorded") == (COUNT, f"{COUNT} of {COUNT}")
    assert cells_of(app, "model_recorded") == (COUNT, "")
    assert cells_of(app, "replies_live") == (0, f"0 of {COUNT}")
    said = " ".join(again.stdout.split())
    assert f"The oracle fails in {COUNT} of {COUNT} cases since the app changed" in said
    assert f" The app changed ({COUNT} lost and 0 gained of {COUNT} cases, −100 points" in said
    # What was run for the same two runs is not run again.
    assert "buy-1" not in again.stderr


@pytest.mark.journeys
def test_the_model_is_named_when_it_changed_and_cannot_be_told_without_recordings(
    before: Path, tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> None:
    folder = copied(before, tmp_path_factory)
    provider.acts = False
    try:
        gated = later_run(folder, "--autoweb-compare=before", "--autoweb-compare-fail=served:same")
        model = json.loads(blamed(folder, "--json").stdout)
        kept = json.loads((folder / "cases/cassettes/openai__m/buy-1.json").read_text())
        shutil.rmtree(folder / "cases/cassettes")
        shutil.rmtree(folder / "cases/traffic")
        untold = " ".join(blamed(folder, "--output=without").stdout.split())
    finally:
        provider.acts = True

    assert model["blame"]["culprits"] == ["model"]
    assert cells_of(model, "model_recorded") == (0, "")
    assert cells_of(model, "replies_live") == (COUNT, f"{COUNT} of {COUNT}")
    changed = (
        "the provider changed the model under the same name: it answered as m-2025-01-01 "
        f"({2 * COUNT} calls), and now m-2025-06-01 ({2 * COUNT} calls)"
    )
    assert model["records"]["model"] == [changed]
    gated.stdout.fnmatch_lines([f"gate FAILED: served (openai/m): {changed}"])
    report = json.loads((folder / "autoweb-report/report.json").read_text())
    assert f"openai/m: {changed}" in report["notes"]
    served = [{"served": "m-2025-06-01", "fingerprint": "fp_2", "calls": 2 * COUNT}]
    assert report["summary"]["models"][0]["served"] == served
    assert {entry["fingerprint"] for entry in kept["entries"]} == {"fp_1"}

    assert f"Cannot tell: the app or the model ({COUNT} lost and 0 gained of {COUNT}" in untold
    assert "to find out: run the cases on the earlier version of the app: where they pass" in untold
    assert f"The oracle passes {COUNT} cases on the live app as before" in untold
    assert "old replies, live site lacks: no recorded replies: let the run that later" in untold
    assert "model live, recorded site lacks: no recorded site: let the run that later" in untold
    assert "the provider changed the model under the same name" in untold


@pytest.mark.journeys
def test_the_harness_is_named_when_its_settings_changed(
    before: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(before, tmp_path_factory)
    settle(folder, FRENCH)
    later_run(folder)
    harness = json.loads(blamed(folder, "--json").stdout)

    assert harness["blame"]["culprits"] == ["harness"]
    assert harness["records"]["harness"] == [f"settings of {COUNT} cells"]
    assert cells_of(harness, "replies_recorded") == (0, f"0 of {COUNT}")


def cells_of(document: Any, name: str) -> tuple[int, str]:
    """How many cells of an arm passed, and what its oracle did."""
    (arm,) = (each for each in document["arms"] if each["name"] == name)
    return arm["passed"], arm["oracle"]
