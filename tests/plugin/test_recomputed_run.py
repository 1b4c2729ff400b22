"""The numbers of a real run's report, recomputed by the script in benchmarks/."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "recompute" / "recompute.py"

GOOD = """```python
# Step 1
page.get_by_label("Name").fill("ana")
page.get_by_role("button").click()
answer("Shop")
```"""
LAZY = '```python\n# Step 1\npage.get_by_label("Name").fill("bob")\n```'


@pytest.mark.long
def test_a_real_run_recomputes_and_a_wrong_number_is_found(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    plan = '"plan": scripted_plan("log in")'
    good, lazy = (f'"generate": {text!r}, "repair": {GOOD!r}' for text in (GOOD, LAZY))
    scripted(f'{{"fake/good": {{{plan}, {good}}}, "fake/lazy": {{{plan}, {lazy}}}}}')
    models = "--autoweb-models=builtin/oracle,builtin/noop,fake/good,fake/lazy"
    project.runpytest_subprocess(
        "cases", models, "-k", "login", "--autoweb-repeat=2", "--autoweb-autosave"
    )
    file = project.path / "autoweb-report" / "report.json"

    right = recompute(file)
    report = json.loads(file.read_text())
    report["comparisons"][0]["difference"] += 0.25
    file.write_text(json.dumps(report))
    wrong = recompute(file)

    assert (right.returncode, right.stderr) == (0, "")
    assert "ok summary.models[0].numbers.first_attempt.all_trials.value" in right.stdout
    assert wrong.returncode == 1
    assert [line.split()[1] for line in wrong.stdout.splitlines() if line[:8] == "MISMATCH"] == [
        "comparisons[0].difference"
    ]


def recompute(file: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, SCRIPT, file], capture_output=True, text=True, check=False
    )
