"""What a session keeps while thousands of cells pass through it: memory, processes, files, folders.

    .venv/bin/python benchmarks/long_run.py [--cells 5000] [--concurrency 16] [--every 10]

One session runs so many cells with a model that a server on this machine answers at once. Every few
seconds it prints the memory (PSS, in MB) of the test process, of Playwright's driver, of the
gateway, of the browser and of the rest, the count of processes, of open files of the test process,
and of folders in the session's temporary folder. At the end it prints for each the slope by least
squares over the second half, for a thousand cells: near 0 for what is flat.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.in_flight import Model, Server, case_files, descendants, furnish, pss_mb

ROLES = {
    "driver": re.compile(r"run-driver"),
    "browser": re.compile(r"chrom(e|ium)|headless.shell", re.IGNORECASE),
    "gateway": re.compile(r"pytest_autoweb\.llm\.gateway|gateway"),
}
Sample = dict[str, float]


def role(pid: int, session: int) -> str:
    """Return whose memory a process is."""
    if pid == session:
        return "test process"
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return "other"
    return next((name for name, pattern in ROLES.items() if pattern.search(line)), "other")


def sample(session: int, temporary: Path, cells: int) -> Sample:
    """Look at all processes of a session once."""
    found = dict.fromkeys(("test process", *ROLES, "other"), 0.0)
    pids = list(descendants(session))
    for pid in pids:
        found[role(pid, session)] += pss_mb(pid)
    try:
        files = sum(1 for _ in Path(f"/proc/{session}/fd").iterdir())
    except OSError:
        files = 0
    folders = sum(1 for path in temporary.rglob("*") if path.is_dir())
    return {
        "cells": cells,
        **found,
        "processes": len(pids),
        "open files": files,
        "temporary folders": folders,
    }


def watch(folder: Path, temporary: Path, concurrency: int, every: float) -> list[Sample]:
    """Run the session and return what was seen of it."""
    command = [
        sys.executable, "-m", "pytest", "-q", *case_files(folder), "--autoweb-models=slow",
        "--autoweb-models-file=models.json", f"--autoweb-concurrency={concurrency}",
    ]  # fmt: skip
    env = {**os.environ, "TMPDIR": str(temporary)}
    seen: list[Sample] = []
    with (folder / "output.txt").open("w+", encoding="utf-8") as said:
        session = subprocess.Popen(command, cwd=folder, stdout=said, env=env)
        while session.poll() is None:
            time.sleep(every)
            done = sum(1 for _ in (folder / "autoweb-report/cells").rglob("cell.json"))
            if done:
                seen.append(sample(session.pid, temporary, done))
                print(line(seen[-1]), flush=True)
        said.seek(0)
        print(*said.read().splitlines()[-4:], sep="\n")
    left = [str(path.relative_to(temporary)) for path in temporary.iterdir()]
    print("left in the temporary folder:", ", ".join(left) or "nothing")
    return seen


def line(one: Sample) -> str:
    """Return a sample as a row."""
    return "  ".join(f"{name} {value:.0f}" for name, value in one.items())


def main() -> None:
    """Run once and print the slopes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two looks")
    asked = parser.parse_args()
    Model.seconds = 0.0
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as temporary:
        furnish(Path(name), asked.cells, server.server_port)
        seen = watch(Path(name), Path(temporary), asked.concurrency, asked.every)
    # Towards the end fewer and fewer cells are in flight.
    until = asked.cells - 2 * asked.concurrency
    late = [one for one in seen if asked.cells / 2 < one["cells"] < until]
    if len(late) < 3:
        raise SystemExit("too few samples for a slope: give more cells, or a smaller --every")
    print("a thousand cells more, over the second half:")
    cells = [one["cells"] for one in late]
    for name in list(late[0])[1:]:
        slope = statistics.linear_regression(cells, [one[name] for one in late]).slope * 1000
        print(f"  {name}: {slope:+.1f} (at the end {late[-1][name]:.0f})")


if __name__ == "__main__":
    main()
