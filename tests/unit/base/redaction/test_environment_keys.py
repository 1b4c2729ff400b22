"""Which variables hold keys, how their values are tidied, and what masks them."""

import pytest

from pytest_autoweb.base.redaction.environment_keys import (
    MASK,
    KeyMask,
    environment_keys,
    tidy_key,
    tidy_secrets,
    without_secrets,
)

KEY = "abcd1234efgh"


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "KEY", "my_token", "DB_PASSWORD", "CLIENT_SECRET", "APIKEY"]
)
def test_a_variable_named_like_a_key_holds_one(name: str) -> None:
    assert environment_keys({name: KEY}) == {KEY}
    assert without_secrets({name: KEY, "HOME": "here"}) == {"HOME": "here"}


@pytest.mark.parametrize("name", ["KEYBOARD", "TOKENS", "MONKEY", "SECRET_NAME"])
def test_other_variables_hold_none(name: str) -> None:
    assert environment_keys({name: KEY}) == frozenset()


def test_a_key_has_eight_characters_at_least() -> None:
    assert environment_keys({"KEY": "1234567", "TOKEN": "12345678"}) == {"12345678"}


def test_keys_lose_what_stands_around_them_and_empty_ones_their_variable() -> None:
    environ = {"A_KEY": f"\ufeff {KEY}\n", "B_KEY": " \u200b\n", "HOME": " kept "}

    tidy_secrets(environ)

    assert environ == {"A_KEY": KEY, "HOME": " kept "}
    assert tidy_key(f"\t{KEY} {KEY}\u200b") == f"{KEY} {KEY}"


def test_a_key_is_masked_as_it_is_given_tidied_and_in_bytes() -> None:
    mask = KeyMask({"A_KEY": f"clé-{KEY}\n"}, ["1234567", "other-secret"])

    assert mask(f"got clé-{KEY} here") == f"got {MASK} here"
    assert mask(rf"b'cl\xc3\xa9-{KEY}\n'") == f"b'{MASK}'"
    assert mask("1234567 is short, other-secret is not") == f"1234567 is short, {MASK} is not"


def test_a_key_of_eight_characters_is_masked_without_what_stands_around_it() -> None:
    mask = KeyMask({}, ["\n12345678\n", "\n1234567\n"])

    assert mask("12345678 and 1234567 there") == f"{MASK} and 1234567 there"
    bare = KeyMask({}, ["12345678", "1234567"])
    assert bare("12345678 and 1234567 there") == f"{MASK} and 1234567 there"


def test_of_a_key_in_bytes_nothing_is_left() -> None:
    assert KeyMask({"A_KEY": f"é{KEY}"})(rf"b'\xc3\xa9{KEY}'") == f"b'{MASK}'"


def test_a_key_with_bytes_that_are_no_text_is_masked_in_bytes_too() -> None:
    mask = KeyMask({"A_KEY": f"{KEY}\udcff"})

    assert mask(rf"b'{KEY}\xff'") == f"b'{MASK}'"
