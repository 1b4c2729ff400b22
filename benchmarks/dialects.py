"""Twenty MiniWoB++ tasks at three seeds on the embedded models, in both dialects and both ways.

    python benchmarks/dialects.py                     # everything, about two hours on two cores
    python benchmarks/dialects.py --models qwen2.5-coder-0.5b/refs
    python benchmarks/dialects.py --table DIR         # only print the table of a finished run

Each model runs in a session of its own, so that at most one of them is in memory. The tasks judge
themselves: a cell passes when the first reward of its page is full.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
MODELS_FILE = HERE / "models.yaml"


def main() -> int:
    """Run the models asked for, then print one table row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = list(contestants(yaml.safe_load(MODELS_FILE.read_text(encoding="utf-8"))["models"]))
    parser.add_argument("--models", nargs="*", choices=known, default=known)
    parser.add_argument("--out", type=Path, default=Path("autoweb-report-miniwob20"))
    parser.add_argument("--repairs", default="1")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--table", type=Path, metavar="DIR")
    parsed = parser.parse_args()
    if parsed.table is None:
        for model in parsed.models:
            run(model, parsed.out / model.replace("/", "-"), parsed.repairs, parsed.workers)
    print("\n".join(table(parsed.table or parsed.out)))
    return 0


def contestants(names: Iterable[str]) -> Iterator[str]:
    """Yield the models; what writes Playwright code does so by turns and at once."""
    for name in names:
        if name.endswith("/playwright"):
            yield from (f"{name}@once", f"{name}@turns")
        else:
            yield name


def run(model: str, folder: Path, repairs: str, workers: str) -> None:
    """Run one session; cells that fail are results, not errors."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", str(HERE / "miniwob20.yaml"), "-q", "-n", workers),
            f"--autoweb-models={model}",
            f"--autoweb-models-file={MODELS_FILE}",
            f"--autoweb-max-repairs={repairs}",
            "--autoweb-step-timeout=5",
            "--autoweb-check-timeout=2",
            f"--autoweb-report={folder}",
        ],
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{model}: pytest ended with {done.returncode}")


def table(folder: Path) -> Iterator[str]:
    """Yield a Markdown table from the reports of the runs below a folder."""
    yield "| model @ way | first attempt | after repair | 95 % | broken | tokens in / out |"
    yield "|---|--:|--:|---|--:|--:|"
    for path in sorted(folder.glob("*/report.json")):
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for case in report["cases"] for cell in case["cells"]]
        yield row(report["models"][0], cells)


def row(model: str, cells: list[dict[str, Any]]) -> str:
    """Return one model's line of the table."""
    from pytest_autoweb.results.analysis.statistics import wilson

    n = len(cells)
    first = sum(cell["outcome"] == "passed" for cell in cells)
    after = first + sum(cell["outcome"] == "healed" for cell in cells)
    broken = sum(cell["outcome"] == "broken" for cell in cells)
    tokens = [
        sum(u[key] for c in cells for u in c["usage"].values())
        for key in ("input_tokens", "output_tokens")
    ]
    interval = wilson(after, n)
    bounds = f"{interval.low:.0%} to {interval.high:.0%}" if interval else "none"
    return (
        f"| {model} | {first}/{n} = {first / n:.0%} | {after}/{n} = {after / n:.0%} | {bounds} "
        f"| {broken} | {tokens[0]:,} / {tokens[1]:,} |"
    )


if __name__ == "__main__":
    sys.exit(main())
