"""One case per combination, each with an id of its own that stays the same."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.cases.file_layout import combinations

TEXT = """\
version: 1
vars: {seeds: [1, 2]}
cases:
  - id: buy
    matrix: {item: [tea, "Earl Grey!"], seed: "{{ vars.seeds }}"}
    url: "http://x.test/?item={{ matrix.item }}&seed={{ matrix.seed }}"
    task: "Buy {{ matrix.item }}."
    tags: ["seed{{ matrix.seed }}"]
    expect: [{answer: {equals: "{{ matrix.seed }}"}}]
"""


def test_the_last_axis_changes_fastest(load: Any) -> None:
    ids = [case.id for case in load(TEXT)]

    assert ids == ["buy-tea-1", "buy-tea-2", "buy-Earl-Grey-1", "buy-Earl-Grey-2"]


def test_values_reach_every_field_with_their_type(load: Any) -> None:
    last = load(TEXT)[-1].resolve(None)

    assert last.user_task == "Buy Earl Grey!."
    assert last.tags == ("seed2",)
    assert last.expect[0].answer.equals == 2


def test_a_matrix_of_the_defaults_is_switched_off_by_an_empty_one(load: Any) -> None:
    text = """\
version: 1
defaults: {matrix: {n: [1, 2]}, url: "http://x.test/"}
cases:
  - {id: a, task: t}
  - {id: b, task: t, matrix: {}}
"""

    assert [case.id for case in load(text)] == ["a-1", "a-2", "b"]


def suffixes(matrix: dict[str, list[Any]]) -> list[str]:
    return [row.suffix for row in combinations(matrix, ())]


def test_values_that_look_alike_in_an_id_are_told_apart() -> None:
    texts = suffixes({"n": ["a b", "a/b", 1, "1", True, "…"]})

    assert len(set(texts)) == 6
    assert [text for text in texts if re.fullmatch(r"[A-Za-z0-9._-]+", text)] == texts


def test_combinations_that_join_alike_are_told_apart() -> None:
    assert len(set(suffixes({"x": ["a", "a-b"], "y": ["b-c", "c"]}))) == 4


VALUES = st.one_of(
    st.text(max_size=60), st.integers(), st.booleans(), st.floats(allow_nan=False, width=16)
)
MATRICES = st.dictionaries(
    st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True),
    st.lists(VALUES, min_size=1, max_size=4, unique_by=lambda v: (type(v).__name__, repr(v))),
    min_size=1,
    max_size=3,
)


@given(MATRICES)
def test_suffixes_are_unique_safe_and_stable(matrix: dict[str, list[Any]]) -> None:
    texts = suffixes(matrix)

    assert len({text.lower() for text in texts}) == len(texts)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{2,200}", text) for text in texts)
    assert texts == suffixes(matrix)
    assert all(texts)


@given(MATRICES)
def test_another_value_of_an_axis_leaves_other_ids_alone_unless_it_looks_alike(
    matrix: dict[str, list[Any]],
) -> None:
    before = {row.suffix for row in combinations(matrix, ())}
    name = next(iter(matrix))

    after = suffixes({**matrix, name: [*matrix[name], "zz-new-value-zz"]})

    assert before <= set(after)
