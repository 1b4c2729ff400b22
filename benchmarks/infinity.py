"""Local models on a fixed sample of WebArena-Infinity, beside random actions and doing nothing.

    python benchmarks/infinity.py BOARD                        # a checkout of the board
    python benchmarks/infinity.py BOARD --models local/qwen2.5-coder-1.5b --per-app 2
    python benchmarks/infinity.py BOARD --models ollama_chat/qwen3:8b
    python benchmarks/infinity.py --table DIR                  # only print a finished run's table

The sample is that of a rule, so that nobody chose it: of each application, of the easy tasks that
the import finds nothing wrong with, those whose ids have the smallest SHA-256 sums. Each model runs
in a session of its own, so that at most one of them is in memory. Embedded models (`local/…`) have
to be fetched before, with `autoweb models pull`; others need their server.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.results.analysis.statistics import wilson
from pytest_autoweb.tools.importing.infinity.case_text import DEFECT, KNOWN_WRONG, UNPROVEN

CONTROLS = ("builtin/noop", "builtin/random")
LOCAL = ("local/qwen2.5-coder-0.5b", "local/qwen2.5-coder-1.5b")
WRONG = {DEFECT, UNPROVEN, KNOWN_WRONG}


def main() -> int:
    """Import the board, run the models asked for, and print one table row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("board", type=Path, nargs="?", help="a checkout of webarena-infinity")
    parser.add_argument("--models", nargs="*", default=[*CONTROLS, *LOCAL])
    parser.add_argument("--per-app", type=int, default=1, metavar="N", help="tasks of each app")
    parser.add_argument("--kind", default="easy", help="easy, medium, hard or function")
    parser.add_argument("--out", type=Path, default=Path("autoweb-report-infinity"))
    parser.add_argument("--concurrency", default="1")
    parser.add_argument("--table", type=Path, metavar="DIR")
    parsed = parser.parse_args()
    if parsed.table is None:
        if parsed.board is None:
            parser.error("name the folder of a checkout of webarena-infinity, or --table DIR")
        out = parsed.out.resolve()
        cases = sample(imported(parsed.board.resolve(), out), parsed.kind, parsed.per_app)
        for model in parsed.models:
            run(model, cases, out, parsed.concurrency)
    print("\n".join(table((parsed.table or parsed.out).resolve())))
    return 0


def imported(board: Path, out: Path) -> list[LoadedCase]:
    """Import the board into `out`, unless it is there, and return its cases."""
    if not (folder := out / "cases").is_dir():
        out.mkdir(parents=True, exist_ok=True)
        command = (sys.executable, "-m", "pytest_autoweb.cli", "benchmark", "import")
        subprocess.run(
            [*command, "webarena-infinity", str(board), "-o", str(folder)], check=True, cwd=out
        )
    files = sorted(folder.glob("*.yaml"))
    return [case for file in files for case in load_case_file(file)]


def sample(cases: Sequence[LoadedCase], kind: str, most: int) -> list[str]:
    """Return the names of the tasks to run, in order of the applications.

    Args:
        cases: all cases of the board.
        kind: the tag that tasks of the sample have.
        most: the number of tasks of each application.
    """
    by_app: dict[str, list[LoadedCase]] = defaultdict(list)
    for case in cases:
        if kind in case.tags and not WRONG & set(case.tags):
            by_app[case.tags[1]].append(case)
    return [
        f"{case.path}::{case.id}"
        for _, found in sorted(by_app.items())
        for case in sorted(found, key=lambda case: hashlib.sha256(case.id.encode()).digest())[:most]
    ]


def run(model: str, cases: Sequence[str], out: Path, concurrency: str) -> None:
    """Run one session; cells that fail are results, not errors."""
    listing = out / "sample.txt"
    listing.write_text("\n".join(cases), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", f"@{listing}", "-q", f"--rootdir={out}"),
            f"--autoweb-models={model}",
            f"--autoweb-concurrency={concurrency}",
            *("--autoweb-max-repairs=0", "--autoweb-check-timeout=2"),
            f"--autoweb-report={out / model.replace('/', '-').replace(':', '-')}",
        ],
        check=False,
        cwd=out,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{model}: pytest ended with {done.returncode}")


def table(folder: Path) -> Iterator[str]:
    """Yield a Markdown table from the reports of the runs below a folder, and what answered."""
    yield "| model | passed | 95 % | broken | seconds, median | tokens in / out |"
    yield "|---|--:|---|--:|--:|--:|"
    told = []
    for path in sorted(folder.glob("*/report.json")):
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for case in report["cases"] for cell in case["cells"]]
        model = cells[0]["model"]
        yield row(model, cells)
        # Of an embedded model: its file's checksum, its quantisation and the engine's version.
        answered = {one["fingerprint"] for cell in cells for one in cell["served"]} - {""}
        told.append(", ".join((model, *sorted(answered), cells[0]["started"][:10])))
    yield from ("", *told)


def row(model: str, cells: Sequence[dict[str, Any]]) -> str:
    """Return one model's line of the table."""
    passed = sum(cell["outcome"] == "passed" for cell in cells)
    broken = sum(cell["outcome"] == "broken" for cell in cells)
    tokens = [
        sum(used[key] for cell in cells for used in cell["usage"].values())
        for key in ("input_tokens", "output_tokens")
    ]
    interval = wilson(passed, len(cells))
    bounds = f"{interval.low:.0%} to {interval.high:.0%}" if interval else "none"
    took = median(cell["duration_ms"] for cell in cells) / 1000
    return (
        f"| {model} | {passed}/{len(cells)} = {passed / len(cells):.0%} | {bounds} | {broken} "
        f"| {took:.0f} | {tokens[0]:,} / {tokens[1]:,} |"
    )


if __name__ == "__main__":
    sys.exit(main())
