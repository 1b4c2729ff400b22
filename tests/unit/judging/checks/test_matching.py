from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.judging.checks.compared_values import as_text, contains, equal, is_subset

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (42, 42.0),
        (42, "42"),
        ("42", 42.0),
        (85.5, " 85.50 "),
        (7, "７"),
        ("Ana  Lee\n", "Ana Lee"),
        ("ﬁne", "fine"),
        ("a\u00a0b", "a b"),
        ("x\u200b", "x"),
        ([1, "2"], ["1", 2]),
        ({"a": 1}, {"a": "1"}),
        (None, None),
        (True, True),
    ],
)
def test_values_that_read_alike_are_equal(expected: Any, actual: Any) -> None:
    assert equal(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (True, 1),
        (1, True),
        (0, False),
        (None, ""),
        (None, 0),
        ("042", "42"),
        ("Ana", "ana"),
        (42, "42 items"),
        (1, "1e"),
        ([1, 2], [2, 1]),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}),
        (1, float("nan")),
        (float("inf"), float("inf")),
        ("1", [1]),
        (9007199254740993, 9007199254740992),
    ],
)
def test_values_that_differ_are_not_equal(expected: Any, actual: Any) -> None:
    assert not equal(expected, actual)


@given(values, values)
def test_equality_has_no_direction(first: Any, second: Any) -> None:
    assert equal(first, second) == equal(second, first)


@given(values.filter(lambda value: "inf" not in repr(value)))
def test_every_finite_value_equals_itself(value: Any) -> None:
    assert equal(value, value)
    assert is_subset(value, value)


@given(st.text(max_size=30))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.dictionaries(st.text(max_size=4), st.integers()), st.data())
def test_part_of_an_object_is_a_subset(whole: dict[str, int], data: st.DataObject) -> None:
    keys = data.draw(st.sets(st.sampled_from(sorted(whole)))) if whole else set()

    assert is_subset({key: whole[key] for key in keys}, whole)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [({"a": 1}, {}), ({"a": {"b": 1}}, {"a": {"b": 2}}), ([1], [1, 2]), ({}, [])],
)
def test_a_missing_or_other_part_is_no_subset(expected: Any, actual: Any) -> None:
    assert not is_subset(expected, actual)


@pytest.mark.parametrize(
    ("wanted", "actual", "holds"),
    [
        ("Ana", "Hello Ana!", True),
        ("ana", "Hello Ana!", False),
        (5, [1, "5"], True),
        (5, [55], False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ("4", 42, True),
    ],
)
def test_contains_looks_for_text_parts_and_list_items(
    wanted: Any, actual: Any, holds: bool
) -> None:
    assert contains(wanted, actual) is holds


def test_a_number_of_absurd_length_is_no_number() -> None:
    assert not equal(1, "1" * 100_000)


def test_text_of_values_is_json_but_for_texts() -> None:
    assert as_text("é") == "é"
    assert as_text({"a": ["é", None]}) == '{"a": ["é", null]}'


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ({"a": [1, {"b": "2"}]}, {"a": ("1", {"b": 2})}, True),
        ((1, 2), [1, 2], True),
        ({"a": 1}, {"b": 1}, False),
        ([], {}, False),
        ([1], "1", False),
        (1, "x", False),
        ("x", 1, False),
        (None, "None", False),
        (False, False, True),
        (False, None, False),
        (True, "true", False),
        (1.5, "+1.5", True),
        (100, "1e2", True),
        (0.5, ".5", True),
        (5, "5.", True),
        (-5, "-5", True),
        (9007199254740993, "9007199254740993", True),
        (float("nan"), float("nan"), False),
        (10**299, "1" + "0" * 299, True),
        (10**300, "1" + "0" * 300, False),
    ],
)
def test_two_values_are_the_same_to_a_reader(expected: Any, actual: Any, same: bool) -> None:
    assert equal(expected, actual) is same


@pytest.mark.parametrize(
    ("wanted", "actual", "holds"),
    [
        (2, (1, 2), True),
        ({"a": 1}, {"a": 2}, False),
        ("a", {"a": 1}, False),
        ({"a": 1}, 'x {"a": 1} y', True),
        (True, "it is true", True),
        (5, None, False),
        ("a\u00a0 b", "x a b", True),
    ],
)
def test_a_part_is_looked_for(wanted: Any, actual: Any, holds: bool) -> None:
    assert contains(wanted, actual) is holds


@pytest.mark.parametrize(
    ("expected", "actual", "holds"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}], "d": 3}, True),
        ([{"a": 1}], ({"a": 1, "b": 2},), True),
        ((), [], True),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        ({"a": 1}, [("a", 1)], False),
        ({"a": None}, {}, False),
        ({}, {"a": 1}, True),
        ("1", 1, True),
    ],
)
def test_what_is_named_has_to_be_there(expected: Any, actual: Any, holds: bool) -> None:
    assert is_subset(expected, actual) is holds


def test_a_value_that_json_lacks_is_shown_all_the_same() -> None:
    assert as_text([{1}]) == '["{1}"]'
