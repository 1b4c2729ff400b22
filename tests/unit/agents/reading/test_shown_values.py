"""Which words of a page are a value, and which value they are."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from pytest_autoweb.agents.reading.asked_types import UnreadableType, reply_kind, told_fields
from pytest_autoweb.agents.reading.shown_values import NotShown, PageWords, shown_value

PAGE = PageWords(
    "Cart\nTotal: $1,234.50\n3 items in stock\nBalance -5.00 EUR\nDue 3 March 2026, 14:30\n"
    "Menge 1.234\nZahl 12,5\n03/04/2026\nopen",
    "en",
)


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Row(BaseModel):
    name: str = Field(description="of the shirt")
    price: float
    note: str | None = None


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        (str, "3 items in stock", "3 items in stock"),
        (int, "3 items", 3),
        (int, 3, 3),
        (float, "Total: $1,234.50", 1234.5),
        (Decimal, "$1,234.50", Decimal("1234.5")),
        (float, "-5.00 EUR", -5.0),
        (date, "3 March 2026", date(2026, 3, 3)),
        (datetime, "3 March 2026, 14:30", datetime(2026, 3, 3, 14, 30)),
        (bool, {"shown": "open", "value": True}, True),
        (Size, {"shown": "open", "value": "small"}, Size.SMALL),
        (Literal["a", "b"], {"shown": "open", "value": "b"}, "b"),
        (str | None, "", None),
        (list[str], [], []),
        (list[int], ["3 items"], [3]),
        (list[Row], [{"name": "open", "price": "$1,234.50", "note": ""}], None),
    ],
)
def test_words_of_the_page_are_a_value_of_the_type(kind: Any, said: Any, value: Any) -> None:
    if value is None and kind != str | None:
        value = [Row(name="open", price=1234.5)]

    assert shown_value(kind, said, PAGE) == value


@pytest.mark.parametrize(
    ("kind", "said", "why"),
    [
        (int, "4", "does not show “4”"),
        (float, "1,234", "does not show"),
        (float, "$1,234.5", "does not show"),
        (str, "item", "does not show"),
        (int, "$1,234.50", "not a whole number"),
        (int, "open", "no number"),
        (float, "3 items in stock\nBalance -5.00", "more than one number"),
        (date, "open", "is not a date"),
        (str, "", "does not show it"),
        (bool, {"shown": "closed", "value": True}, "does not show “closed”"),
        (bool, {"shown": "open", "value": "yes"}, "neither true nor false"),
        (Size, {"shown": "open", "value": "huge"}, "not one of the words"),
        (list[str], "open", "no list"),
        (list[str], ["open", "shut"], r"\[1\]: the page does not show “shut”"),
        (Row, {"name": "open", "price": "9"}, "price: the page does not show “9”"),
    ],
)
def test_other_words_are_refused_with_a_reason(kind: Any, said: Any, why: str) -> None:
    with pytest.raises(NotShown, match=why):
        shown_value(kind, said, PAGE)


def test_an_ambiguous_value_needs_a_page_that_declares_its_language() -> None:
    unknown = PAGE._replace(locale=None)

    with pytest.raises(NotShown, match=r"may mean 1\.234 or 1234"):
        shown_value(float, "1.234", unknown)
    assert shown_value(float, "1.234", PAGE._replace(locale="de")) == 1234.0
    assert shown_value(date, "03/04/2026", PAGE._replace(locale="de")) == date(2026, 4, 3)


@given(st.decimals(-9_999_999, 9_999_999, places=2), st.sampled_from(["$", "€ ", "", "EUR "]))
def test_any_number_that_a_page_shows_is_read_as_it_is(number: Decimal, sign: str) -> None:
    shown = f"{'-' if number < 0 else ''}{sign}{abs(number):,.2f}"
    page = PageWords(f"Sum {shown} in all", "en")

    assert shown_value(Decimal, shown, page) == number


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_words_are_read_that_the_page_does_not_have(text: str, words: str) -> None:
    try:
        value = shown_value(str, words, PageWords(text))
    except NotShown:
        return
    assert value == words.strip()


@pytest.mark.parametrize(
    "kind", [dict, object, tuple[int, str], int | str, Literal[1], list[set[str]]]
)
def test_a_type_that_no_words_have_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(UnreadableType, match=r"pydantic models, not "):
        reply_kind(kind)


def test_what_fields_are_about_is_told() -> None:
    assert list(told_fields(list[Row])) == ["name: of the shirt"]
