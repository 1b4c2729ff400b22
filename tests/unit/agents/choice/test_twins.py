"""Elements that read alike: what stands near decides, and without it nothing is performed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_autoweb.agents.choice.disambiguate import ambiguous, nearest, resolve_apart
from pytest_autoweb.agents.choice.verify_choice import Choice
from pytest_autoweb.browser.marks.marking import Mark, PageBox


def mark(number: int, text: str, *near: str, url: str = "") -> Mark:
    return Mark(
        number=number,
        tag="a" if url else "button",
        role="link" if url else "button",
        text=text,
        name=text,
        box=PageBox(0, 20 * number, 50, 20),
        texts=(text,) if text else (),
        near=near,
        url=url,
        unseen=not text,
    )


PEOPLE = (
    mark(1, "Add"),
    mark(2, "Edit", "Ann Abel", "ann@a.example", "Users"),
    mark(3, "Edit", "Ann Brook", "brook@a.example", "Users"),
    mark(4, "Edit", "Bo", "bo@a.example", "Users"),
    mark(5, "More", url="https://a.example/more"),
    mark(6, "More", url="https://a.example/more"),
    mark(7, "Up", "Users"),
    mark(8, "Up", "Users"),
    mark(9, "", "Ann Abel"),
    mark(10, "", "Bo"),
)

# Number, text, near; then the mark acted on, or the candidates of a second look.
CHOICES = [
    (2, "Edit", "Ann Abel", 2, ()),
    (4, "Edit", "Ann Abel", None, (2, 4)),
    (1, "Edit", "Ann Abel", 2, ()),
    (1, "Edit", "ANN ABEL", 2, ()),
    (None, "Edit", "Bo", 4, ()),
    (2, "Edit", "Ann", 2, ()),
    (3, "Edit", "Ann", 3, ()),
    (2, "Edit", "Abel, Edit", 2, ()),
    (2, "Edit", "Edit | Ann Brook", None, (2, 3)),
    (3, "Edit", "Edit | Ann Brook", 3, ()),
    (1, "Edit", "Edit | Ann Brook", 3, ()),
    (3, "Edit", "the row of Ann Brook", 3, ()),
    (3, "Edit", "2 of 3", 3, ()),
    (4, "Edit", "2 of 3", None, (3, 4)),
    (4, "Edit", "Ann", None, (2, 3, 4)),
    (4, "Edit", "Users", None, (2, 3, 4)),
    (4, "Edit", "", None, (2, 3, 4)),
    (4, "Edit", "Cy Young", None, (2, 3, 4)),
    (6, "More", "", 6, ()),
    (1, "More", "", 5, ()),
    (8, "Up", "Users", None, (7, 8)),
    (8, "Up", "2 of 2", 8, ()),
    (8, "Up", "1 of 2", None, (7, 8)),
    (9, "pencil icon", "Ann Abel", 9, ()),
    (9, "pencil icon", "Bo", None, (9, 10)),
    # Among icons without a text the number decides, unless what is near contradicts it.
    (9, "pencil icon", "", 9, ()),
    (9, "trash can icon", "", None, (9, 10)),
    (3, "Add", "", 1, ()),
]


@pytest.mark.parametrize(("number", "text", "near", "acted_on", "candidates"), CHOICES)
def test_a_choice_among_elements_that_read_alike(
    number: int | None, text: str, near: str, acted_on: int | None, candidates: tuple[int, ...]
) -> None:
    found = resolve_apart(Choice(number, text, near), PEOPLE)

    assert (found.mark and found.mark.number, found.candidates) == (acted_on, candidates)
    assert not candidates or found.chosen.verdict == "unverifiable"
    assert found.chosen.taken == (None if acted_on == number else acted_on)


def test_what_is_near_is_shown_only_where_it_is_needed_and_tells_all_of_them_apart() -> None:
    assert ambiguous(PEOPLE) == {
        2: "Ann Abel",
        3: "Ann Brook",
        4: "Bo",
        7: "1 of 2",
        8: "2 of 2",
        9: "Ann Abel",
        10: "Bo",
    }


TWO_FRAMES = (
    mark(1, "Buy", "West", "Tea"),
    mark(2, "Buy", "East", "Tea"),
    mark(3, "Buy", "West", "Milk"),
    mark(4, "Buy", "East", "Milk"),
)
ICONS = tuple(
    mark(number, "", "Clerk" if number > 2 else "Boss", name)
    for number, name in enumerate(("Ann", "Ann", "Bo", "Bo", "李四", "李四"), 1)
)


def test_where_no_text_tells_them_apart_two_do_or_a_text_and_a_place() -> None:
    assert list(ambiguous(TWO_FRAMES).values()) == [
        *("Tea, West", "Tea, East", "Milk, West", "Milk, East"),
    ]
    assert list(ambiguous(ICONS).values()) == [
        *("Boss, 1 of 2", "Boss, 2 of 2", "Bo, 1 of 2", "Bo, 2 of 2"),
        *("李四, 1 of 2", "李四, 2 of 2"),
    ]
    for page in (TWO_FRAMES, ICONS):
        for number, near in ambiguous(page).items():
            for asked in (near, near.replace(",", ""), " | ".join(reversed(near.split(", ")))):
                text = page[0].text or "icon"
                assert resolve_apart(Choice(number, text, asked), page).mark == page[number - 1]
    # What is wholly near one row counts more than what is near two in part.
    assert resolve_apart(Choice(4, "bin icon", "Bo Clerk"), ICONS).candidates == (3, 4)
    assert resolve_apart(Choice(4, "icon", "Bo Clerk"), ICONS).mark == ICONS[3]
    assert resolve_apart(Choice(3, "Buy", "Milk, East"), TWO_FRAMES).candidates == (3, 4)


def test_nothing_is_concluded_while_what_is_near_one_of_them_is_not_known() -> None:
    page = (mark(1, "Save file", "Report"), mark(2, "Save file"))

    assert resolve_apart(Choice(2, "Save file", "Report"), page).mark is None
    again = resolve_apart(Choice(1, "Save file", "Report"), page, again=True)
    assert again.mark == page[0]


WORDS = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=12)


ROWS = st.lists(st.lists(WORDS, max_size=3), min_size=2, max_size=6)


def row_of_edits(rows: Sequence[Sequence[str]]) -> tuple[Mark, ...]:
    return tuple(mark(number, "Edit", *row) for number, row in enumerate(rows, 1))


@given(ROWS, st.data())
def test_a_number_that_agrees_is_never_replaced(
    rows: Sequence[Sequence[str]], data: st.DataObject
) -> None:
    page = row_of_edits(rows)
    meant, numbered = data.draw(st.sampled_from(page)), data.draw(st.sampled_from(page))
    near = data.draw(st.sampled_from([*meant.near, ambiguous(page)[meant.number], ""]))

    found = resolve_apart(Choice(numbered.number, "Edit", near), page)

    assert found.mark in (None, numbered)
    assert found.mark is None or found.mark in nearest(near, page)
    assert found.mark or numbered.number in found.candidates


@given(ROWS, st.data())
def test_without_a_number_that_agrees_only_the_row_that_is_named_is_taken(
    rows: Sequence[Sequence[str]], data: st.DataObject
) -> None:
    page = row_of_edits(rows)
    meant = data.draw(st.sampled_from(page))
    near = data.draw(st.sampled_from([*meant.near, ambiguous(page)[meant.number], ""]))

    found = resolve_apart(Choice(99, "Edit", near), page)

    assert found.mark in (None, meant) or meant.near == found.mark.near == ()


def test_what_a_pager_reads_is_no_place_among_elements() -> None:
    page = tuple(mark(number, "Yes", "Users") for number in (1, 2, 3))
    fields = tuple(
        replace(mark(number, ""), tag="input", role="textbox", unseen=True) for number in (1, 2)
    )
    pager = "Users\nPage 1 of 3\nNext"

    assert resolve_apart(Choice(9, "Yes", "1 of 3"), page).mark == page[0]
    for number in (2, 9):
        found = resolve_apart(Choice(number, "Yes", "1 of 3"), page, page_text=pager)
        assert (found.mark, found.candidates) == (None, (1, 2, 3))
    other = "Page 11 of 3, 1 of 30"
    assert resolve_apart(Choice(9, "Yes", "1 of 3"), page, page_text=other).mark == page[0]
    assert resolve_apart(Choice(9, "1 of 2"), fields).mark == fields[0]
    assert resolve_apart(Choice(9, "1 of 2"), fields, page_text="1 of 2").mark is None
    # A second look lists the places, so that they are copied from there; the number must agree.
    again = resolve_apart(Choice(1, "Yes", "1 of 3"), page, page_text=pager, again=True)
    assert again.mark == page[0]
