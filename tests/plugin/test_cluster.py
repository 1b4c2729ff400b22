"""Cells on the nodes of a real Ray cluster on this machine: `make cluster`, no part of CI."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from steered_session import autoweb

from pytest_autoweb.results.runs.watched import touch_watched

pytest.importorskip("ray")
pytestmark = pytest.mark.cluster

CELLS = 12
KEY, PASSWORD = "sk-test-0123456789abcdef", "the-password-of-ana"


def test_cells_run_on_the_nodes_and_keys_stay_at_home(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    port = free_port()
    with RayNodes(2, client_port=port) as nodes:
        flags = "--autoweb-concurrency=3", "--autoweb-max-cost=50"
        session = clustered.start(
            nodes.address, f"--autoweb-cluster=ray://127.0.0.1:{port}", *flags
        )
        told = said(session)
        kept = "".join(
            file.read_text(errors="replace") for file in nodes.session.rglob("*") if file.is_file()
        )

    assert session.returncode == 0, told
    assert re.search(r"autoweb cluster: Ray \S+, 3 nodes with 2 free cores .*: 2 workers", told)
    assert clustered.outcomes() == {"passed": CELLS}
    assert set(clustered.asked().values()) == {2}
    spent = json.loads((clustered.folder / "spent.json").read_text(encoding="utf-8"))
    assert spent["spent"] == pytest.approx(0.07 * 2 * CELLS)
    bearers = {seen.headers["Authorization"] for seen in clustered.server.requests}
    assert bearers == {f"Bearer {KEY}"}
    # Both nodes took part, in folders of theirs, and no variable of a test process holds a key.
    finished = [json.loads(line) for line in clustered.spy.read_text().splitlines()]
    assert len({pid for pid, *_ in finished}) == 2
    assert all(not held for _, held, *_ in finished)
    assert all(not Path(cwd).is_relative_to(clustered.path) for _, _, cwd, _ in finished)
    assert (KEY in kept, PASSWORD in kept) == (False, False)


def test_the_cap_on_money_holds_over_all_nodes(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    with RayNodes(2) as nodes:
        # A call is made as long as another ten cents are left: the fifth finds 0.28 spent of 0.37.
        session = clustered.start(
            nodes.address, "--autoweb-cluster", "--autoweb-concurrency=3", "--autoweb-max-cost=0.37"
        )
        told = said(session)

    assert session.returncode == 1, told
    assert 3 <= clustered.asked().total() <= 4
    assert "cost" in told


def test_what_a_killed_node_was_running_runs_again_and_nothing_else(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    with RayNodes(2) as nodes:
        session = clustered.start(nodes.address, "--autoweb-cluster", "--autoweb-concurrency=2")
        wait(lambda: len(clustered.ended()) >= 3, session)
        ended = clustered.ended()
        nodes.kill(0)
        told = said(session)

    assert session.returncode == 0, told
    assert clustered.outcomes() == {"passed": CELLS}
    asked = clustered.asked()
    assert {asked[cell] for cell in ended} == {2}
    assert sum(count > 2 for count in asked.values()) <= 2
    assert re.search(r"gw\d was running [0-2] cells?, which will run again", told)


@pytest.mark.parametrize("clustered", [6.0], indirect=True)
def test_a_lost_head_ends_with_a_report_and_the_run_goes_on_elsewhere(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    with RayNodes(2) as nodes:
        session = clustered.start(nodes.address, "--autoweb-cluster", "--autoweb-concurrency=2")
        wait(lambda: len(clustered.ended()) >= 1, session)
        nodes.kill_head()
        told = said(session)
        assert session.returncode == pytest.ExitCode.INTERRUPTED, told
        assert "the Ray cluster is lost; --autoweb-resume goes on" in told
        ended = clustered.ended()
        outcomes = clustered.outcomes()
        assert outcomes["passed"] == len(ended) < CELLS
        clustered.asked()

    with RayNodes(1) as nodes:
        session = clustered.start(
            nodes.address, "--autoweb-cluster", "--autoweb-concurrency=2", "--autoweb-resume"
        )
        told = said(session)
    assert session.returncode == 0, told
    assert clustered.outcomes() == {"passed": CELLS}
    asked = clustered.asked()
    assert not ended & asked.keys()
    assert set(asked.values()) == {2}
    assert f"kept the results of {len(ended)}, ran " in told


def test_ctrl_c_ends_with_a_report_and_leaves_nothing_on_the_nodes(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    before = set(Path("/tmp").glob("autoweb-node-*"))
    with RayNodes(1) as nodes:
        session = clustered.start(nodes.address, "--autoweb-cluster")
        wait(lambda: len(clustered.ended()) >= 2, session)
        session.send_signal(signal.SIGINT)
        told = said(session)
    assert session.returncode == pytest.ExitCode.INTERRUPTED, told
    outcomes = clustered.outcomes()
    assert outcomes["passed"] == len(clustered.ended())
    assert outcomes["broken"] <= 1
    assert set(Path("/tmp").glob("autoweb-node-*")) <= before


@pytest.mark.parametrize("clustered", [4.0], indirect=True)
def test_orders_reach_the_nodes(clustered: Clustered) -> None:
    from ray_nodes import RayNodes

    def ctl(*words: str) -> subprocess.CompletedProcess[str]:
        return autoweb(clustered.path, "run", "ctl", *words)

    first, last = "c0[openai/first]", f"c{CELLS - 1}[openai/first]"
    with RayNodes(1) as nodes:
        flags = "--autoweb-concurrency=1", "--autoweb-max-cost=0.60"
        session = clustered.start(nodes.address, "--autoweb-cluster", *flags)
        wait(lambda: len(clustered.ended()) >= 1, session)
        paused = ctl("pause")
        wait(lambda: not clustered.under_way(), session)
        time.sleep(5)
        at_pause = clustered.ended()
        time.sleep(5)
        still = clustered.ended()
        touch_watched(clustered.folder)
        given = [
            ctl(*words.split())
            for words in (
                *(f"stop-case c{CELLS - 1}", f"again {first}", f"again {first}", f"again {last}"),
                *("in-flight 5", "cap cost 100", "go-on"),
            )
        ]
        touch_watched(clustered.folder)
        # More than a worker would be sent if it still had one in flight.
        wait(lambda: clustered.ended_again("c0") and len(clustered.under_way()) == 5, session)
        wait(clustered.pictured, session)
        timed = ctl("cap", "time", "1s")
        told = said(session)
    over = ctl("again", first)

    assert [paused.returncode, timed.returncode] == [0, 0], paused.stderr
    assert at_pause == still
    assert len(still) <= 3
    assert [ran.returncode for ran in given] == [0, 0, 4, 4, 0, 0, 0]
    assert "and that run has not ended" in given[2].stderr
    assert f"{last} has not ended yet" in given[3].stderr
    assert "does not go on any more: it ended with exit status 0" in over.stderr
    assert session.returncode == 0, told
    cells = clustered.cells()
    assert {cell["outcome"] for cell in cells} == {"passed", "skipped"}
    why = Counter(cell["not_needed"] for cell in cells if cell["not_needed"])
    assert why["steered"] == 1
    assert why["time"] >= 1
    [cell] = [cell for cell in cells if cell["again"]]
    assert (cell["case_id"], cell["outcome"]) == ("c0", "passed")
    [ran_again] = cell["again"]
    assert (ran_again["outcome"], ran_again["folder"]) == ("passed", "again-1")
    assert ran_again["cost_usd"] == pytest.approx(0.14)
    [further] = clustered.ended_again("c0")
    assert (further / "attempt-1/script.py").is_file()
    assert (further.parent / "attempt-1/script.py").is_file()
    assert not list(clustered.folder.rglob("so-far.json"))
    assert f"run again by order: {first} at " in told
    assert "in-flight 5; " in told
    assert "cells were not run, by order: 1 stopped by `stop-case c11`" in told


SCRIPT = """Step 1: look
```python
# Step 1: look
answer(page.get_by_role("heading").inner_text())
```"""
PRICED = "max_tokens: 10, input_cost_per_mtok: 0, output_cost_per_mtok: 10000"
"""A reply costs seven cents, and could have cost ten."""
SPY = """
import json, os, pathlib
def pytest_autoweb_cell_finished(result):
    with open(os.environ["AUTOWEB_SPY"], "a") as file:
        held = [name for name in os.environ if "sk-test" in os.environ[name]]
        file.write(json.dumps([os.getpid(), held, os.getcwd(), result.case_id]) + "\\n")
