"""What `make mutants` is told to change and to run is there."""

import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LIST = ROOT / "scripts" / "mutation_groups.py"
GROUPS: dict[str, Any] = runpy.run_path(str(LIST))["GROUPS"] if LIST.is_file() else {}


@pytest.mark.parametrize("name", GROUPS)
def test_the_modules_and_the_tests_of_a_group_exist(name: str) -> None:
    group = GROUPS[name]

    assert [module for module in group.modules if find_spec(module) is None] == []
    assert [test for test in group.tests if not (ROOT / test).is_file()] == []
