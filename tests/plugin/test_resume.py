"""`--autoweb-resume`: a run goes on where it ended, and nothing that was paid for is paid again."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer
from session_server import session_command

from pytest_autoweb.results.runs.saving import hold_run_folder

SCRIPT = """Step 1: look
```python
# Step 1: look
answer(page.get_by_role("heading").inner_text())
```"""
PRICED = "max_tokens: 10, input_cost_per_mtok: 0, output_cost_per_mtok: 10000"
"""A reply costs seven cents, and could have cost ten."""
KILLING = """
import os, signal
ended = []
def pytest_autoweb_cell_finished(result):
    ended.append(result)
    if len(ended) == int(os.environ.get("KILL_AFTER", 0)):
        os.kill(os.getpid(), signal.SIGKILL)
"""


ENDS = {"login": "failed", "title": "passed"}


class Run:
    """A project in which sessions work on one run."""

    def __init__(self, project: pytest.Pytester, server: OpenAIServer) -> None:
        project.makeconftest(KILLING)
        self.folder, self.server = project.path / "autoweb-report", server
        self._project, self._asked = project, 0
        settings = f"{{api_base: '{server.api_base}', {PRICED}}}"
        (project.path / "models.yaml").write_text(f"models: {{openai/first: {settings}}}")

    def session(self, *flags: str) -> tuple[int, str, int]:
        """Run a session; return its exit code, what it said, and how many calls it made."""
        done = subprocess.run(
            [
                *(*session_command(), "cases", "--autoweb-models=openai/first"),
                *("--autoweb-models-file=models.yaml", "--autoweb-max-repairs=0", *flags),
            ],
            cwd=self._project.path, capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
        asked, self._asked = self._asked, len(self.server.requests)
        return done.returncode, done.stdout + done.stderr, self._asked - asked

    def cells(self) -> dict[str, dict[str, Any]]:
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        found = [cell for case in report["cases"] for cell in case["cells"]]
        names = [f"{cell['case_id']}-{cell['repeat']}" for cell in found]
        assert len(set(names)) == len(names)
        return dict(zip(names, found, strict=True))


def ended(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.glob("cells/*/*/*/cell.json")}


@pytest.mark.long
def test_a_killed_run_goes_on_and_what_changed_or_was_asked_for_runs_again(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    with OpenAIServer([Answer(SCRIPT, delay=0.1)]) as server:
        run = Run(project, server)
        monkeypatch.setenv("KILL_AFTER", "2")
        code, _, first = run.session("--autoweb-repeat=3", "--autoweb-concurrency=3")
        monkeypatch.delenv("KILL_AFTER")
        assert code % 256 == 256 - signal.SIGKILL
        kept = ended(run.folder)
        assert 2 <= len(kept) < 5

        # What was spent before counts: two more calls, which is one more cell.
        cap = f"--autoweb-max-cost={0.07 * first + 0.2:.2f}"
        _, said, second = run.session("--autoweb-repeat=3", cap, "--autoweb-resume")
        assert f"{len(kept)} of its 6 cells have ended" in said
        assert second == 2
        assert ended(run.folder).items() >= kept.items()

        code, said, third = run.session(
            *("--autoweb-repeat=3", "-n", "2", "--autoweb-concurrency=2", "--autoweb-resume")
        )
        left = 5 - len(kept)
        assert f"kept the results of {len(kept) + 1}, ran {left} (broken: " in said
        assert third == 2 * left
        assert ended(run.folder).items() >= kept.items()
        assert code == pytest.ExitCode.TESTS_FAILED  # the script logs nobody in
        outcomes = {name: cell["outcome"] for name, cell in run.cells().items()}
        assert outcomes == {f"{case}-{n}": end for case, end in ENDS.items() for n in (1, 2, 3)}
        spent = json.loads((run.folder / "spent.json").read_text(encoding="utf-8"))
        assert spent["spent"] == pytest.approx(0.07 * (first + second + third))

        # A check of one case changes; a failed cell is asked for by its name.
        cases = project.path / "cases/shop.yaml"
        cases.write_text(cases.read_text().replace("equals: Shop}", "contains: Shop}"))
        _, said, none = run.session("--autoweb-repeat=3", "--autoweb-preview", "--autoweb-resume")
        assert ("3 cells would be kept" in said, none) == (True, 0)
        _, said, fourth = run.session("--autoweb-repeat=3", "--autoweb-resume")
        assert "kept the results of 3, ran 3 (changed since: the checks: title[" in said
        assert fourth == 6
        _, said, fifth = run.session(
            *("--autoweb-repeat=3", "--autoweb-resume", "--lf", "-k", "login and first-2"),
        )
        assert (
            "kept the results of 0, ran 1 (asked for by name or --lf: login[openai/first-2]" in said
        )
        assert fifth == 2
        assert len(run.cells()) == 6

    replaced = (run.folder / "replaced").glob("*/cells/*/*/*/cell.json")
    assert len(list(replaced)) == left + 3 + 1


def test_a_cell_runs_again_once_other_writes_of_its_solution_are_known(
    project: pytest.Pytester,
) -> None:
    flags = ("cases", "--autoweb-models=builtin/oracle", "-k", "title", "--autoweb-resume")
    project.runpytest_subprocess(*flags[:-1]).assert_outcomes(passed=1, deselected=1)
    (cell,) = (json.loads(data) for data in ended(project.path / "autoweb-report").values())
    known = {"checksum": cell["checksums"]["case"], "runs": 3}
    (project.path / "cases/shop.writes.json").write_text(
        json.dumps({"format": "pytest-autoweb/writes", "solutions": {"title": known}})
    )

    again = project.runpytest_subprocess(*flags)
    kept = project.runpytest_subprocess(*flags)

    again.stdout.fnmatch_lines(["*ran 1 (changed since: what the solution writes: title*"])
    kept.stdout.fnmatch_lines(["*kept the results of 1, ran none*"])


def test_resuming_what_is_no_run_says_so(project: pytest.Pytester) -> None:
    for flag, why in (("", "there is no run in *"), ("=cases", "*cases is not a run folder*")):
        result = project.runpytest(
            "cases", "--autoweb-models=builtin/oracle", f"--autoweb-resume{flag}"
        )
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*--autoweb-resume: {why}"])
    assert not (project.path / "autoweb-report").exists()


def test_no_second_session_writes_to_the_same_run(project: pytest.Pytester) -> None:
    folder = project.path / "autoweb-report"
    args = ("cases", "--autoweb-models=builtin/oracle")
    lock = hold_run_folder(folder)
    for flags in ((), ("--autoweb-resume",)):
        result = project.runpytest(*args, *flags)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*another session is writing to the report folder *"])
    assert project.runpytest(*args, "--collect-only").ret == pytest.ExitCode.OK
    lock.release()
    hold_run_folder(folder).release()
    assert not folder.exists()
