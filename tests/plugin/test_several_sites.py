"""Tasks over several web servers, one of them started by others, and tasks that cannot be done."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from session_server import session_command

from pytest_autoweb.cases.loader import load_case_file


@pytest.mark.long
def test_a_task_over_several_sites_and_one_that_cannot_be_done(
    tmp_path: Path, forum: tuple[int, list[str]]
) -> None:
    port, asked = forum
    for name, text in (
        ("cases/sites.yaml", CASES.replace("PORT", str(port))),
        ("cases/broken.yaml", BROKEN.replace("PORT", str(port))),
        ("cases/shop/index.html", "<h1>Shop</h1>"),
        ("cases/wiki/price.html", "<p>7</p>"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [*session_command(), "cases", "--autoweb-models=builtin/oracle"]
    done = subprocess.run(
        [*command, "--autoweb-check-timeout=1"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    cells = [json.loads(f.read_bytes()) for f in tmp_path.glob("**/cell.json")]
    found = {cell["case_id"]: cell for cell in cells}
    outcomes = {name: cell["outcome"] for name, cell in found.items()}
    assert outcomes == {
        "both": "passed",
        "never": "passed",
        "wrongly-refused": "failed",
        "not-put-back": "broken",
    }, done.stdout
    assert found["not-put-back"]["failure"]["kind"] == "webserver"
    assert "was answered with status 503" in found["not-put-back"]["reason"]
    resets = [path for path in asked if path.startswith("/init")]
    assert len(resets) == 3, "before each attempt of a file, one"
    assert all("shop=http://127.0.0.1:" in path for path in resets)
    # It stands in every task of the file, or it would give away which cannot be done.
    assert all(
        'begins with "infeasible:"' in found[name]["user_task"]
        for name in ("both", "never", "wrongly-refused")
    )
    assert found["never"]["tags"] == ["infeasible"]
    assert "infeasible" not in found["not-put-back"]["user_task"]


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("webservers: {a-b: {static: x}}", "must be a name of letters"),
        ("webservers: {a: [x]}", "must be a mapping with command, static or running"),
        ("webservers: {a: {running: true}}", "must be where the running server is"),
        (
            'webservers: {a: {running: true, url: "http://a.test/", reset: restart}}',
            "a running server takes no",
        ),
        (
            'webservers: {a: {static: x, reset: {url: "{{ webservers.b.url }}"}}}',
            "unknown name 'webservers.b' (allowed: a)",
        ),
        ("webserver: {static: x, running: true}", "exactly one of command, static, running"),
        ("defaults: {infeasible: maybe}", "infeasible"),
    ],
)
def test_mistakes_about_servers_are_told(tmp_path: Path, section: str, reason: str) -> None:
    file = tmp_path / "a.yaml"
    case = "{id: a, entry_url: 'https://a.test/', user_task: Look.}"
    file.write_text(f"version: 1\n{section}\ncases: [{case}]\n")

    with pytest.raises(Exception, match=r"a\.yaml:\d+") as raised:
        load_case_file(file)

    assert reason in str(raised.value)


CASES = """
version: 1
vars: {site: "http://127.0.0.1:PORT"}
webserver: {static: shop}
webservers:
  wiki: {static: wiki}
  forum:
    running: true
    url: "{{ vars.site }}/"
    timeout: 3
    reset: {method: POST, url: "{{ vars.site }}/init?shop={{ webserver.url }}"}
defaults: {entry_url: "{{ webserver.url }}index.html"}
cases:
  - id: both
    user_task: "Look up the price at {{ webservers.wiki.url }} and the rule at {{ vars.site }}."
    allowed_origins: ["{{ webservers.wiki.url }}", "{{ webservers.forum.url }}"]
    expect: [{url: "{{ webservers.forum.url }}rule"}, {answer: {equals: "7 tea"}}]
    oracle: |
      page.goto("{{ webservers.wiki.url }}price.html")
      price = page.locator("p").inner_text()
      page.goto("{{ webservers.forum.url }}rule")
      answer(price + " " + page.locator("p").inner_text())
  - id: never
    user_task: Buy a boat.
    infeasible: true
    oracle: 'answer("Infeasible: no boats are sold")'
  - id: wrongly-refused
    user_task: Say the price.
    expect: [{answer: {equals: 7}}]
    oracle: 'answer("infeasible: there is none")'
"""
BROKEN = """
version: 1
webservers:
  forum: {running: true, url: "http://127.0.0.1:PORT/", timeout: 3,
          reset: {url: "http://127.0.0.1:PORT/refuse"}}
cases:
  - id: not-put-back
    entry_url: "{{ webservers.forum.url }}rule"
    user_task: Look.
    expect: [{text: tea}]
    oracle: "# Step 1"
"""


class Forum(BaseHTTPRequestHandler):
    """A site that runs anyway, and notes what it is asked to do."""

    asked: list[str]

    def do_GET(self) -> None:
        self.reply(200, b"<p>tea</p>")

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.reply(503 if "refuse" in self.path else 200, b"")

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def forum() -> Iterator[tuple[int, list[str]]]:
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Noted", (Forum,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()
