"""Cells from collection to report, in real Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from made_up_run import assert_all_time_is_in_stages
from shop_project import SharedProject

FILL = 'page.get_by_label("Name").fill("ana")'
PRESS = 'page.get_by_role("button").click()'
GOOD = repr(f"```python\n# Step 1\n{FILL}\n{PRESS}\nanswer('Shop')\n```")
CONTROLS = {
    ("login", "builtin/oracle"): "passed",
    ("login", "builtin/noop"): "failed",
    ("title", "builtin/oracle"): "passed",
    ("title", "builtin/noop"): "failed",
}


def test_controls_run_every_case_and_leave_one_report(
    shared_project: SharedProject, first: Ran
) -> None:
    assert {cell: first.outcomes[cell] for cell in CONTROLS} == CONTROLS
    (folder,) = first.folders
    assert folder == shared_project.path / "autoweb-report"


def test_settings_of_a_case_win_over_those_of_the_fixture(first: Ran) -> None:
    cell = first.cells["settings-Asia-Tokyo builtin/oracle"]

    assert cell["outcome"] == "passed", cell["reason"]
    assert cell["browser_settings"] == {
        "timezone_id": "Asia/Tokyo",
        "viewport": {"width": 390, "height": 700},
    }


def test_a_tab_that_opens_after_the_last_step_is_on_the_wire_and_not_the_page(first: Ran) -> None:
    (attempt,) = first.cells["settings-Asia-Tokyo builtin/oracle"]["attempts"]
    wire, address = attempt["checks"][2:]

    assert (wire["type"], wire["passed"]) == ("request", True)
    assert address["actual"].endswith("/index.html")


def test_a_hook_hears_of_every_finished_cell(first: Ran) -> None:
    told = [f"{case} {model} {outcome}" for (case, model), outcome in first.outcomes.items()]
    assert sorted(first.heard) == sorted(told)


def test_secrets_in_checks_reach_the_server_and_no_report(first: Ran) -> None:
    cell = first.cells["secretive builtin/oracle"]
    assert cell["outcome"] == "passed"
    assert "Welcome" not in json.dumps(cell)


def test_words_of_a_log_stay_and_keys_in_it_go(first: Ran) -> None:
    (attempt,) = first.cells["secretive builtin/oracle"]["attempts"]
    log = f"{attempt['run_log_head']}\n{attempt['run_log_tail']}"

    assert "Chosen: Basic membership. Cookie: chocolate chip; bearer instruments" in log
    assert "token = 12345678" in log
    assert "Your new key: <redacted> and CI's is <redacted>" in log


def test_a_failed_script_is_repaired_from_a_fresh_page(first: Ran) -> None:
    cell = first.cells["login fake/lazy"]
    assert cell["outcome"] == "healed"
    lost, repaired = cell["attempts"]
    assert lost["executed"]
    assert lost["false_success"]
    assert lost["checks"][0]["passed"] is False
    assert repaired["attempt_index"] == 2
    assert repaired["repair_attempt"]
    assert '+page.get_by_role("button").click()' in repaired["code_diff"]


def test_lint_errors_gate_execution_and_offer_repair(first: Ran) -> None:
    cell = first.cells["login fake/lint"]
    refused = cell["attempts"][0]
    assert [s["status"] for s in refused["step_results"]] == ["not_run"]
    assert refused["lint_errors"]
    assert refused["tool_calls"] == []
    assert cell["outcome"] == "healed"


def test_a_model_service_that_fails_is_broken_with_its_cause_never_an_empty_plan(
    first: Ran,
) -> None:
    cell = first.cells["login fake/down"]
    assert cell["outcome"] == "broken"
    assert cell["failure"]["cause"] == "rate_limit"


def test_an_empty_plan_is_asked_for_again(first: Ran) -> None:
    cell = first.cells["login fake/silent"]
    empty, again = cell["attempts"]
    assert empty["formatted_errors"] == ["Step (plan): no steps in the reply"]
    assert again["plan_steps"]
    assert cell["outcome"] == "healed"


def test_a_step_without_code_fails_and_blocks_the_later_ones(first: Ran) -> None:
    attempt = first.cells["login fake/gap"]["attempts"][0]
    assert [s["status"] for s in attempt["step_results"]] == ["ok", "failed", "blocked"]
    assert attempt["scene"] is None or attempt["scene"]["url"]


@pytest.mark.parametrize(
    ("session", "line"),
    [
        ("first", "Step 2: no code found for this step"),
        ("second", "步骤: 2, 出错信息: 未找到步骤代码 (no code for this step)"),
    ],
)
def test_error_lines_are_in_the_chosen_language_and_prompts_in_english(
    first: Ran, second: Ran, session: str, line: str
) -> None:
    run = {"first": first, "second": second}[session]
    incomplete, repaired = run.cells["login fake/gap"]["attempts"]
    assert incomplete["formatted_errors"] == [line]
    assert line in run.result.stdout.str()
    repair = next(each for each in repaired["exchanges"] if each["stage"] == "repair")
    assert "Step 2: no code found for this step" in repair["prompt"]
    assert "步骤: 2" not in repair["prompt"]


def test_on_step_failure_continue_runs_the_later_steps(second: Ran) -> None:
    attempt = second.cells["login fake/step"]["attempts"][0]
    assert [s["status"] for s in attempt["step_results"]] == ["failed", "ok"]
    assert "NameError" in attempt["step_results"][0]["error"]
    assert "variables that exist" in attempt["step_results"][0]["error"]
    assert attempt["scene"]["step_index"] == 1


def test_a_plan_that_asks_is_recorded_or_stops(first: Ran, second: Ran) -> None:
    for run, outcome in ((first, "passed"), (second, "needs_input")):
        cell = run.cells["login fake/asking"]
        assert cell["outcome"] == outcome
        assert cell["attempts"][0]["plan_has_question"]
        assert not cell["attempts"][0]["plan_confirmed"]


def test_every_second_of_a_cell_is_in_a_stage(first: Ran, second: Ran) -> None:
    for run in (first, second):
        assert_all_time_is_in_stages(run.cells.values())
    names = first.cells["login builtin/oracle"]["attempts"][0]["stage_ms"]
    assert list(names)[:3] == ["server", "browser", "open"]
    assert list(names)[-2:] == ["judge", "close"]


def test_an_earlier_run_is_moved_aside(second: Ran) -> None:
    assert len(second.folders) == 2
    assert all((folder / "report.json").is_file() for folder in second.folders)


@pytest.mark.long
def test_workers_leave_one_report_and_a_killed_one_costs_only_its_cell(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(SCRIPT)
    result = project.runpytest_subprocess(
        *("cases", "--autoweb-models=builtin/oracle,builtin/noop,fake/kill,fake/lint"),
        *("-k", "login or builtin", "--autoweb-max-repairs=0", "-n", "2"),
    )

    # `xfailed` and `unsolved` are words of the plugin for what a worker sends.
    counts = result.parseoutcomes()
    assert (counts["passed"], counts["xfailed"], counts["unsolved"]) == (2, 2, 1)
    assert outcomes(project) == CONTROLS | {
        ("login", "fake/kill"): "broken",
        ("login", "fake/lint"): "failed",
    }
    result.stdout.fnmatch_lines(["*login on fake/lint: FAILED - *"])
    assert (project.path / "autoweb-report/index.html").stat().st_size > 10_000
    assert (project.path / "autoweb-report/summary.md").read_text()


@pytest.mark.long
def test_python_code_can_run_a_case(project: pytest.Pytester) -> None:
    acting = (project.path / "cases/shop.yaml").read_text()
    acting = acting.replace("tags: [smoke]", "strategy: act")
    (project.path / "cases/acting.yaml").write_text(acting)
    project.makeconftest(
        "from pytest_autoweb.testing import ScriptedClient\n"
        "def pytest_autoweb_client(spec):\n"
        "    if spec.name == 'fake/m':\n"
        '        return ScriptedClient({\'decide\': \'{"thought": "no", "give_up": true}\'})\n'
    )
    project.makepyfile(
        """
        def test_login(autoweb):
            result = autoweb.run("cases/shop.yaml::login", model="builtin/oracle")
            assert result.passed

        def test_nothing(autoweb):
            assert not autoweb.run("cases/shop.yaml::login", model="builtin/noop").passed

        def test_acting(autoweb):
            assert autoweb.run("cases/acting.yaml::login", model="fake/m").passed

        def test_mode(autoweb):
            autoweb.run("cases/shop.yaml::login", model="fake/m", capture="HTML")
        """
    )
    result = project.runpytest_subprocess("--autoweb-max-repairs=0", "-n", "2")

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*unknown capture mode 'HTML'*RAW_HTML*"])
    # The fixture takes the case's strategy and shows why an assertion fails.
    result.stdout.fnmatch_lines(
        [
            "*where False = <CellResult login on fake/m: failed: *>.passed*",
            "*Captured autoweb call*",
            "login on fake/m: FAILED - *",
            "*report: *autoweb-report/index.html",
        ]
    )
    found = cells(project)
    assert found.keys() == {"login builtin/oracle", "login builtin/noop", "login fake/m"}
    assert found["login fake/m"]["strategy"] == "act"
    assert (project.path / "autoweb-report/index.html").is_file()


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


@pytest.mark.long
def test_the_case_answers_a_plan_that_asks(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    path = project.path / "cases/shop.yaml"
    given = '{"which user?": "the one named ana", "which day?": "a Monday"}'
    answers = f"    tags: [smoke]\n    answers: {given}\n"
    path.write_text(path.read_text().replace("    tags: [smoke]\n", answers))
    scripted(
        '{"fake/m": {"plan": lambda request: scripted_plan("log in") + '
        '("" if "a Monday" in request.messages[1].content else "\\nQUESTION: which day?" '
        'if "named ana" in request.messages[1].content else "\\nQUESTION: which user?"),'
        ' "generate": ' + GOOD + "}}"
    )
    project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/m", "-k", "login", "--autoweb-questions=answer"
    )

    attempt = cells(project)["login fake/m"]["attempts"][0]
    assert attempt["plan_confirmed"]
    assert [e["stage"] for e in attempt["exchanges"]] == ["plan", "plan", "plan", "generate"]
    assert attempt["checks_passed"]


@pytest.mark.long
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


NO_CHECKS = """
version: 1
webserver: {static: ../site}
cases:
  - {id: look, entry_url: "{{ webserver.url }}index.html", user_task: "Look at the page."}
