"""The documentation of cases is true: its examples load, and it leaves nothing out."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_autoweb.base.documents.field_sentences import keys
from pytest_autoweb.browser.page.setup import Setup
from pytest_autoweb.cases.file_layout import ALIASES, CASE_KEYS
from pytest_autoweb.cases.webserver_spec import Webserver
from pytest_autoweb.judging.checks.check_type import CHECKS, JudgeQuery
from pytest_autoweb.judging.checks.expected_values import (
    AnswerSpec,
    Condition,
    RecordsSpec,
    UrlsSpec,
)
from pytest_autoweb.judging.checks.page_checks import ElementQuery
from pytest_autoweb.judging.checks.server_checks import FileQuery, HttpQuery, SqlQuery
from pytest_autoweb.judging.checks.wire_checks import DownloadQuery, ReplyQuery, RequestQuery

TEXT = (Path(__file__).parents[3] / "docs" / "cases.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(version: 1\n.*?)```", TEXT, re.DOTALL)
CHECKS_TEXT = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")
EXPECT = re.findall(r"```yaml\n(expect:\n.*?)```", CHECKS_TEXT, re.DOTALL)
PARTS = (
    *(AnswerSpec, Condition, RecordsSpec, UrlsSpec, ElementQuery, RequestQuery, ReplyQuery),
    *(DownloadQuery, HttpQuery, SqlQuery, FileQuery, JudgeQuery),
)
JSON = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(YAML)))
def test_each_yaml_example_loads(load: Any, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv("PYTEST_BASE_URL", "http://shop.test")
    assert all(case.has_expect for case in load(YAML[number]))


@pytest.mark.parametrize("number", range(len(EXPECT)))
def test_each_example_of_checks_loads(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (function,) = re.findall(r"```python\n(.*?)```", CHECKS_TEXT, re.DOTALL)
    (tmp_path / "shop_checks.py").write_text(function)
    lines = "".join(f"    {line}\n" for line in EXPECT[number].splitlines())
    case = f"  - id: a\n    entry_url: http://shop.test/\n    user_task: Look.\n{lines}"

    (loaded,) = load(f"version: 1\nvars: {{order: 1}}\ncases:\n{case}")

    assert loaded.has_expect


def test_the_json_example_loads(load: Any) -> None:
    assert [case.id for case in load(JSON[0], "cases.json")] == ["find-tea"]


def test_the_matrix_example_makes_the_ids_it_promises(load: Any) -> None:
    example = next(text for text in YAML if "matrix:" in text)

    ids = ", ".join(f"`{case.id}`" for case in load(example))

    assert f"makes {ids}, in this order" in TEXT


def test_every_field_of_a_check_is_documented() -> None:
    models: list[type[BaseModel]] = [*CHECKS.values(), *PARTS]
    names = {name for model in models for name in keys(model)}

    assert [
        n for n in sorted(names) if not re.search(rf"(?<![\w-]){n}(?![\w-])", CHECKS_TEXT)
    ] == []


def test_every_field_and_alias_of_a_case_is_documented() -> None:
    names = {
        *CASE_KEYS,
        *Webserver.model_fields,
        *Setup.model_fields,
        *(alias for aliases in ALIASES.values() for alias in aliases),
    }

    assert [name for name in sorted(names) if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_type_has_a_row(name: str) -> None:
    assert f"\n| `{name}: " in CHECKS_TEXT
