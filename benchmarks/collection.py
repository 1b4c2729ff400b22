"""What collecting cells costs, beside as many plain parametrised tests.

    python benchmarks/collection.py --pairs 5

Collects 1,000 cases on 10 models, and 10,000 parametrised tests of an empty function, in sessions
of their own and in turn, with `--collect-only -q`. Prints the median seconds of processor time of
each, and the ratio, whose goal is 1.5; both without what an empty session costs.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASE = """  - id: case-{number}
    entry_url: http://127.0.0.1:8000/{number}
    user_task: Press the button number {number}.
    tags: [smoke]
    expect:
      - text: "Done {number}"
"""
PLAIN = """import pytest

@pytest.mark.parametrize("model", range({models}))
@pytest.mark.parametrize("case", range({cases}))
def test_cell(case, model):
    pass
"""


def main() -> None:
    """Measure in turn and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--source", type=Path, default=ROOT, help="a checkout of the package")
    order = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = "".join(CASE.format(number=number) for number in range(order.cases))
        (folder / "cases.yaml").write_text(f"version: 1\ncases:\n{cases}", encoding="utf-8")
        plain = PLAIN.format(models=order.models, cases=order.cases)
        (folder / "test_plain.py").write_text(plain, encoding="utf-8")
        (folder / "test_none.py").write_text("", encoding="utf-8")
        models = ",".join(f"openai/model-{number}" for number in range(order.models))
        arms = {
            "empty": ["test_none.py"],
            "plain": ["test_plain.py"],
            "empty with models": ["test_none.py", f"--autoweb-models={models}"],
            "cells": ["cases.yaml", f"--autoweb-models={models}"],
        }
        took: dict[str, list[float]] = {name: [] for name in arms}
        for _ in range(order.pairs):
            for name, arguments in arms.items():
                took[name].append(collect(folder, arguments, order.source))
    middle = {name: statistics.median(times) for name, times in took.items()}
    for name, seconds in middle.items():
        print(f"{name:20} {seconds:7.2f} s")
    cells = middle["cells"] - middle["empty with models"]
    print(f"cells to plain tests  {cells / (middle['plain'] - middle['empty']):6.2f}")


def collect(folder: Path, arguments: list[str], source: Path) -> float:
    """Return the seconds of processor time of one session that only collects."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qp", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source.resolve())},
        stdout=subprocess.DEVNULL,
        check="none" not in arguments[0],
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