"""


class Clustered:
    """A project, a model's server, and sessions on the cluster."""

    def __init__(self, project: pytest.Pytester, server: OpenAIServer) -> None:
        self.path, self.server, self._asked = project.path, server, 0
        self.folder, self.spy = project.path / "autoweb-report", project.path.parent / "spy.jsonl"
        project.makeconftest(SPY)
        settings = f"{{api_base: '{server.api_base}', api_key_env: MODEL_KEY, {PRICED}}}"
        (self.path / "models.yaml").write_text(f"models: {{openai/first: {settings}}}")
        case = {
            "entry_url": "{{ webserver.url }}index.html",
            "secrets": {"password": {"env": "SHOP_PASSWORD"}},
            "expect": [{"answer": {"equals": "Shop"}}],
        }
        cases = [
            case | {"id": f"c{n}", "user_task": f"Read the heading, number {n}."}
            for n in range(CELLS)
        ]
        text = json.dumps({"version": 1, "webserver": {"static": "../site"}, "cases": cases})
        (self.path / "cases/shop.yaml").write_text(text)

    def start(self, address: str, *flags: str) -> subprocess.Popen[str]:
        soon = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
        own = {"MODEL_KEY": KEY, "SHOP_PASSWORD": PASSWORD, "AUTOWEB_SPY": str(self.spy)}
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "cases", "--autoweb-models=openai/first"),
                *("--autoweb-models-file=models.yaml", "--autoweb-max-repairs=0", "-v", *flags),
            ],
            cwd=self.path, env={**os.environ, **own, **soon, "RAY_ADDRESS": address}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def ended(self) -> set[str]:
        return {path.parts[-4] for path in self.folder.glob("cells/*/*/*/cell.json")}

    def ended_again(self, case: str) -> list[Path]:
        """The folders of a case's further runs whose files have come."""
        return [path.parent for path in self.folder.glob(f"cells/{case}/*/*/again-*/cell.json")]

    def pictured(self) -> bool:
        """Whether the latest picture of a cell that is going has come."""
        for file in self.folder.glob("cells/*/*/*/so-far.json"):
            with suppress(OSError):
                film = json.loads(file.read_text(encoding="utf-8"))["film"]
                return bool(film) and (file.parent / film[-1]["picture"]).is_file()
        return False

    def under_way(self) -> set[str]:
        """The cases whose cells have begun and not ended."""
        begun = {path.parts[-4] for path in self.folder.glob("cells/*/*/*/started")}
        return begun - self.ended()

    def asked(self) -> Counter[str]:
        """How often each cell has asked the model since the last look."""
        seen, self._asked = self.server.requests[self._asked :], len(self.server.requests)
        return Counter(
            f"c{re.findall(r'number ([0-9]+)', json.dumps(one.body))[-1]}" for one in seen
        )

    def outcomes(self) -> Counter[str]:
        return Counter(cell["outcome"] for cell in self.cells())

    def cells(self) -> list[dict[str, Any]]:
        """The cells in the report, in which each must stand once."""
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        found = [cell for case in report["cases"] for cell in case["cells"]]
        assert Counter(cell["case_id"] for cell in found) == {f"c{n}": 1 for n in range(CELLS)}
        return found


def said(session: subprocess.Popen[str]) -> str:
    try:
        return session.communicate(timeout=150)[0]
    except subprocess.TimeoutExpired:
        session.kill()
        pytest.fail(f"the session hangs:\n{session.communicate()[0]}")


def wait(condition: Callable[[], Any], session: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 200
    while not condition():
        if session.poll() is not None or time.monotonic() > until:
            session.kill()
            pytest.fail(said(session))
        time.sleep(0.1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def clustered(project: pytest.Pytester, request: pytest.FixtureRequest) -> Iterator[Clustered]:
    with OpenAIServer([Answer(SCRIPT, delay=getattr(request, "param", 0.5))]) as server:
        yield Clustered(project, server)
