"""The lint on code that this repository ships: the cases' own scripts, and what models replied."""

import json
from pathlib import Path

import pytest

from pytest_autoweb.agents.attempt.normal_form import normal_form
from pytest_autoweb.agents.codegen.generate import extract_code
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.sandbox.allowed_members import FUNCTIONS
from pytest_autoweb.sandbox.lint import lint_code

CASES = Path(__file__).parents[3] / "cases"
SERVER = ServerHandle(url="http://127.0.0.1:8000", data=Path("data"))


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_scripts_of_the_bundled_cases_are_clean_at_both_levels(path: Path) -> None:
    refused = {}
    for loaded in load_case_file(path):
        case = loaded.resolve(SERVER if loaded.webserver else None)
        assert loaded.has_oracle
        offered = frozenset(FUNCTIONS) if case.collect else frozenset()
        for scripts in (True, False):
            if found := lint_code(case.oracle or "", scripts=scripts, offered=offered):
                refused[case.id] = str(found[0])

    assert refused == {}


def test_recorded_scripts_are_clean_at_both_levels_unless_they_are_no_python() -> None:
    codes = [
        extract_code(entry["reply"])
        for path in sorted(CASES.glob("cassettes/*playwright/*.json"))
        for entry in json.loads(path.read_text(encoding="utf-8"))["entries"]
        if entry["stage"] in {"generate", "repair"}
    ]
    rules = [
        {found.code for found in lint_code(normal_form(code), scripts=False)} for code in codes
    ]

    assert rules.count(set()) >= 10
    assert [rule for rule in rules if rule not in (set(), {"AW001"})] == []
