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
    result = project.runpytest(
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
    nothing = project.runpytest(
        "cases", "--autoweb-preview", "--autoweb-models=builtin/noop", "-k", "no-such-case"
    )
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED

    (project.path / "cases/shop.yaml").write_text("version: 1\ncases: [{id: x}]\n")
    bad = project.runpytest("cases", "--autoweb-preview", "--autoweb-models=builtin/noop")
    assert bad.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("flag", ["--autoweb-preview", "--autoweb-controls", "--autoweb-shard=1/2"])
def test_flags_about_cells_are_refused_without_models(project: pytest.Pytester, flag: str) -> None:
    result = project.runpytest("cases", flag)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs --autoweb-models*for the controls alone*"])


LISTS = """
version: 1
cases:
  - {id: known, entry_url: "http://x.test/", user_task: Collect., collect: {pattern: "**/a/*"}}
  - {id: unknown, entry_url: "http://x.test/", user_task: Collect., collect: {explore: 4}}
  - {id: list, entry_url: "http://x.test/", user_task: Collect., collect: {navigate: 0}}
"""


def test_a_strategy_that_decides_is_a_call_for_each_decision(project: pytest.Pytester) -> None:
    project.makepyprojecttoml(PRICED)
    (project.path / "cases/lists.yaml").write_text(LISTS)
    login = load_case_file(project.path / "cases/shop.yaml")[0]
    # What a script took says nothing about decisions.
    history(project, row("login", 500, 0.01, login.checksum))
    flags = ("cases", "--autoweb-preview", "--autoweb-models=openai/priced")

    acting = project.runpytest(*flags, "-k", "login", "--autoweb-strategy=act")
    few = project.runpytest(
        *flags, "-k", "login", "--autoweb-strategy=act", "--autoweb-max-decisions=3"
    )
    collecting = project.runpytest(*flags, "-k", "known or list", "--autoweb-strategy=collect")

    acting.stdout.re_match_lines(
        [
            r"login +openai/priced +\S+ +1 +8 +\d\d,\d\d\d / 640 .* size of the prompts",
            r"The number of decisions of `act` .*: 8 are assumed.* after 30 .*",
        ],
        consecutive=False,
    )
    few.stdout.re_match_lines([r"login +openai/priced +\S+ +1 +3 "])
    collecting.stdout.re_match_lines(
        [
            r"known +openai/priced +\S+ +1 +0 +0 / 0 ",
            r"unknown +openai/priced +\S+ +1 +8 ",
            r"list +openai/priced +\S+ +1 +4 ",
            r"For `collect` a call is assumed for each page that is explored, .*",
        ],
        consecutive=False,
    )
    assert "`act`" not in collecting.stdout.str()