"""


@pytest.mark.long
def test_a_case_without_checks_is_told_by_its_steps_and_models_are_compared_on_them(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    (project.path / "cases/shop.yaml").write_text(NO_CHECKS, encoding="utf-8")
    looks = "```python\n# Step 1\npage.title()\n```"
    gone = "```python\n# Step 1\npage.get_by_text('Gone').click(timeout=100)\n```"
    scripted(
        f"{{'fake/looks': {{'plan': scripted_plan('Look'), 'generate': {looks!r}}},"
        f" 'fake/gone': {{'plan': scripted_plan('Look'), 'generate': {gone!r}}}}}"
    )

    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/looks,fake/gone", "--autoweb-max-repairs=0"
    )

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "UNGRADED *fake/looks *look *every step ran (no proof)",
            "FAILED *fake/gone *look *step 1: *",
            "1 of 2 cells did not pass*",
            "1 case has no checks: *docs/checks.md*",
            "fake/looks: every step ran in 100%*1 of 1",
            "fake/gone: every step ran in 0%*0 of 1",
            "fake/looks against fake/gone: Execution only, no proof: *",
        ]
    )
    told = json.loads((project.path / "autoweb-report/report.json").read_text(encoding="utf-8"))
    assert [each["model"] for each in told["execution"]["models"]] == ["fake/looks", "fake/gone"]
    assert all(cell["without_checks"] for case in told["cases"] for cell in case["cells"])


@pytest.mark.long
def test_a_model_that_does_nothing_is_told_so_also_without_checks(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    (project.path / "cases/shop.yaml").write_text(NO_CHECKS, encoding="utf-8")
    scripted("{'fake/idle': {'generate': 'DONE'}}")

    result = project.runpytest_subprocess(
        "cases", "--autoweb-models=fake/idle", "--autoweb-max-repairs=0", "--autoweb-codegen=turns"
    )

    result.stdout.fnmatch_lines(["FAILED *fake/idle *look *no step ran: nothing was done"])


LAZY = repr('```python\n# Step 1\npage.get_by_label("Name").fill("bob")\n```')
GAP = repr(f"```python\n# Step 1\n{FILL}\n# Step 3\nlog(1)\n```")
BROKEN_STEP = repr(f"```python\n# Step 1\nnothing_here\n# Step 2\n{FILL}\n```")
SCRIPT = f"""{{
    "fake/lazy": {{"plan": scripted_plan("log in"), "generate": {LAZY}, "repair": {GOOD}}},
    "fake/lint": {{
        "plan": scripted_plan("log in"),
        "generate": "```python\\nimport os\\nos.system('true')\\n```",
        "repair": {GOOD},
    }},
    "fake/down": {{"plan": ModelError("rate_limit", "fake/down", "slow down")}},
    "fake/silent": {{
        "plan": lambda request: "no idea" if request.attempt == 1 else scripted_plan("log in"),
        "generate": {GOOD},
    }},
    "fake/gap": {{"plan": scripted_plan("a", "b", "c"), "generate": {GAP}, "repair": {GAP}}},
    "fake/asking": {{
        "plan": scripted_plan("log in") + "\\nQUESTION: which user?",
        "generate": {GOOD},
    }},
    "fake/step": {{"plan": scripted_plan("a", "b"), "generate": {BROKEN_STEP}, "repair": {GOOD}}},
    "fake/kill": {{"plan": lambda request: __import__("os")._exit(9)}},
}}"""
HOOK = """
def pytest_autoweb_cell_finished(result):
    with open('heard.txt', 'a') as file:
        print(result.case_id, result.model, result.outcome, file=file)
