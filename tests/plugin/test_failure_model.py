"""`--autoweb-failure-model`: a model names failures for which no rule has a type."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from pytest_autoweb.agents.correction.naming_model import read_type

CASES = """
version: 1
webserver: {static: ../site}
defaults:
  entry_url: "{{ webserver.url }}index.html"
  user_task: "Log in."
  expect: [{text: Bought}]
cases: [{id: odd}, {id: odder}, {id: known}, {id: leaning}]
"""

ANSWERS = """{
    "fake/good": {
        "plan": scripted_plan("do it"),
        "generate": lambda request: (
            "```python\\n# Step 1: do it\\nraise Exception(%r)\\n```" % (
                WORDS.get(request.case_id, "<<end said>> blub sk-ant-" + 30 * "x")
            )
        ),
    },
    "fake/namer": {"classify": lambda request: (
        NAMED if "blub" in request.messages[1].content else fail(request)
    )},
}

WORDS = {
    "known": "nothing was found",
    "leaning": "blub: trouble while writing the ledger of the warehouse",
}
NAMED = '{"type": "BUSINESS_ERROR"}'

def fail(request):
    raise ModelError("timeout", request.model, "no reply in time")
"""
FLAGS = (
    "cases/odd.yaml",
    "--autoweb-models=fake/good",
    "--autoweb-max-repairs=0",
    "--autoweb-check-timeout=0.1",
)
NAMER = "--autoweb-failure-model=fake/namer"


@pytest.fixture
def odd(project: pytest.Pytester, scripted: Callable[[str], None]) -> pytest.Pytester:
    (project.path / "cases/odd.yaml").write_text(CASES)
    scripted(ANSWERS)
    return project


def report_of(project: pytest.Pytester) -> dict[str, Any]:
    file = project.path / "autoweb-report/report.json"
    report: dict[str, Any] = json.loads(file.read_text())
    return report


def cells(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {case["id"]: case["cells"][0] for case in report["cases"]}


def types(report: dict[str, Any]) -> dict[str, tuple[str, str]]:
    found = {case: c["attempts"][0]["classification"] for case, c in cells(report).items()}
    return {case: (one["type"], one["by"]) for case, one in found.items()}


@pytest.mark.long
def test_a_model_names_what_no_rule_knows_and_is_asked_once_about_the_same_words(
    odd: pytest.Pytester,
) -> None:
    odd.runpytest_subprocess(*FLAGS)
    before = report_of(odd)
    odd.runpytest_subprocess(*FLAGS, NAMER, "--autoweb-store=sqlite:///kept.db")
    after = report_of(odd)

    assert types(before) == {
        "odd": ("UNKNOWN", "none"),
        "odder": ("UNKNOWN", "none"),
        "known": ("DATA_NOT_FOUND", "keyword"),
        "leaning": ("SERVICE_UNAVAILABLE", "keyword"),
    }
    assert types(after) == {
        "odd": ("BUSINESS_ERROR", "model"),
        "odder": ("BUSINESS_ERROR", "model"),
        "known": ("DATA_NOT_FOUND", "keyword"),
        "leaning": ("BUSINESS_ERROR", "model"),
    }
    assert [c["outcome"] for c in cells(after).values()] == [
        c["outcome"] for c in cells(before).values()
    ]
    calls = {
        case: c["usage"].get("classify", {}).get("calls", 0) for case, c in cells(after).items()
    }
    assert sorted(calls.values()) == [0, 0, 1, 1]
    asked, _ = [
        exchange
        for c in cells(after).values()
        for exchange in c["attempts"][0]["exchanges"]
        if exchange["stage"] == "classify"
    ]
    assert "blub" in asked["prompt"]
    assert "sk-ant-x" not in asked["prompt"]
    counted = {t["type"]: (t["count"], t["by_model"]) for t in after["corrections"][0]["types"]}
    assert counted == {"BUSINESS_ERROR": (3, 3), "DATA_NOT_FOUND": (1, 0)}
    with closing(sqlite3.connect(odd.path / "kept.db")) as store:
        kept = Counter(name for (name,) in store.execute("SELECT failure_type FROM attempts"))
    assert kept == {"UNKNOWN": 2, "DATA_NOT_FOUND": 1, "SERVICE_UNAVAILABLE": 1}


@pytest.mark.long
def test_a_reply_counts_only_if_it_names_one_type(
    odd: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(ANSWERS.replace("""'{"type": "BUSINESS_ERROR"}'""", "'BUSINESS_ERROR or not?'"))
    odd.runpytest_subprocess(*FLAGS, NAMER, "-k", "odder")

    assert types(report_of(odd))["odder"] == ("BUSINESS_ERROR", "model")
    assert read_type("It is a data_not_found.") == "DATA_NOT_FOUND"
    assert read_type("PERMISSION_ERROR or BUSINESS_ERROR") == "UNKNOWN"
    assert read_type("no idea") == "UNKNOWN"


@pytest.mark.long
def test_a_model_that_does_not_answer_leaves_the_type_open_and_its_call_is_counted(
    odd: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(ANSWERS.replace('"blub" in request', '"never" in request'))
    odd.runpytest_subprocess(*FLAGS, NAMER, "-k", "odder")
    cell = cells(report_of(odd))["odder"]

    assert types(report_of(odd))["odder"] == ("UNKNOWN", "none")
    assert cell["usage"]["classify"]["calls"] == 1


def test_a_control_cannot_name_failures(odd: pytest.Pytester) -> None:
    result = odd.runpytest_subprocess(*FLAGS, "--autoweb-failure-model=builtin/noop")
    result.stderr.fnmatch_lines(["*builtin/noop is a control and cannot name failures*"])
    assert result.ret == 4
