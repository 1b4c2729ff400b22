"""Browsers that run elsewhere (`--autoweb-connect`): real servers, of which some are lost."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from browser_servers import (
    BrowserServer,
    debugged_chromium,
    playwright_server,
    playwright_server_apart,
    running,
)
from shop_project import SCRIPTED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the servers are started for Linux")

AGENT = """
version: 1
webserver: {static: ../site}
cases:
  - id: agent
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Say which browser this is."
    matrix: {n: [1, 2, 3, 4]}
    expect: [{text: Shop}]
    oracle: |
      # Step 1
      answer(page.evaluate("() => navigator.userAgent"))
"""
GOOD = (
    '```python\\n# Step 1\\npage.get_by_label("Name").fill("ana")\\n'
    'page.get_by_role("button").click()\\n```'
)
# Each model kills a server while it is asked for its plan, in the middle of a cell.
KILLING = f"""{{
    "fake/kills-ws": {{"plan": lambda _: killed("ws"), "generate": '{GOOD}'}},
    "fake/kills-cdp": {{"plan": lambda _: killed("cdp"), "generate": '{GOOD}'}},
}}"""
KILL = """
import os, signal, contextlib
def killed(name):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(open(name).read()), signal.SIGKILL)
    return scripted_plan("log in")
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserServer]:
    with running(playwright_server(tmp_path_factory.mktemp("playwright"))) as server:
        yield server


def cells(project: pytest.Pytester) -> list[dict[str, Any]]:
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return [cell for case in report["cases"] for cell in case["cells"]]


@pytest.mark.journeys
def test_workers_take_browsers_from_the_pool_and_no_key_is_told(
    project: pytest.Pytester, served: BrowserServer, tmp_path: Path
) -> None:
    (project.path / "cases/shop.yaml").write_text(AGENT)
    with running(debugged_chromium(tmp_path, "--user-agent=from-the-port")) as port:
        pool = [f"--autoweb-connect={served.ws}?token=geheim1", "--autoweb-connect=" + port.http]
        ran = project.runpytest_subprocess(
            "cases", "--autoweb-models=builtin/oracle", "-n2", "-v", *pool
        )

    ran.assert_outcomes(passed=4)
    ran.stdout.fnmatch_lines(
        [
            "autoweb egress: partial (the browser was not started with this plugin's flags*",
            f"autoweb browsers elsewhere: ws://127.0.0.1:{served.port} (Playwright, chromium *), "
            f"http://127.0.0.1:{port.port} (CDP, chromium *)",
            "autoweb browser: Chromium's own sandbox is unknown: the browser runs elsewhere",
        ]
    )
    answers = [cell["attempts"][0]["answer"] for cell in cells(project)]
    assert {answer == "from-the-port" for answer in answers} == {True, False}
    assert_untold("geheim1", project, ran)


class ForbiddenSite(BaseHTTPRequestHandler):
    """A server that no case allows, and how often it was asked for what."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


AWAY = """
version: 1
webserver: {command: "%s site.py {port}", url: "http://127.0.0.1:{port}/"}
cases:
  - id: away
    entry_url: "{{ webserver.url }}"
    user_task: "Fetch the file."
    expect: [{download: {name: tea.txt, contains: green}}]
    oracle: |
      # Step 1
      page.get_by_role("link", name="file").click()
      page.wait_for_timeout(500)
"""
SITE = """
import http.server, sys
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind = {"/file": ("Content-Disposition", "attachment; filename=tea.txt"),
                "/led": ("Location", "%(far)s/led")}.get(self.path, ("X-None", "1"))
        self.send_response(302 if self.path == "/led" else 200)
        self.send_header(*kind)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(
            b"green <a href=/file download>file</a><img src=/led><img src=%(far)s/img>")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Site).serve_forever()