"""
SECRET_CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: secretive
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Log in as ana."
    secrets: {word: {default: Welcome}}
    expect:
      - text: "{{ secrets.word }}, ana"
    oracle: |
      page.get_by_label("Name").fill("ana")
      page.get_by_role("button", name="Log in").click()
      log("Chosen: Basic membership. Cookie: chocolate chip; bearer instruments, token = 12345678")
      log("Your new key: ghp_" + "aB3" * 12 + " and CI's is " + "ci-value-" + "4711")
"""
SETTINGS_CASE = """
version: 1
webserver: {static: ../site}
cases:
  - id: settings
    matrix: {zone: [Asia/Tokyo]}
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Describe the browser."
    setup: {viewport: {width: 390, height: 700}, timezone_id: "{{ matrix.zone }}"}
    expect:
      - answer: {equals: [390, 9, true]}
      - request: {method: GET, url: "**/index.html?own=1", status: 200, count: 1}
      - request: {method: GET, url: "**/index.html?late=1"}
      - url: {matches: "index.html$"}
    oracle: |
      page.request.get("index.html", params={"own": 1})
      answer(page.evaluate('''() => [innerWidth, new Date(0).getHours(),
        matchMedia('(prefers-color-scheme: dark)').matches]'''))
      page.evaluate("() => { setTimeout(() => open('index.html?late=1'), 300) }")
"""
CONTEXT_ARGS = """
import pytest
@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    wide = {"width": 1000, "height": 500}
    return {**browser_context_args, "viewport": wide, "color_scheme": "dark"}
"""


