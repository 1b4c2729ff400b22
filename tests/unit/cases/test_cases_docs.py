"""The documentation of cases is true: its examples load, and it leaves nothing out."""

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.cases.check_specs import CHECK_TYPES, ElementQuery
from pytest_autoweb.cases.file_layout import ALIASES, CASE_KEYS
from pytest_autoweb.cases.model import Webserver

TEXT = (Path(__file__).parents[3] / "docs" / "cases.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(version: 1\n.*?)```", TEXT, re.DOTALL)
JSON = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(YAML)))
def test_each_yaml_example_loads(load: Any, number: int) -> None:
    assert all(case.has_expect for case in load(YAML[number]))


def test_the_json_example_loads(load: Any) -> None:
    assert [case.id for case in load(JSON[0], "cases.json")] == ["find-tea"]


def test_the_matrix_example_makes_the_ids_it_promises(load: Any) -> None:
    (example,) = (text for text in YAML if "matrix:" in text)

    ids = ", ".join(f"`{case.id}`" for case in load(example))

    assert f"makes {ids}, in this order" in TEXT


def test_every_field_check_and_alias_is_documented() -> None:
    names = {
        *CASE_KEYS,
        *CHECK_TYPES,
        *Webserver.model_fields,
        *ElementQuery.model_fields,
        *(alias for aliases in ALIASES.values() for alias in aliases),
    }

    assert [name for name in sorted(names) if f"`{name}`" not in TEXT] == []
