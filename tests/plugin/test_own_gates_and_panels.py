"""Gates and report panels that a project's conftest adds, in a session and in the commands."""

import json
from typing import Any

import pytest
from session_server import autoweb_command

CONFTEST = """
from pytest_autoweb import Gate, GateResult, Panel, PanelContent

def few_cells(context):
    cells = len(context.run.rows)
    yield GateResult(name="few cells", passed=cells <= 2, message=f"{cells} cells, at most 2")

def lost(context):
    raise KeyError("nothing")

def cells(report):
    return PanelContent(facts={"cells": sum(len(case.cells) for case in report.cases)})

def pytest_autoweb_register(registry):
    registry.add_gate(Gate(name="few_cells", summary="few cells", evaluate=few_cells))
    registry.add_report_panel(Panel("cell_count", "Count of cells", "how many", cells, order=50))
"""
RUN = ("cases", "--autoweb-models=builtin/oracle,builtin/noop")
SENTENCE = "few cells: 4 cells, at most 2"


def read_report(project: pytest.Pytester) -> Any:
    return json.loads((project.path / "autoweb-report/report.json").read_text(encoding="utf-8"))


def summary_of(project: pytest.Pytester) -> str:
    return (project.path / "autoweb-report/summary.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_gate_and_a_panel_of_the_project_count_like_the_built_in_ones_and_in_commands(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeconftest(CONFTEST)

    result = project.runpytest_subprocess(*RUN, "-n", "2")

    result.assert_outcomes(passed=2, xfailed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"gate FAILED: {SENTENCE}"])
    report = read_report(project)
    assert [(gate["name"], gate["passed"]) for gate in report["gates"]] == [("few cells", False)]
    assert report["exit_status"] == 1
    assert [(panel["title"], panel["facts"]) for panel in report["panels"]] == [
        ("Count of cells", {"cells": 4})
    ]
    summary = summary_of(project)
    assert "❌ **few cells**: 4 cells, at most 2" in summary
    assert "## Count of cells\n\n- cells: 4\n" in summary
    page = (project.path / "autoweb-report/index.html").read_text(encoding="utf-8")
    assert '"panels":["failed","cell_count","gates",' in page

    # The commands judge the saved run by what the conftest says now.
    (project.path / "conftest.py").write_text(CONFTEST.replace("2", "4"), encoding="utf-8")
    gate = project.run(*autoweb_command(), "run", "gate", "autoweb-report")
    assert gate.ret == 0
    gate.stdout.fnmatch_lines(["gate passed: few cells: 4 cells, at most 4"])

    stricter = CONFTEST.replace("2", "1")
    stricter += '    registry.add_gate(Gate(name="lost", summary="raises", evaluate=lost))\n'
    (project.path / "conftest.py").write_text(stricter, encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    gate = project.run(*autoweb_command(), "run", "gate", "autoweb-report")

    assert gate.ret == 1
    gate.stdout.fnmatch_lines(
        [
            "gate FAILED: few cells: 4 cells, at most 1",
            "gate FAILED: lost: the gate could not decide: KeyError: 'nothing'",
            "::error title=gate failed%3A few cells::4 cells, at most 1",
        ]
    )
    assert "4 cells, at most 1" in summary_of(project)
    assert [panel["name"] for panel in read_report(project)["panels"]] == ["cell_count"]
    comment = project.run(*autoweb_command(), "run", "gate", "--comment", "autoweb-report")
    assert "❌ **few cells**: 4 cells, at most 1" in comment.stdout.str()