def cells(project: pytest.Pytester | SharedProject) -> dict[str, Any]:
    found = {}
    for path in (project.path / "autoweb-report").rglob("cell.json"):
        cell = json.loads(path.read_text(encoding="utf-8"))
        found[f"{cell['case_id']} {cell['model']}"] = cell
    return found


def outcomes(project: pytest.Pytester | SharedProject) -> dict[tuple[str, str], str]:
    """The outcome of each cell, as the report tells it."""
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    return {
        (case["id"], cell["model"]): cell["outcome"]
        for case in report["cases"]
        for cell in case["cells"]
    }


class Ran(NamedTuple):
    """A session with all scripted models, and what it left."""

    result: pytest.RunResult
    cells: dict[str, Any]
    outcomes: dict[tuple[str, str], str]
    heard: list[str]
    folders: list[Path]


MODELS = "builtin/oracle,builtin/noop," + ",".join(
    f"fake/{name}" for name in ("lazy", "lint", "down", "silent", "gap", "asking")
)


def ran(project: SharedProject, *flags: str) -> Ran:
    """All models log in; the controls do the other cases, too."""
    (project.path / "heard.txt").write_text("")
    result = project.run("cases", *flags)
    heard = (project.path / "heard.txt").read_text().splitlines()
    folders = [path for path in project.path.iterdir() if path.name.startswith("autoweb-rep")]
    return Ran(result, cells(project), outcomes(project), heard, folders)


@pytest.fixture(scope="module")
def first(shared_project: SharedProject) -> Ran:
    """A session with the settings that users have."""
    shared_project.script(SCRIPT)
    conftest = shared_project.path / "conftest.py"
    hooks = conftest.read_text(encoding="utf-8") + HOOK + CONTEXT_ARGS
    conftest.write_text(hooks, encoding="utf-8")
    (shared_project.path / "cases/settings.yaml").write_text(SETTINGS_CASE, encoding="utf-8")
    (shared_project.path / "cases/secretive.yaml").write_text(SECRET_CASE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI_TOKEN", "ci-value-4711")
        return ran(shared_project, f"--autoweb-models={MODELS}", "-k", "login or builtin")


@pytest.fixture(scope="module")
def second(shared_project: SharedProject, first: Ran) -> Ran:
    """A session after it, with other settings."""
    return ran(
        shared_project,
        *("--autoweb-models=fake/gap,fake/asking,fake/step", "-k", "login"),
        *("--autoweb-language=zh", "--autoweb-questions=strict"),
        "--autoweb-on-step-failure=continue",
    )
