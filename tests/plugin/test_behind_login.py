"""A task behind the login of a real application: blind at once, done by turns.

One of the eight of `benchmarks/behind_login`, which all run in a minute or two.
"""

import json
import subprocess
from pathlib import Path

import pytest
from session_server import session_command

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_a_model_that_only_looks_things_up_passes_by_turns_alone(tmp_path: Path) -> None:
    report = tmp_path / "report"
    command = [*session_command(), "benchmarks/behind_login"]
    flags = ("--autoweb-models=fake/looks", "--autoweb-codegen=turns,once")
    some = ("-k", "add-group")
    quick = ("--autoweb-max-repairs=0", "--autoweb-check-timeout=1", "-p", "no:cacheprovider")

    run = subprocess.run(
        [*command, *flags, *some, *quick, f"--autoweb-report={report}"],
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
    assert outcomes == {"fake/looks@turns": ["passed"], "fake/looks@once": ["failed"]}
    assert "fake/looks@turns  100%" in run.stdout
    assert "fake/looks@once   0%" in run.stdout
