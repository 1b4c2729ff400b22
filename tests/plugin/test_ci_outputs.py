"""What a run tells GitHub: annotations nobody can forge, a summary, one comment."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, realistic_cells, save_run

from pytest_autoweb.cli.command_line import main

HOSTILE = "::add-mask::x\n  ::error file=a.py::forged\n##[error]forged"
SCRIPT = (
    f"```python\n# Step 1\nlog({HOSTILE!r})\nanswer({HOSTILE!r})\n"
    f"# Step 2\nraise ValueError({HOSTILE!r})\n```"
)


def commands(output: list[str]) -> list[str]:
    """What the runner of GitHub Actions would obey."""
    return [line for line in output if line.strip().startswith("::") or "##[" in line]


@pytest.mark.long
def test_a_pinned_failure_is_annotated_and_hostile_text_is_no_command(
    project: pytest.Pytester, scripted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(f'{{"fake/m": {{"plan": scripted_plan("a", "b"), "generate": {SCRIPT!r}}}}}')
    path = project.path / "cases/shop.yaml"
    text = path.read_text().replace("id: title\n", "id: title\n    must_pass: true\n")
    path.write_text(text)
    line = text[: text.index("id: title")].count("\n") + 1
    summary = project.path / "job.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "--autoweb-max-repairs=0", "-k", "title", "-rA", "-v",
        "--autoweb-stdout",
    )  # fmt: skip

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*title?fake/m?* │ *## ?error?forged*"])
    gate, pinned = commands(result.outlines)
    assert gate == ("::error title=gate failed%3A must pass::1 of 1 pinned cell did not pass")
    place = f"{project.path.name}/cases/shop.yaml"
    assert pinned.startswith(f"::error file={place},line={line},title=title on fake/m%3A failed::")
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("before\n# autoweb report")
    assert commands(written.splitlines()) == []


@pytest.mark.long
def test_outside_of_github_nothing_is_said_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "job.md"))
    run = save_run(tmp_path / "run", [cell(CellKey("a", "x/y"), "failed", must_pass=True)])

    assert main(["run", "gate", str(run)]) == 1
    assert commands(capsys.readouterr().out.splitlines()) == []
    assert not (tmp_path / "job.md").exists()

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["run", "gate", str(run)]) == 1
    assert len(commands(capsys.readouterr().out.splitlines())) == 2
    assert (tmp_path / "job.md").stat().st_size > 100


def test_the_comment_goes_to_a_file_or_to_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = str(save_run(tmp_path / "run", realistic_cells()))
    earlier = str(save_run(tmp_path / "old", realistic_cells(3), ts="20261101_000000_000"))
    assert main(["run", "gate", run, "--min-pass-rate", "60", "--compare", earlier]) == 1
    capfdbinary.readouterr()

    assert main(["run", "gate", "--comment", run, "-o", "out/comment.md"]) == 0
    assert main(["run", "gate", "--comment", run]) == 0

    body = Path("out/comment.md").read_bytes()
    assert capfdbinary.readouterr().out.replace(os.linesep.encode(), b"\n") == body
    assert body.startswith(b"<!-- autoweb-comment default -->\n## autoweb: ")
    assert b"compared with 20261101" in body
    assert main(["run", "gate", "--comment", run, "--baseline", "none"]) == 4
