"""Searching for other people's expressions: what Python's `re` finds, in a time with a limit."""

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_autoweb.base.values.linear_patterns import NotLinear, linear_search
from pytest_autoweb.base.values.patterns import SlowPattern, search
from pytest_autoweb.base.values.schemas import problem_with

EVIL = [
    (r"^(\w+\s?)+!$", "lorem ipsum dolor sit amet " * 5),
    (r"^(\w+\s?)+!$", "größer schöner weiter " * 6),
    (r".*item-(a{1,10}){1,10}b", "http://shop.test/item-" + "a" * 60),
    (r"(\d{1,9}){1,9}x", "1" * 40),
    ("a?" * 26 + "b" * 26, "a" * 26),
    (r"(a|b|ab){0,10}(a|b|ab){0,10}(a|b|ab){0,10}c", "ab" * 20),
    (r"(?:a?b?c?d?e?f?g?){9}z", "abcdefg" * 9),
    (r"\s+$", " " * 60_000 + "x"),
    (r".*.*.*.*=", "a" * 3_000),
    (r"(?i)(a|A|aa)+$", "a" * 40 + "!"),
]
"""Expressions that keep `re` busy, with texts that they do not match."""
ONLY_PYTHON = [
    (r"(?<=€)\d+", "costs €12", "12"),
    (r"(\w)\1", "a letter", "tt"),
    (r"Total(?! due)", "Total due, Total", "Total"),
    (r"\bÄpfel\b", "rote Äpfel hier", "Äpfel"),
    (r"(?i)STRASSE|straße", "Die Straße", "Straße"),
    (r"paid$", "paid\n", "paid"),
    (r"(?>a+)b", "aab", "aab"),
    (r"a{2000}", "a" * 2000, "a" * 2000),
    ("\ud83d", "half of an emoji: \ud83d", "\ud83d"),
]
"""Expressions, or texts, that only Python's own engine reads as Python does."""


@pytest.mark.parametrize(("pattern", "text"), EVIL)
def test_an_expression_with_too_many_ways_is_answered_at_once(pattern: str, text: str) -> None:
    before = time.process_time()

    assert search(pattern, text) is None
    assert time.process_time() - before < 1


@pytest.mark.parametrize(("pattern", "text", "found"), ONLY_PYTHON)
def test_what_only_python_can_tell_is_told_by_python(pattern: str, text: str, found: str) -> None:
    with pytest.raises(NotLinear):
        linear_search(pattern, text)

    assert search(pattern, text) == found
    assert search(pattern, "nothing like it") is None


@pytest.mark.long
def test_a_search_that_only_python_can_do_is_given_up() -> None:
    for _ in range(2):
        with pytest.raises(SlowPattern, match=r"^the pattern '\(\?=\(a\+\)\+\$\)a' takes too long"):
            search("(?=(a+)+$)a", "a" * 40 + "!")

    # The next one is not in the way of what was ended.
    assert search(r"(a)\1", "baab") == "aa"


ASCII_PARTS = [
    "a", "b", "ab", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]", r"[\s\S]",
    r"[^\d.]", r"\.", "_", "K", "[A-z]", r"\n", r"\b", "^", "$", r"\A", r"\Z", "(?i:a)", r"[\w-]",
]  # fmt: skip
WIDE_PARTS = ["é", "[à-ÿ]", "ſ", "İ", "中", "٣", "[^é]", "\u2003"]


def expressions(parts: list[str]) -> st.SearchStrategy[str]:
    """Build expressions from parts, as people and models do."""
    return st.recursive(
        st.sampled_from(parts),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda ways: f"({'|'.join(ways)})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?"])).map(
                lambda pair: f"(?:{pair[0]}){pair[1]}"
            ),
        ),
        max_leaves=6,
    )


FLAGS = st.sampled_from([0, re.I, re.M, re.S, re.A, re.I | re.M, re.A | re.I])
TEXTS = st.text("abcABCkK019 _-.\n\t\x1céàÉſİıK中٣\u2003\xa0²", max_size=12)


@given(expressions([*ASCII_PARTS, *WIDE_PARTS]), TEXTS, FLAGS)
def test_the_linear_engine_finds_what_python_finds(pattern: str, text: str, flags: int) -> None:
    try:
        found = linear_search(pattern, text, flags)
    except NotLinear:
        assume(False)
        raise
    expected = re.search(pattern, text, flags)

    assert (found is None) == (expected is None)
    # What may be empty and is repeated has several ways to be found first.
    if expected is not None and not re.search(r"\)[*+{?]", pattern):
        assert found == expected.group()


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "string", "pattern": r"^(\w+\s?)+!$"}, "lorem " * 30, "does not match"),
        ({"patternProperties": {r"^(a+)+$": {"type": "string"}}}, {"aa": 1}, "1 is not of type"),
        ({"patternProperties": {r"^(a+)+$": False}}, {"a" * 40 + "!": 1}, ""),
        ({"properties": {"pattern": {"const": 1}}}, {"pattern": 2}, "1 was expected"),
        ({"items": {"pattern": "^a$"}}, ["a", "b"], "'b' does not match '^a$'"),
    ],
)
def test_a_schema_with_expressions_is_answered_at_once(
    schema: dict[str, object], value: object, message: str
) -> None:
    problem = problem_with(schema, value)

    assert message in problem.message if problem is not None and message else problem is None


@pytest.mark.long
def test_a_schema_whose_expressions_take_too_long_is_given_up() -> None:
    schema = {"patternProperties": {"^(?=(a+)+$)a": False}}

    with pytest.raises(SlowPattern, match="the patterns of the schema take too long"):
        problem_with(schema, {"a" * 40 + "!": 1})
