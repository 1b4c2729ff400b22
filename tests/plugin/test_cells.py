"""Cells from collection to report, in real Chromium."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILL = 'page.get_by_label("Name").fill("ana")'
PRESS = 'page.get_by_role("button").click()'
GOOD = repr(f"```python\n# Step 1\n{FILL}\n{PRESS}\nanswer('Shop')\n```")
LAZY = repr('```python\n# Step 1\npage.get_by_label("Name").fill("bob")\n```')


def cells(project: pytest.Pytester, folder: str = "autoweb-report") -> dict[str, Any]:
    found = {}
    for path in (project.path / folder).rglob("cell.json"):
        cell = json.loads(path.read_text(encoding="utf-8"))
        found[f"{cell['case_id']} {cell['model']}"] = cell
    return found


def test_controls_run_every_case_and_leave_one_report(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/oracle,builtin/noop", *workers
    )

    result.assert_outcomes(passed=2, xfailed=2)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    outcomes = {
        (case["id"], cell["model"]): cell["outcome"]
        for case in report["cases"]
        for cell in case["cells"]
    }
    assert outcomes == {
        ("login", "builtin/oracle"): "passed",
        ("login", "builtin/noop"): "failed",
        ("title", "builtin/oracle"): "passed",
        ("title", "builtin/noop"): "failed",
    }
    assert (project.path / "autoweb-report/index.html").stat().st_size > 10_000
    assert (project.path / "autoweb-report/summary.md").read_text()


def test_ids_name_case_and_model_and_the_axes_only_when_there_are_several(
    project: pytest.Pytester,
) -> None:
    plain = project.runpytest("cases", "--autoweb-models=builtin/oracle", "--collect-only", "-q")
    plain.stdout.fnmatch_lines(["cases/shop.yaml::login[[]builtin/oracle]"])

    axes = project.runpytest(
        "cases",
        "--autoweb-models=builtin/oracle",
        "--autoweb-capture=ARIA,RAW_HTML",
        "--autoweb-repeat=2",
        "--collect-only",
        "-q",
    )
    axes.stdout.fnmatch_lines(["cases/shop.yaml::login[[]builtin/oracle-RAW_HTML-2]"])
    assert not (project.path / "autoweb-report").exists()


def test_tags_are_markers_and_names_can_be_selected(project: pytest.Pytester) -> None:
    by_tag = project.runpytest(
        "cases", "--autoweb-models=builtin/oracle", "-m", "smoke", "--collect-only", "-q"
    )
    by_tag.stdout.fnmatch_lines(["*login*"])
    by_tag.stdout.no_fnmatch_line("*title*")

    one = project.runpytest(
        "cases/shop.yaml::title[builtin/oracle]",
        "--autoweb-models=builtin/oracle,builtin/noop",
        "--collect-only",
        "-q",
    )
    one.stdout.fnmatch_lines(["*title*builtin/oracle*", "1 test collected*"])


def test_a_failed_script_is_repaired_from_a_fresh_page(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/m": {"plan": scripted_plan("log in"), "generate": '
        + LAZY
        + ', "repair": '
        + GOOD
        + "}}"
    )
    result = project.runpytest_subprocess("cases", "--autoweb-models=fake/m", "-k", "login")

    result.assert_outcomes(passed=1)
    cell = cells(project)["login fake/m"]
    assert cell["outcome"] == "healed"
    first, second = cell["attempts"]
    assert first["executed"]
    assert first["false_success"]
    assert first["checks"][0]["passed"] is False
    assert second["attempt_index"] == 2
    assert second["repair_attempt"]
    assert '+page.get_by_role("button").click()' in second["code_diff"]


def test_lint_errors_gate_execution_and_offer_repair(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/m": {"plan": scripted_plan("log in"), "generate": '
        '"```python\\nimport os\\nos.system(\\"true\\")\\n```", "repair": ' + GOOD + "}}"
    )
    project.runpytest_subprocess("cases", "--autoweb-models=fake/m", "-k", "login")

    cell = cells(project)["login fake/m"]
    first = cell["attempts"][0]
    assert [s["status"] for s in first["step_results"]] == ["not_run"]
    assert first["lint_errors"]
    assert first["tool_calls"] == []
    assert cell["outcome"] == "healed"


def test_a_model_service_that_fails_is_broken_with_its_cause_never_an_empty_plan(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted('{"fake/down": {"plan": ModelError("rate_limit", "fake/down", "slow down")}}')
    result = project.runpytest_subprocess("cases", "--autoweb-models=fake/down")

    result.assert_outcomes(failed=2)
    cell = cells(project)["login fake/down"]
    assert cell["outcome"] == "broken"
    assert cell["failure"]["cause"] == "rate_limit"


def test_an_empty_plan_is_asked_for_again(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/m": {"plan": lambda request: "no idea" if request.attempt == 1'
        ' else scripted_plan("log in"), "generate": ' + GOOD + "}}"
    )
    project.runpytest_subprocess("cases", "--autoweb-models=fake/m", "-k", "login")

    cell = cells(project)["login fake/m"]
    first, second = cell["attempts"]
    assert first["formatted_errors"] == ["Step (plan): no steps in the reply"]
    assert second["plan_steps"]
    assert cell["outcome"] == "healed"


def test_a_step_without_code_fails_and_blocks_the_later_ones(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/m": {"plan": scripted_plan("a", "b", "c"), "generate": '
        + repr(f"```python\n# Step 1\n{FILL}\n# Step 3\nlog(1)\n```")
        + "}}"
    )
    project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "-k", "login", "--autoweb-max-repairs=0"
    )

    attempt = cells(project)["login fake/m"]["attempts"][0]
    assert [s["status"] for s in attempt["step_results"]] == ["ok", "failed", "blocked"]
    assert attempt["formatted_errors"] == ["Step 2: no code found for this step"]
    assert attempt["scene"] is None or attempt["scene"]["url"]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Step 2: no code found for this step"),
        ("zh", "步骤: 2, 出错信息: 未找到步骤代码 (no code for this step)"),
    ],
)
def test_error_lines_are_in_the_chosen_language_and_prompts_in_a_fixed_one(
    project: pytest.Pytester, scripted: Callable[[str], None], language: str, line: str
) -> None:
    incomplete = repr(f"```python\n# Step 1\n{FILL}\n```")
    scripted(
        '{"fake/m": {"plan": scripted_plan("a", "b"), "generate": '
        f'{incomplete}, "repair": {incomplete}}}}}'
    )
    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "-k", "login", f"--autoweb-language={language}"
    )

    first, second = cells(project)["login fake/m"]["attempts"]
    assert first["formatted_errors"] == [line]
    assert line in result.stdout.str()
    repair = next(each for each in second["exchanges"] if each["stage"] == "repair")
    assert "步骤: 2, 出错信息: 未找到步骤代码 (no code for this step)" in repair["prompt"]
    assert "Step 2: no code found" not in repair["prompt"]


def test_on_step_failure_continue_runs_the_later_steps(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/m": {"plan": scripted_plan("a", "b"), "generate": '
        + repr(f"```python\n# Step 1\nnothing_here\n# Step 2\n{FILL}\n```")
        + "}}"
    )
    project.runpytest_subprocess(
        "cases",
        "--autoweb-models=fake/m",
        "-k",
        "login",
        "--autoweb-max-repairs=0",
        "--autoweb-on-step-failure=continue",
    )

    attempt = cells(project)["login fake/m"]["attempts"][0]
    assert [s["status"] for s in attempt["step_results"]] == ["failed", "ok"]
    assert "NameError" in attempt["step_results"][0]["error"]
    assert "variables that exist" in attempt["step_results"][0]["error"]
    assert attempt["scene"]["step_index"] == 1


@pytest.mark.parametrize(("policy", "outcome"), [("record", "passed"), ("strict", "needs_input")])
def test_a_plan_that_asks_is_recorded_or_stops(
    project: pytest.Pytester, scripted: Callable[[str], None], policy: str, outcome: str
) -> None:
    scripted(
        '{"fake/m": {"plan": scripted_plan("log in") + "\\nQUESTION: which user?", "generate": '
        + GOOD
        + "}}"
    )
    project.runpytest_subprocess(
        "cases",
        "--autoweb-models=fake/m",
        "-k",
        "login",
        f"--autoweb-questions={policy}",
    )

    cell = cells(project)["login fake/m"]
    assert cell["outcome"] == outcome
    assert cell["attempts"][0]["plan_has_question"]
    assert not cell["attempts"][0]["plan_confirmed"]


def test_a_killed_worker_costs_only_its_cell(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(
        '{"fake/kill": {"plan": lambda request: __import__("os")._exit(9)}, '
        '"fake/m": {"plan": scripted_plan("log in"), "generate": ' + GOOD + "}}"
    )
    project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/kill,fake/m", "-k", "login", "-n", "2"
    )

    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    outcomes = {cell["model"]: cell["outcome"] for cell in report["cases"][0]["cells"]}
    assert outcomes == {"fake/kill": "broken", "fake/m": "passed"}


def test_an_earlier_run_is_moved_aside(project: pytest.Pytester) -> None:
    for _ in range(2):
        project.runpytest_subprocess(
            "cases", "--autoweb-models=builtin/oracle", "-k", "title"
        ).assert_outcomes(passed=1)

    folders = [path.name for path in project.path.iterdir() if path.name.startswith("autoweb-rep")]
    assert len(folders) == 2
    assert all((project.path / name / "report.json").is_file() for name in folders)


def test_python_code_can_run_a_case(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_login(autoweb):
            result = autoweb.run("cases/shop.yaml::login", model="builtin/oracle")
            assert result.passed

        def test_nothing(autoweb):
            assert not autoweb.run("cases/shop.yaml::login", model="builtin/noop").passed
        """
    )
    result = project.runpytest_subprocess("-n", "2")

    result.assert_outcomes(passed=2)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    assert sum(len(case["cells"]) for case in report["cases"]) == 2
    assert Path(project.path / "autoweb-report/index.html").is_file()


