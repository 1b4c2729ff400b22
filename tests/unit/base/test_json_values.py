"""All texts of a JSON value are changed, and nothing else of it."""

from typing import Any, NamedTuple

import pytest

from pytest_autoweb.base.json_values import map_texts


class Place(NamedTuple):
    name: str


CHANGED = {
    "a text": ("tea", "TEA"),
    "numbers and nothing": ([1, 2.5, True, None], [1, 2.5, True, None]),
    "lists and mappings in one another": ([{"cups": ["tea", 2]}], [{"cups": ["TEA", 2]}]),
    "a tuple": (("tea", ["milk"]), ("TEA", ["MILK"])),
    "a record": (Place("tea"), Place("tea")),
}


@pytest.mark.parametrize(("value", "expected"), CHANGED.values(), ids=CHANGED)
def test_texts_are_changed_and_the_rest_stays(value: Any, expected: Any) -> None:
    changed = map_texts(value, str.upper)

    assert changed == expected
    assert type(changed) is type(expected)


def test_keys_are_changed_only_on_request() -> None:
    value = {"cup": {"of": "tea", 1: "milk"}}

    assert map_texts(value, str.upper) == {"cup": {"of": "TEA", 1: "MILK"}}
    assert map_texts(value, str.upper, keys=True) == {"CUP": {"OF": "TEA", 1: "MILK"}}


def test_what_is_no_text_may_be_changed_too() -> None:
    def doubled(value: Any) -> Any:
        return value * 2 if isinstance(value, bytes) else value

    assert map_texts([b"ab", 1, "c"], str.upper, other=doubled) == [b"abab", 1, "C"]
