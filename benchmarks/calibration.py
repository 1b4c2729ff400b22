#!/usr/bin/env python3
"""Plant a fault of each type in a small shop, and see what corrections make of it.

    python benchmarks/calibration.py
    python benchmarks/calibration.py --model local/qwen2.5-coder-1.5b --repeat 3 --json out.json

Every arm starts from the same first attempt. Per fault and arm: what it was detected as, whether it
was recovered, how many model calls the retries took. `fake/obedient` is a script that follows
evidence (see `faults/answers.py`): it measures the mechanism. Only a real model measures a gain.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_autoweb.report.corrections import corrections_of
from pytest_autoweb.results import CellResult

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


def run(model: str, repeat: int, folder: Path, more: Sequence[str]) -> list[CellResult]:
    """Run the faults; the cells as they are on disk."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", str(HERE / "cases.yaml"), "-c", "/dev/null"),
        *("--rootdir", str(HERE), f"--autoweb-models={model}", f"--autoweb-repeat={repeat}"),
        f"--autoweb-correction={','.join(ARMS)}",
        f"--autoweb-report={folder}",
        *more,
    ]
    done = subprocess.run(command, cwd=HERE, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}")
    files = sorted((folder / "cells").glob("**/cell.json"))
    return [CellResult.model_validate_json(file.read_text(encoding="utf-8")) for file in files]


def rows(cells: Sequence[CellResult]) -> list[dict[str, Any]]:
    """A row per fault: what it was taken for, and per arm passed / cells that failed first."""
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
        for arm in ARMS:
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


def main() -> None:
    """Read the command line, run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="fake/obedient")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="keep the run here")
    args, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch) / "report").resolve()
        cells = run(args.model, args.repeat, folder, more)
    table = rows(cells)
    print(f"\n| fault | detected as | failed first | {' | '.join(ARMS)} |")
    print("|---" * (len(ARMS) + 3) + "|")
    for row in table:
        arms = (f"{row[arm]['recovered']} ({row[arm]['calls']} calls)" for arm in ARMS)
        detected = ", ".join(row["detected"]) or "-"
        right = (
            "" if row["detected"] in ([], [row["expected"]]) else f" (planted {row['expected']})"
        )
        print(
            f"| {row['fault']} | {detected}{right} | {row['failed_first']} of {row['n']} | ", end=""
        )
        print(f"{' | '.join(arms)} |")
    facts = corrections_of(cells)
    for fact in facts:
        for arm in fact.arms:
            print(f"{fact.model} {arm.arm}: {arm.sentence}")
    if args.json:
        content = {"rows": table, "gain": [fact.model_dump(mode="json") for fact in facts]}
        args.json.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
