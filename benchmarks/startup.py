#!/usr/bin/env python3
"""Measure what the idle plugin adds to the start of a pytest session.

    python benchmarks/startup.py
    python benchmarks/startup.py --pairs 60 --json startup.json

Runs `pytest --collect-only` on an empty folder with the plugin installed but without models, and
again with `-p no:autoweb`. Everything else is the same, pytest-playwright included. The two runs of
a pair follow each other directly and each pair swaps their order, so a machine that is busy for a
while slows both down. The table gives the median of each side and the median of the differences
within the pairs, for the time on the clock, for the processor time of the child process and for its
largest resident memory. Bytecode is compiled once, before the first pair, into a temporary folder.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

IDLE: tuple[str, ...] = ()
WITHOUT: tuple[str, ...] = ("-p", "no:autoweb")
# Plugins of the developers' environment that are slow to start; a user does not have them.
BESIDE_THE_POINT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")
NOTHING_COLLECTED = 5


class Start(NamedTuple):
    """What one session cost from its start to its end."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float


UNITS = {"wall_ms": "wall time, ms", "cpu_ms": "CPU time, ms", "peak_mb": "peak memory, MB"}


def start_once(arguments: Sequence[str], folder: Path, environ: dict[str, str]) -> Start:
    """Run one session and return its cost."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += [*BESIDE_THE_POINT, *arguments, "-c", str(folder / "pytest.ini"), str(folder)]
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=environ, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != NOTHING_COLLECTED:
        raise SystemExit(f"pytest ended with exit code {process.returncode}: {command}")
    # Linux counts kilobytes, macOS bytes.
    per_mb = 1_000_000 if sys.platform == "darwin" else 1_000_000 / 1024
    return Start(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / per_mb)


def measure(pairs: int) -> list[tuple[Start, Start]]:
    """Run that many pairs and return them as (with the idle plugin, without it)."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "empty"
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        environ = {
            name: value
            for name, value in os.environ.items()
            if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith(("AUTOWEB_", "PYTEST_"))
        }
        environ["PYTHONPYCACHEPREFIX"] = str(Path(scratch) / "bytecode")
        for arguments in (IDLE, WITHOUT):
            start_once(arguments, folder, environ)
        found = []
        for number in range(pairs):
            order = (IDLE, WITHOUT) if number % 2 else (WITHOUT, IDLE)
            costs = {arguments: start_once(arguments, folder, environ) for arguments in order}
            found.append((costs[IDLE], costs[WITHOUT]))
    return found


def summary(pairs: Sequence[tuple[Start, Start]]) -> dict[str, dict[str, float]]:
    """Return the medians of both sides and of their differences, for each figure."""
    return {
        figure: {
            "no:autoweb": statistics.median(getattr(without, figure) for _, without in pairs),
            "idle": statistics.median(getattr(idle, figure) for idle, _ in pairs),
            "added": statistics.median(
                getattr(idle, figure) - getattr(without, figure) for idle, without in pairs
            ),
        }
        for figure in Start._fields
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, metavar="N")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures here")
    args = parser.parse_args()
    found = summary(measure(args.pairs))
    print("| what | `-p no:autoweb` | idle plugin | added |")
    print("|---|--:|--:|--:|")
    for figure, row in found.items():
        cells = " | ".join(f"{value:.1f}" for value in row.values())
        print(f"| {UNITS[figure]} | {cells} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
