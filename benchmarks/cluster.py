"""Cells on the nodes of a Ray cluster on this machine: how time scales, and what kills cost.

    .venv/bin/python benchmarks/cluster.py [--nodes 1,2,4] [--cells 48] [--concurrency 6]
    .venv/bin/python benchmarks/cluster.py --nodes 4 --cells 500 --kill 20 [--seed 1]

Each cell asks its model twice, and a server on this machine answers each call after so many
seconds, so that cells wait most of their time, as they do for a service. The time is that from the
first cell's start to the last one's end. With `--kill`, all processes of a node chosen at random
are killed after that many seconds on average, again and again, and another node joins at once;
at the end each cell must be there once, passed, and its calls are counted.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

from ray_nodes import RayNodes  # noqa: E402

from benchmarks.in_flight import CALLS, Model, Server, case_files, furnish  # noqa: E402

ASKED: Counter[str] = Counter()


class CountingModel(Model):
    """Counts the requests of each cell."""

    def count(self, who: str) -> None:
        """Count one request."""
        ASKED[who] += 1


def run(folder: Path, nodes: RayNodes, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the cells, and return their results with the time at which each arrived."""
    command = [
        sys.executable, "-m", "pytest", "-q", *case_files(folder), "--autoweb-models=slow",
        "--autoweb-models-file=models.json", f"--autoweb-concurrency={asked.concurrency}",
        "--autoweb-cluster=auto", "--max-worker-restart=1000", f"-n{len(nodes)}",
    ]  # fmt: skip
    environ = os.environ | {"RAY_ADDRESS": nodes.address}
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: said.append(process.stdout.read()))  # type: ignore[union-attr]
    reader.start()
    kills = 0
    chance = random.Random(asked.seed)
    while asked.kill and process.poll() is None:
        until = time.monotonic() + chance.uniform(0.5, 1.5) * asked.kill
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.5)
        if process.poll() is None and len(nodes):
            nodes.kill(chance.randrange(len(nodes)))
            kills += 1
            # On a busy machine Ray may need more time for a node than it gives itself.
            with suppress(Exception):
                nodes.add()
    process.wait()
    reader.join()
    if kills or process.returncode:
        print(f"{kills} nodes killed, exit status {process.returncode}", said[0][-3000:], sep="\n")
    files = sorted((folder / "autoweb-report/cells").rglob("cell.json"))
    cells = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    ends = [datetime.fromtimestamp(file.stat().st_mtime).astimezone() for file in files]
    return [cell | {"ended": end} for cell, end in zip(cells, ends, strict=True)]


def measure(nodes: RayNodes, port: int, asked: argparse.Namespace) -> float:
    """Run all cells on these nodes, check them, and return the seconds."""
    ASKED.clear()
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name), asked.cells, port)
        cells = run(Path(name), nodes, asked)
    outcomes = Counter(cell["outcome"] for cell in cells)
    ids = Counter(cell["case_id"] for cell in cells)
    begun = [datetime.fromisoformat(cell["started"]) for cell in cells]
    took: float = (max(cell["ended"] for cell in cells) - min(begun)) / timedelta(seconds=1)
    again = sum(count > CALLS for count in ASKED.values())
    print(
        f"{len(nodes)} nodes: {len(ids)} of {asked.cells} cells, {dict(outcomes)}, most per cell "
        f"{max(ids.values())}, {took:.1f} s; {sum(ASKED.values())} calls, {again} cells asked again"
    )
    return took


def main() -> None:
    """Measure each number of nodes, and print lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="1,2,4")
    parser.add_argument("--cells", type=int, default=48)
    parser.add_argument("--concurrency", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--kill", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    CountingModel.seconds = asked.seconds
    server = Server(("127.0.0.1", 0), CountingModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    first = 0.0
    for count in map(int, asked.nodes.split(",")):
        with RayNodes(count) as nodes:
            took = measure(nodes, server.server_port, asked)
        first = first or took * count
        at_once = min(asked.cells, count * asked.concurrency)
        ideal = asked.cells * CALLS * asked.seconds / at_once
        print(f"  ideal {ideal:.1f} s, ratio {ideal / took:.2f}; speed-up {first / took:.2f}")


if __name__ == "__main__":
    main()
