"""`--autoweb-preview`: what a run would take, and that it runs nothing."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from pytest_autoweb.analysis.run_rows import CellSummary, RunRows
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.runs.storage import save_run

PRICED = """
[tool.autoweb.models."openai/priced"]
input_cost_per_mtok = 1.0
output_cost_per_mtok = 10.0
"""


def history(project: pytest.Pytester, *rows: CellSummary) -> None:
    run = RunRows(
        ts="20261121_093000_000",
        started=datetime(2026, 11, 21, tzinfo=UTC),
        models=("openai/priced",),
        environment={},
        rows=rows,
    )
    save_run(run, project.path / ".autoweb")


def row(case_id: str, tokens: int, cost: float, checksum: str, **changes: object) -> CellSummary:
    fields = {
        "case_id": case_id,
        "case_path": "cases/shop.yaml",
        "model": "openai/priced",
        "capture_mode": "ARIA_SNAPSHOT",
        "repeat": 1,
        "outcome": "passed",
        "calls": 2,
        "input_tokens": tokens,
        "output_tokens": 100,
        "cost_usd": cost,
        "checksums": {"case": checksum},
    }
    return CellSummary.model_validate({**fields, **changes})


def test_cells_are_listed_with_what_they_would_take_and_nothing_runs(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyprojecttoml(PRICED)
    login = load_case_file(project.path / "cases/shop.yaml")[0]
    history(
        project,
        row("login", 1000, 0.02, login.checksum),
        row("login", 3000, 0.04, login.checksum),
        row("login", 90_000, 9.0, "of an earlier version of the case"),
        row("login", 0, 0.0, login.checksum, outcome="broken", calls=0),
    )
    result = project.runpytest_subprocess(
        *("cases", "--autoweb-preview", "--autoweb-models=openai/priced,builtin/noop"),
        *("-k", "login", "--autoweb-repeat=2", *workers),
    )

    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines(
        [
            r"login +openai/priced +ARIA_SNAPSHOT +2 +4 +4,000 / 200 +\$0\.060 "
            r"+2 earlier cells of the case",
            r"login +builtin/noop +ARIA_SNAPSHOT +2 +0 +0 / 0 +– +control: no model is asked",
            r"total +4 +4 +4,000 / 200 +\$0\.060",
        ]
    )
    assert not (project.path / "autoweb-report").exists()
    result.stdout.no_fnmatch_line("*passed*")


def test_without_history_the_size_of_the_prompts_is_taken_and_unknown_money_is_said(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted('{"fake/m": {}}')
    project.makepyprojecttoml(PRICED)
    history(project, row("other", 500, 0.01, "x"))
    result = project.runpytest(
        "cases", "--autoweb-preview", "--autoweb-models=openai/priced,fake/m", "-k", "title"
    )

    result.stdout.re_match_lines(
        [
            r"title +fake/m .* 2 +3,\d\d\d / 500 +unknown +size of the prompts",
            r"all cases +openai/priced .* \$0\.010",
            r"total .* ≥ \$0\.010",
            r"Estimates from the size of the prompts take a page as 2,000 tokens.*",
        ],
        consecutive=False,
    )
    result.stdout.re_match_lines([r"title +openai/priced .* 1 earlier cell of the model"])


def test_a_preview_of_nothing_is_5_and_of_a_bad_case_file_4(project: pytest.Pytester) -> None:
    nothing = project.runpytest_subprocess(
        "cases", "--autoweb-preview", "--autoweb-models=builtin/noop", "-k", "no-such-case"
    )
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED

    (project.path / "cases/shop.yaml").write_text("version: 1\ncases: [{id: x}]\n")
    bad = project.runpytest_subprocess(
        "cases", "--autoweb-preview", "--autoweb-models=builtin/noop"
    )
    assert bad.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("flag", ["--autoweb-preview", "--autoweb-controls", "--autoweb-shard=1/2"])
def test_flags_about_cells_are_refused_without_models(project: pytest.Pytester, flag: str) -> None:
    result = project.runpytest("cases", flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs --autoweb-models*for the controls alone*"])
