"""`autoweb benchmark pack --as harbor`: the tasks of Harbor that cases become really decide."""

import json
import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_autoweb.cli.command_line import main

SHOP = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
ORDERS = Path(sys.argv[2], "orders.txt")
ORDERS.touch()
class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        orders = ORDERS.read_text()
        page = f"<form method=post><button>Buy tea</button></form><p>{orders}</p>".encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(page)
    def do_POST(self):
        ORDERS.write_text(ORDERS.read_text() + "tea;")
        self.send_response(303)
        self.send_header("location", "/")
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
"""
CASES = """
version: 1
webserver: {command: "{python} shop.py {port} {data}", reset: restart}
defaults: {entry_url: "{{ webserver.url }}", tags: [tea]}
cases:
  - id: buy-tea
    user_task: Buy one "tea" – 茶.
    oracle: page.get_by_role("button", name="Buy tea").click()
    expect:
      - file: {path: "{{ webserver.data }}/orders.txt", equals: "tea;"}
      - http: {url: "{{ webserver.url }}", contains: "<p>tea;</p>"}
  - id: see-tea
    user_task: Buy tea and look.
    files: [shop.py]
    expect:
      - text: tea
      - answer: {equals: 1}
      - file: {path: /etc/orders.txt}
  - id: no-cake
    user_task: Buy cake.
    infeasible: true
"""


@pytest.fixture
def pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """A pack of the shop; what was printed is still to be read."""
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "cases.yaml").write_text(CASES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["cases.yaml", "--include", "shop.py", "-o", "pack", "--needs", "pip install tea==1"]
    assert main(["benchmark", "pack", "--as", "harbor", *words]) == 0
    return tmp_path / "pack"


def test_what_a_task_of_harbor_cannot_say_is_listed_with_the_reason(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = capsys.readouterr().out
    guide = (pack / "README.md").read_text()
    assert "packed 1 case as tasks of Harbor" in said
    assert "1 of 3 cases" in guide
    for sentence in (
        "its files for uploads",
        "the check `text` looks at the page",
        "the check `answer` looks at the answer",
        "the check `file` looks beyond",
        "it cannot be done",
    ):
        assert sentence in said
        assert sentence in guide
    assert not (pack / "see-tea").exists()
    again = ["benchmark", "pack", "--as", "harbor", "cases.yaml", "--include", "shop.py", "-o"]
    assert main([*again, "pack"]) == 4
    assert main([*again, "other", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["packed"]) == ("pytest-autoweb/harbor", 1)
    assert [one["case"] for one in document["left_out"]] == [
        "cases.yaml::see-tea",
        "cases.yaml::no-cake",
    ]


def test_no_file_that_an_agent_sees_tells_the_checks_or_the_solution(pack: Path) -> None:
    task = pack / "buy-tea"
    settings = tomllib.loads((task / "task.toml").read_text("utf-8"))
    assert settings["task"] == {"name": settings["task"]["name"], "keywords": ["tea"]}
    assert settings["agent"]["user"] != settings["verifier"]["user"]
    instruction = (task / "instruction.md").read_text("utf-8")
    assert instruction.startswith('Buy one "tea" – 茶.\n')
    assert "infeasible" not in instruction
    served = task / "environment/app"
    assert [file.name for file in (served / "files").rglob("*")] == ["shop.py"]
    assert "RUN python3 -m pip install tea==1\n" in (served / "Dockerfile").read_text()
    seen = [*(task / "environment").rglob("*"), task / "task.toml", task / "instruction.md"]
    assert not any("tea;" in file.read_text("utf-8") for file in seen if file.suffix == ".yaml")


@pytest.mark.skipif(sys.platform == "win32", reason="tasks of Harbor run in Linux containers")
def test_the_reward_is_one_after_the_solution_and_zero_when_nothing_is_done(
    pack: Path, tmp_path: Path
) -> None:
    task, port = moved(pack / "buy-tea", tmp_path)
    with served(task, port):
        assert reward(task, tmp_path) == "0"
        sh(task / "solution/solve.sh", tmp_path)
        assert reward(task, tmp_path) == "1"
    # Who stops the web server must not get away with it.
    assert reward(task, tmp_path) == "0"
    checks = json.loads((tmp_path / "logs/checks.json").read_text())
    assert [check["passed"] for check in checks] == [True, None]


def test_harbor_itself_reads_the_tasks(pack: Path) -> None:
    tasks = pytest.importorskip("harbor.models.task.task", reason="needs Python 3.12 and `harbor`")
    task = tasks.Task(pack / "buy-tea")
    assert tasks.Task.is_valid_dir(pack / "buy-tea")
    assert task.instruction.startswith("Buy one")
    assert task.config.environment.healthcheck is not None


def moved(task: Path, home: Path) -> tuple[Path, int]:
    """Put the places that a task has in its containers below a folder, and its port elsewhere."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    places = {
        "/logs/verifier": str(home / "logs"),
        "/state/data": str(home / "data"),
        "/app": str(task / "environment/app/files"),
        "8000": str(port),
    }
    for file in [*task.glob("*/*.*"), task / "environment/app/Dockerfile"]:
        text = file.read_text("utf-8")
        for place, instead in places.items():
            text = text.replace(place, instead)
        file.write_text(text, encoding="utf-8")
    (home / "data").mkdir()
    return task, port


@contextmanager
def served(task: Path, port: int) -> Iterator[None]:
    """Run the web server as its image would."""
    lines = (task / "environment/app/Dockerfile").read_text().splitlines()
    said = dict(line.split(" ", 1) for line in lines if line.startswith(("WORKDIR", "CMD")))
    command, folder = json.loads(said["CMD"]), json.loads(said["WORKDIR"])
    with subprocess.Popen([sys.executable, *command[1:]], cwd=folder) as server:
        try:
            until = time.monotonic() + 60
            while not answers(port):
                assert server.poll() is None, "the web server ended"
                assert time.monotonic() < until, "the web server does not answer"
                time.sleep(0.05)
            yield
        finally:
            server.kill()


def answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def sh(script: Path, home: Path) -> None:
    """Run a script with this Python, as root runs it in the container."""
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "PATH": here, "TMPDIR": str(home)}
    subprocess.run(["sh", str(script)], env=environ, check=True, capture_output=True)


def reward(task: Path, home: Path) -> str:
    (home / "logs/reward.txt").unlink(missing_ok=True)
    sh(task / "tests/test.sh", home)
    return (home / "logs/reward.txt").read_text().strip()
