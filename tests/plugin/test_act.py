"""The strategy `act` in whole sessions."""

import json
from collections.abc import Callable

import pytest

DECISIONS = [
    {"action": "type", "mark_id": 1, "expected_text": "Name", "text": "ana"},
    {"action": "click", "mark_id": 1, "expected_text": "Log in", "confidence": 0.8},
    {"action": "done", "answer": "Shop"},
]


def test_a_flag_lets_models_act_by_sight_and_controls_stay_scripts(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    # Workers take the cases in any order: each client starts with its first decision.
    scripted(repr({"fake/eyes": {"decide": [json.dumps(decision) for decision in DECISIONS]}}))

    result = project.runpytest_subprocess(
        "cases",
        "--autoweb-models=fake/eyes,builtin/oracle",
        "--autoweb-strategy=act",
        "--autoweb-max-repairs=0",
        "-n",
        "2",
    )

    result.assert_outcomes(passed=4)
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    cells = {
        (case["id"], cell["model"]): cell for case in report["cases"] for cell in case["cells"]
    }
    strategies = {model: cell["strategy"] for (_, model), cell in cells.items()}
    assert strategies == {"fake/eyes": "act", "builtin/oracle": "codegen"}
    attempt = cells["login", "fake/eyes"]["attempts"][0]
    clicked = attempt["decisions"][1]
    assert (clicked["chosen"][0]["mark"], clicked["chosen"][0]["taken"]) == (1, 3)
    assert (clicked["status"], clicked["confidence"]) == ("performed", 0.8)
    assert [call["method"] for call in attempt["tool_calls"] if call["acting"]] == ["fill", "click"]
    assert "decide" in cells["login", "fake/eyes"]["usage"]
    folder = project.path / "autoweb-report" / cells["login", "fake/eyes"]["folder"]
    assert (folder / clicked["picture"]).read_bytes().startswith(b"\x89PNG")
