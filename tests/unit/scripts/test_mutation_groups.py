"""What `make mutants` changes and runs is there, and no test that belongs to it is missing."""

import re
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
LIST = ROOT / "scripts" / "mutation_groups.py"
LISTED: dict[str, Any] = runpy.run_path(str(LIST)) if LIST.is_file() else {}
GROUPS: dict[str, Any] = LISTED.get("GROUPS", {})


@pytest.mark.parametrize("name", GROUPS)
def test_the_modules_and_the_tests_of_a_group_exist(name: str) -> None:
    group = GROUPS[name]

    assert [module for module in group.modules if find_spec(module) is None] == []
    assert [test for test in group.tests if not (ROOT / test).is_file()] == []


@pytest.mark.skipif(not GROUPS, reason="the scripts are not here")
def test_every_unit_test_of_a_listed_module_is_in_a_group_or_left_out_on_purpose() -> None:
    modules = [module for group in GROUPS.values() for module in group.modules]
    of_one = re.compile(rf"^from ({'|'.join(map(re.escape, modules))}) import ", re.MULTILINE)
    own = Path(__file__).parents[1]
    tests = {str(file.relative_to(ROOT)): file for file in own.rglob("test_*.py")}
    named = {test for group in GROUPS.values() for test in group.tests}

    direct = {path for path, file in tests.items() if of_one.search(file.read_text("utf-8"))}

    # Name it in scripts/mutation_groups.py: in a group, or else in NOT_ASKED.
    assert direct - named - LISTED["NOT_ASKED"] == set()
    assert LISTED["NOT_ASKED"] <= direct - named