"""


def may_stand_apart() -> bool:
    return shutil.which("unshare") is not None and not subprocess.call(
        ["unshare", "-rn", "true"], stderr=subprocess.DEVNULL
    )


@pytest.mark.long
@pytest.mark.skipif(not may_stand_apart(), reason="this user may make no network of its own")
def test_a_browser_that_cannot_reach_the_proxy_is_held_by_routes_and_it_is_said(
    project: pytest.Pytester, tmp_path: Path
) -> None:
    far = ThreadingHTTPServer(("127.0.0.1", 0), ForbiddenSite)
    threading.Thread(target=far.serve_forever, args=(0.02,), daemon=True).start()
    (project.path / "cases/shop.yaml").write_text(AWAY % sys.executable)
    (project.path / "cases/site.py").write_text(
        SITE % {"far": f"http://127.0.0.1:{far.server_port}"}
    )
    with running(playwright_server_apart(tmp_path)) as server:
        ran = project.runpytest_subprocess(
            *("cases", "-v", "--autoweb-models=builtin/oracle", "--autoweb-connect=" + server.ws)
        )
    far.shutdown()

    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(
        [
            "autoweb egress: partial (the browser runs elsewhere and cannot reach the proxy)",
            "  held: a context of its own for each cell, *",
            "  not held: redirects to other origins *",
        ]
    )
    (log,) = project.path.rglob("run.log")
    assert f"blocked: http://127.0.0.1:{far.server_port} (allowed" in log.read_text()
    assert f"not blocked: a redirect led to http://127.0.0.1:{far.server_port}" in log.read_text()
    assert set(ForbiddenSite.asked) == {"/led"}
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    assert "; not held: redirects" in report["environment"]["egress"]


@pytest.mark.long
def test_a_lost_browser_is_taken_anew_and_a_cell_without_one_is_broken_with_the_reason(
    project: pytest.Pytester, tmp_path: Path
) -> None:
    project.makeconftest(SCRIPTED.format(answers=KILLING).replace("ANSWERS =", KILL + "ANSWERS ="))
    with (
        running(playwright_server(tmp_path)) as server,
        running(debugged_chromium(tmp_path)) as port,
    ):
        for name, one in (("ws", server), ("cdp", port)):
            (project.path / name).write_text(str(one.group))
        ran = project.runpytest_subprocess(
            *("cases", "-k", "login"),
            *(f"--autoweb-connect={server.ws}?token=geheim4", "--autoweb-connect=" + port.http),
            "--autoweb-models=fake/kills-ws,fake/kills-cdp",
        )

    ran.assert_outcomes(passed=1, failed=1)
    lost, none = cells(project)
    assert lost["outcome"] == "passed"
    assert "the browser ended while the cell ran" in lost["attempts"][0]["rerun_because"]
    assert (none["outcome"], none["failure"]["kind"]) == ("broken", "browser")
    assert none["failure"]["message"].endswith(
        f"no browser of --autoweb-connect can be used: ws://127.0.0.1:{server.port} (Playwright): "
        f"nothing listens there; http://127.0.0.1:{port.port} (CDP): nothing listens there"
    )

    ran.stdout.fnmatch_lines(["autoweb: *egress PARTIAL; browsers elsewhere (-v says why)"])
    assert_untold("geheim4", project, ran)


def assert_untold(key: str, project: pytest.Pytester, ran: pytest.RunResult) -> None:
    """The key of an address is in no file of the project, and was not printed."""
    kept = [path for path in project.path.rglob("*") if path.is_file()]
    assert not [path for path in kept if key.encode() in path.read_bytes()]
    assert key not in ran.stdout.str() + ran.stderr.str()


MISMATCH = b"""HTTP/1.1 428 Precondition Required\r\n\r
Playwright version mismatch:
  - server version: v1.20
  - client version: v1.65
"""


@pytest.mark.long
def test_what_cannot_be_used_ends_the_session_before_it_begins(project: pytest.Pytester) -> None:
    class Old(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(MISMATCH)

        def log_message(self, format: str, *args: object) -> None:
            pass

    old = ThreadingHTTPServer(("127.0.0.1", 0), Old)
    threading.Thread(target=old.serve_forever, args=(0.02,), daemon=True).start()
    flags = ("cases", "--autoweb-models=builtin/oracle")
    place = f"127.0.0.1:{old.server_port}"
    refused = project.runpytest(
        *flags, f"--autoweb-connect=ws://{place}/,http://{place},ws://127.0.0.1:1/?key=geheim2"
    )
    old.shutdown()

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [
            f"ERROR: --autoweb-connect: ws://{place} (Playwright): its Playwright is 1.20 and this "
            "one *, which cannot talk to each other; install the same minor version *",
            f"  http://{place} (CDP): *",
            "  ws://127.0.0.1:1 (Playwright): nothing listens there",
        ]
    )
    assert "geheim2" not in refused.stderr.str()
    assert not (project.path / "autoweb-report").exists()

    nonsense = project.runpytest(*flags, "--autoweb-connect=ftp://x/geheim3")
    strict = project.runpytest(
        *flags, "--autoweb-connect=ws://127.0.0.1:1/", "--autoweb-browser-sandbox=strict"
    )

    assert nonsense.ret == strict.ret == pytest.ExitCode.USAGE_ERROR
    nonsense.stderr.fnmatch_lines(["*--autoweb-connect: address 1 is not one *; allowed: ws://*"])
    assert "geheim3" not in nonsense.stderr.str()
    strict.stderr.fnmatch_lines(["*Chromium's own sandbox is unknown: the browser runs elsewhere"])
