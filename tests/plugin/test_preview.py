"""`--autoweb-preview`: what a run would take, and that it runs nothing."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from session_server import autoweb_command

from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.runs.saved_runs import save_run

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
        "duration_ms": 12_500,
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
        *("-k", "login", "--autoweb-repeat=2", "--autoweb-concurrency=3", *workers),
    )

    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines(
        [
            r"login +openai/priced +ARIA_SNAPSHOT +2 +4 +4,000 / 200 +\$0\.060 "
            r"+2 earlier cells of the case",
            r"login +builtin/noop +ARIA_SNAPSHOT +2 +0 +0 / 0 +– +control: no model is asked",
            r"total +4 +4 +4,000 / 200 +\$0\.060",
            r"",
            r"time +about \d+ s: 1 s of work on \d+ cores, \d+ s of waiting; "
            + ("2 processes" if workers else "1 process")
            + " with 3 in flight",
            r" +mostly waiting .*",
            r"memory +about \d.* while cells run",
            r"storage +about 1\.0 MB, without pictures 0\.4 MB",
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


def shown(project: pytest.Pytester, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*autoweb_command(), "debug", "prompts", "show", *arguments],
        cwd=project.path,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.long
def test_the_prompts_of_a_case_are_shown_as_they_would_be_sent(project: pytest.Pytester) -> None:
    # The project's own client is asked as little as a service would be.
    (project.path / "cases/conftest.py").write_text(
        "from pytest_autoweb.testing import ScriptedClient\n"
        "def pytest_autoweb_client(spec): return ScriptedClient({})\n"
    )
    at_once = shown(project, "cases/shop.yaml::title", "openai/asked-of-nobody")

    assert at_once.returncode == 0, at_once.stderr
    calls = [line for line in at_once.stdout.splitlines() if line.startswith("===== call")]
    assert [call.split(": ")[1].split(",")[0] for call in calls] == ["plan", "generate"]
    assert "TASK: What is the heading?" in at_once.stdout
    assert '- heading "Shop"' in at_once.stdout
    assert "generate (version " in at_once.stdout.splitlines()[-1]
    assert not list(project.path.rglob("report.json"))

    flags = ("--", "--autoweb-codegen=turns", "--autoweb-max-turns=7")
    by_turns = shown(project, "cases/shop.yaml", "openai/asked-of-nobody", *flags)

    assert "TASK: Log in as ana." in by_turns.stdout
    assert "TURN 1 OF 7" in by_turns.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("cases/shop.yaml::pay", "openai/x"), "has no case 'pay'; its cases: login, title"),
        (("cases/shops.yaml", "openai/x"), "there is no case file cases/shops.yaml"),
        (("cases/shop.yaml", "builtin/orakel"), "no prompt was reached; pytest's words are above"),
    ],
)
def test_what_cannot_be_shown_is_said(
    project: pytest.Pytester, arguments: tuple[str, str], told: str
) -> None:
    result = shown(project, *arguments)

    assert result.returncode == 4
    assert told in result.stderr
    assert "Traceback" not in result.stderr
