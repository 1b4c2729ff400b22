"""Eight tasks behind the logins of two real applications: blind at once, done by turns."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_model_that_only_looks_things_up_passes_by_turns_alone(tmp_path: Path) -> None:
    report = tmp_path / "report"
    command = [sys.executable, "-m", "pytest", "benchmarks/behind_login", "-n", "2"]
    flags = ("--autoweb-models=fake/looks", "--autoweb-codegen=turns,once")
    quick = ("--autoweb-max-repairs=0", "--autoweb-check-timeout=1", "-p", "no:cacheprovider")

    run = subprocess.run(
        [*command, *flags, *quick, f"--autoweb-report={report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    document = json.loads((report / "report.json").read_text(encoding="utf-8"))
    outcomes: dict[str, list[str]] = {}
    for case in document["cases"]:
        for cell in case["cells"]:
            outcomes.setdefault(cell["model"], []).append(cell["outcome"])
    assert outcomes == {"fake/looks@turns": ["passed"] * 8, "fake/looks@once": ["failed"] * 8}
    (comparison,) = document["comparisons"]
    assert comparison["decisive"]
    assert "fake/looks@turns passes more: 100% against 0%" in run.stdout
