"""Whatever stands in a case file, reading it gives cases or a `CaseError`."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_autoweb.base.documents.readers import Unreadable, read_yaml
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.cases.file_layout import CASE_KEYS
from pytest_autoweb.cases.loader import LoadedCase, load_case_file
from pytest_autoweb.cases.webserver_spec import ServerHandle
from pytest_autoweb.judging.checks.check_type import CHECKS

SERVER = ServerHandle(url="http://127.0.0.1:1/", data=Path("/data"))
WORDS = ["matches", "equals", "rows", "url", "query", "role", "name", "js", "env", "reset", "a"]
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["{{ vars.a }}", "{{ matrix.a }}", "{{ webserver.url }}", "{{", "{% if 1 %}", "http://a/"]
    ),
    st.text(alphabet="{}%#|()[]*.'\"vars a1", max_size=20),
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*WORDS, *CHECKS]), inner, max_size=3),
    ),
    max_leaves=8,
)
CASES = st.dictionaries(st.sampled_from(CASE_KEYS), VALUES, max_size=2).map(
    lambda fields: {"id": "a", "entry_url": "http://a/", "user_task": "t", **fields}
)
FILES = st.fixed_dictionaries(
    {"version": st.just(1), "cases": st.lists(CASES, min_size=1, max_size=2)},
    optional={
        "webserver": st.fixed_dictionaries({"command": TEXTS}, optional={"reset": VALUES}),
        "vars": st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2),
        "defaults": st.dictionaries(st.sampled_from(CASE_KEYS[1:]), VALUES, max_size=1),
        "$schema": VALUES,
    },
)
WILD = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def load(tmp_path: Path, text: str, name: str) -> tuple[LoadedCase, ...]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    cases: tuple[LoadedCase, ...] = ()
    line: int | None = 1
    try:
        cases = load_case_file(path)
    except CaseError as error:
        line = error.line
    assert line is not None
    for case in cases:
        case.resolve(SERVER if case.webserver else None)
    return cases


@WILD
@given(st.text(max_size=200))
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_any_text_gives_cases_or_a_case_error(tmp_path: Path, name: str, text: str) -> None:
    load(tmp_path, text, name)


@WILD
@given(st.text(alphabet="- :{}[]\"'&*!|>%@`#,?\n\\ax1\t", max_size=60))
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_any_punctuation_gives_cases_or_a_case_error(tmp_path: Path, name: str, text: str) -> None:
    load(tmp_path, text, name)


@pytest.mark.long
@WILD
@given(FILES)
def test_any_values_give_cases_or_a_case_error(tmp_path: Path, data: dict[str, Any]) -> None:
    cases = load(tmp_path, json.dumps(data), "a.json")

    assert len({case.id for case in cases}) == len(cases)


@WILD
@given(VALUES)
def test_json_text_means_the_same_to_both_readers(tmp_path: Path, value: Any) -> None:
    text = json.dumps(value)
    try:
        data, lines = read_yaml(text)
    except Unreadable:
        return

    assert data == json.loads(text)
    assert set(lines.values()) == {1}