def test_the_fixture_takes_the_cases_strategy_and_shows_why_an_assertion_fails(
    project: pytest.Pytester,
) -> None:
    path = project.path / "cases/shop.yaml"
    path.write_text(path.read_text().replace("tags: [smoke]", "strategy: act"))
    project.makeconftest(
        "from pytest_autoweb.testing import ScriptedClient\n"
        "def pytest_autoweb_client(spec):\n"
        '    return ScriptedClient({\'decide\': \'{"thought": "no", "give_up": true}\'})\n'
    )
    project.makepyfile(
        """
        def test_login(autoweb):
            assert autoweb.run("cases/shop.yaml::login", model="fake/m").passed

        def test_mode(autoweb):
            autoweb.run("cases/shop.yaml::login", model="fake/m", capture="HTML")
        """
    )
    result = project.runpytest_subprocess("--autoweb-max-repairs=0")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*where False = <CellResult login on fake/m: failed: *>.passed*",
            "*Captured autoweb call*",
            "login on fake/m: FAILED - *",
            "*report: *autoweb-report/index.html",
            "*unknown capture mode 'HTML'*RAW_HTML*",
        ]
    )
    (cell,) = cells(project).values()
    assert cell["strategy"] == "act"


def test_an_interrupted_run_reports_what_had_finished(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    stop = "lambda request: (_ for _ in ()).throw(KeyboardInterrupt)"
    scripted('{"fake/stop": {"plan": ' + stop + "}}")
    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=builtin/oracle,fake/stop", "-k", "login"
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    outcomes = {cell["model"]: cell["outcome"] for cell in report["cases"][0]["cells"]}
    assert outcomes == {"builtin/oracle": "passed", "fake/stop": "broken"}
    assert report["interrupted"]


def test_the_case_answers_a_plan_that_asks(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    path = project.path / "cases/shop.yaml"
    answers = '    tags: [smoke]\n    answers: {"which user?": "the one named ana"}\n'
    path.write_text(path.read_text().replace("    tags: [smoke]\n", answers))
    scripted(
        '{"fake/m": {"plan": lambda request: scripted_plan("log in") + '
        '("" if "named ana" in request.messages[1].content else "\\nQUESTION: which user?"),'
        ' "generate": ' + GOOD + "}}"
    )
    project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "-k", "login", "--autoweb-questions=answer"
    )

    attempt = cells(project)["login fake/m"]["attempts"][0]
    assert attempt["plan_confirmed"]
    assert [e["stage"] for e in attempt["exchanges"]] == ["plan", "plan", "generate"]
    assert attempt["checks_passed"]


def test_a_hook_hears_of_every_finished_cell(project: pytest.Pytester) -> None:
    project.makeconftest(
        "def pytest_autoweb_cell_finished(result):\n"
        "    with open('heard.txt', 'a') as file:\n"
        "        print(result.case_id, result.outcome, file=file)\n"
    )
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle")

    heard = (project.path / "heard.txt").read_text().splitlines()
    assert sorted(heard) == ["login passed", "title passed"]


def test_secrets_in_checks_reach_the_server_and_no_report(project: pytest.Pytester) -> None:
    path = project.path / "cases/shop.yaml"
    secret = "    tags: [smoke]\n    secrets: {word: {default: Welcome}}\n"
    text = path.read_text().replace("    tags: [smoke]\n", secret)
    path.write_text(text.replace('"Welcome, ana"', '"{{ secrets.word }}, ana"'))
    project.runpytest_subprocess("cases", "--autoweb-models=builtin/oracle", "-k", "login")

    cell = cells(project)["login builtin/oracle"]
    assert cell["outcome"] == "passed"
    assert "Welcome" not in json.dumps(cell)


def test_what_is_shown_no_capture_mode_is_run_once_and_says_so(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    project.makepyprojecttoml('[tool.autoweb.models."fake/refs"]\ndialect = "refs"\n')
    scripted('{"fake/refs": {"generate": "DONE"}, "fake/m": {"plan": scripted_plan("look")}}')
    flags = ("cases", "-k", "login", "--autoweb-capture=ARIA,RAW_HTML")
    models = "--autoweb-models=fake/refs,fake/m"

    listed = project.runpytest(*flags, models, "--collect-only", "-q")
    names = [line.partition("::")[2] for line in listed.outlines if "::" in line]
    assert names == ["login[fake/refs-ARIA]", "login[fake/m-ARIA]", "login[fake/m-RAW_HTML]"]
    acting = project.runpytest(
        *flags, "--autoweb-models=fake/m", "--autoweb-strategy=act", "--collect-only", "-q"
    )
    assert sum("::" in line for line in acting.outlines) == 1

    result = project.runpytest_subprocess(*flags, models, "--autoweb-max-repairs=0")
    result.stdout.fnmatch_lines(
        ["fake/refs was run once for all 2 capture modes (cells: 1), because the dialect refs *"]
    )
