#!/usr/bin/env python3
"""Plant a fault of each type in a small shop, and see what corrections make of it.

    python benchmarks/calibration.py
    python benchmarks/calibration.py --model local/qwen2.5-coder-1.5b --folder FOLDER --minutes 11

Every arm starts from the same first attempt. Per fault and arm: what it was detected as, whether it
was recovered, how many model calls the retries took. `fake/obedient` is a script that follows
evidence (see `faults/answers.py`): it measures the mechanism. Only a real model measures a gain.

With `--minutes` it ends in time, whatever is left to do; the same `--folder` given again goes on
with the cells that are missing. Options that it does not know go to pytest, such as
`--autoweb-max-repairs=1`.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_autoweb.results.analysis.correction_facts import corrections_of
from pytest_autoweb.results.records import CellResult

HERE = Path(__file__).parent / "faults"
ARMS = ("constrained", "reflexion", "off", "plain")
EXPECTED = {
    "missing": "DATA_NOT_FOUND",
    "renamed": "DATA_NOT_FOUND",
    "slow": "SERVICE_UNAVAILABLE",
    "401": "PERMISSION_ERROR",
    "409": "RESOURCE_CONFLICT",
    "500": "SERVICE_UNAVAILABLE",
    "validation": "VALIDATION_ERROR",
    "stock": "BUSINESS_ERROR",
    "frame": "RESOURCE_CONFLICT",
}


def run(options: Sequence[str], repeat: int, folder: Path, deadline: float) -> list[CellResult]:
    """Run the faults that `folder` does not hold yet, until the deadline; all cells so far.

    Args:
        options: for pytest, the model and the arms among them.
        repeat: cells of each fault.
        folder: holds a folder for each session.
        deadline: on the monotonic clock.
    """
    done = Counter(cell.case_id for cell in cells_in(folder))
    left = [case for case in EXPECTED if done[case] < repeat]
    if left:
        part = folder / f"part-{1 + len(list(folder.glob('part-*')))}"
        report = f"--autoweb-report={part}"
        _session(
            [*options, f"--autoweb-repeat={repeat}", report, "-k", " or ".join(left)], deadline
        )
    return cells_in(folder)


def _session(options: Sequence[str], deadline: float) -> None:
    command = [
        *(sys.executable, "-m", "pytest", "-q", str(HERE / "cases.yaml"), "-c", "/dev/null"),
        *("--rootdir", str(HERE), *options),
    ]
    with subprocess.Popen(command, cwd=HERE, start_new_session=True) as session:
        try:
            code = session.wait(None if math.isinf(deadline) else deadline - time.monotonic())
        except subprocess.TimeoutExpired:
            print("the time is over; what has ended is kept")
            os.killpg(session.pid, signal.SIGINT)
            try:
                code = session.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(session.pid, signal.SIGKILL)
            return
    if code not in (0, 1):
        raise SystemExit(f"pytest ended with {code}")


def cells_in(folder: Path) -> list[CellResult]:
    """Return every cell that has ended, each once, in the order of the faults."""
    found: dict[tuple[str, int], CellResult] = {}
    for file in sorted(folder.glob("part-*/cells/**/cell.json")):
        cell = CellResult.model_validate_json(file.read_text(encoding="utf-8"))
        if cell.attempts and cell.outcome != "broken":
            found[cell.case_id, cell.repeat] = cell
    order = list(EXPECTED)
    return [found[key] for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))]


def rows(cells: Sequence[CellResult], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row per fault: how it was classified, and how many cells each arm corrected."""
    by_case: dict[str, list[CellResult]] = defaultdict(list)
    for cell in cells:
        by_case[cell.case_id].append(cell)
    table = []
    for case, expected in EXPECTED.items():
        own = by_case[case]
        failed = [cell for cell in own if not cell.attempts[0].checks_passed]
        first = [cell.attempts[0].classification for cell in failed]
        row: dict[str, Any] = {
            "fault": case,
            "expected": expected,
            "detected": sorted({found.type for found in first if found}),
            "n": len(own),
            "failed_first": len(failed),
        }
        for arm in arms:
            runs = [_of_arm(cell, arm) for cell in failed]
            row[arm] = {
                "recovered": sum(passed for passed, _, _ in runs),
                "calls": sum(calls for _, calls, _ in runs),
                "stopped": sorted({why for _, _, why in runs if why}),
            }
        table.append(row)
    return table


def _of_arm(cell: CellResult, arm: str) -> tuple[bool, int, str]:
    if cell.correction == arm:
        retries = cell.attempts[1:]
        calls = sum(usage.calls for attempt in retries for usage in attempt.usage.values())
        return cell.passed, calls, cell.stopped
    beside = next(each for each in cell.arms if each.arm == arm)
    return beside.passed, beside.usage.calls, beside.stopped


def table_of(table: Sequence[dict[str, Any]], arms: Sequence[str]) -> str:
    """Return the rows as Markdown."""
    lines = [f"| fault | detected as | failed first | {' | '.join(arms)} |"]
    lines.append("|---" * (len(arms) + 3) + "|")
    for row in table:
        told = (f"{row[arm]['recovered']} ({row[arm]['calls']} calls)" for arm in arms)
        right = row["detected"] in ([], [row["expected"]])
        detected = ", ".join(row["detected"]) or ("-" if row["n"] else "not run")
        planted = "" if right else f" (planted {row['expected']})"
        first = f"{row['failed_first']} of {row['n']}"
        lines.append(f"| {row['fault']} | {detected}{planted} | {first} | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="fake/obedient")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--arms", default=",".join(ARMS), help="the first one decides")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after so many")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="keep the runs here, or go on with them")
    args, more = parser.parse_known_args()
    arms = args.arms.split(",")
    # Within an attempt by turns a model corrects itself, which is not what is measured here.
    way = "--autoweb-agent=codegen:once"
    options = [f"--autoweb-models={args.model}", way, f"--autoweb-correction={args.arms}", *more]
    deadline = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        cells = run(options, args.repeat, folder, deadline)
    table = rows(cells, arms)
    print(f"\n{table_of(table, arms)}")
    facts = corrections_of(cells)
    for fact in facts:
        for arm in fact.arms:
            print(f"{fact.model} {arm.arm}: {arm.sentence}")
    print(f"{len(cells)} of {len(EXPECTED) * args.repeat} cells")
    if args.json:
        content = {"rows": table, "gain": [fact.model_dump(mode="json") for fact in facts]}
        args.json.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
