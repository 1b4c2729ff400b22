"""Why two texts match or not, at the borders of each rule; and what is recorded of a choice."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_autoweb.agents.choice.expected_text import (
    compare,
    compare_element,
    directions,
    excerpt,
    fold,
    is_border,
    is_wide,
    without_decoration,
    without_spaces,
)
from pytest_autoweb.agents.choice.verify_choice import (
    Choice,
    compare_mark,
    resolve,
    resolve_all,
    visible_text,
)
from pytest_autoweb.browser.marks.marking import Mark, PageBox

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
FAR = "far north far north far north seas"

CODES = [
    ("Next", "NEXT", "equal"),
    ("Sign in", "Signin", "spacing"),
    ("7 items", "7items", "spacing"),
    ("Sign in", "» Sign in:", "decoration"),
    ("→ Page", "Page ←", "different"),
    ("→ Page", "→ Page.", "decoration"),
    ("→ Page", "» Page", "different"),
    ("abc", "abc...", "decoration"),
    ("1,000", "1000", "number"),
    ("1,000.0", "1000", "number"),
    ("03/04/2026", "2026-04-03", "date"),
    ("2026-04-03", "3 Apr 2026", "date"),
    ("3 Apr", "Apr", "different"),
    ("number", "№", "short"),
    ("Pro...", "Project", "ellipsis"),
    ("Project", "Pro...", "ellipsis"),
    ("Pro…", "Project", "ellipsis"),
    ("Pro...x", "Project", "ellipsis"),
    ("Pr...", "Project", "different"),
    ("Pro...", "Pr...oject", "different"),
    ("1. Storm", "Storm", "addition"),
    ("Storm", "12、Storm", "addition"),
    ("1. Sto", "Sto", "addition"),
    ("1) St", "St", "short"),
    ("1234. Storm", "Storm", "different"),
    ("Inbox", "Inbox (3)", "addition"),
    ("Inbox (3)", "Inbox", "addition"),
    ("→ Inbox (3)", "Inbox", "addition"),
    ("Inb", "Inb (3)", "addition"),
    ("In", "In (3)", "short"),
    ("Inbox (3)", "Inbox (4)", "different"),
    ("(3)", "Inbox", "different"),
    ("A long name", "A long name of somebody", "different"),
    ("A long name", "A long name 12", "prefix"),
    ("Delete", "Delete all", "different"),
    ("Order", "Order now", "different"),
    ("Delete item", "Delete item forever", "different"),
    ("Delete item forever", "Delete item", "different"),
    ("Delete the selected items", "Delete the selected items and all drafts", "different"),
    ("Delete", "Delete (all)", "different"),
    ("Delete", "Delete…", "decoration"),
    ("Delete…", "Delete all", "different"),
    ("Delete all", "Delete…", "different"),
    ("Delete items…", "Delete items now", "different"),
    ("Delete things…", "Delete things now", "ellipsis"),
    ("Delete…", f"Delete {FAR} from {FAR}", "ellipsis"),
    ("A history of our whales", f"A history of our whales {FAR} so", "different"),
    ("A history of our whale x", f"A history of our whale x {FAR}", "different"),
    ("A history of our whale x", f"A history of our whale x {FAR}o", "prefix"),
    ("A long n", "A long name", "different"),
    ("Abcdefgh", "Abcdefgh " + "1" * 11, "prefix"),
    ("Abcdefgh", "Abcdefgh " + "1" * 12, "different"),
    ("Abcdefg", "Abcdefg 12345", "contained"),
    (ALPHABET[:24], ALPHABET, "prefix"),
    (ALPHABET[:23], ALPHABET, "different"),
    ("Chapter 12", "Chapter 123", "different"),
    ("Chapters 1", "Chapters 1 of them", "different"),
    ("Chapter 12 is here to be", "Chapter 12 is here to be 4", "prefix"),
    ("Chapter 12 is here to be 4", "Chapter 12 is here to be", "different"),
    (ALPHABET[:24] + "1", ALPHABET[:24] + "12", "different"),
    ("项目公告的详细内容列", "项目公告的详细内容列表格", "different"),
    ("项目公告的详细内容列表格子", "项目公告的详细内容列表格子" + "公" * 17, "prefix"),
    ("项目公告的详细内容列表格子", "项目公告的详细内容列表格子" + "公" * 16, "different"),
    ("Books", "Books here", "different"),
    ("Books", "Books 12", "contained"),
    ("Books", "12 Books", "contained"),
    ("Books", "7 Books now", "different"),
    ("Books", "My Books", "different"),
    ("Books", "7 Booksx", "different"),
    ("Booka", "7Booka", "different"),
    ("Book", "7 Book", "different"),
    ("12 Books", "Books", "different"),
    ("Books now", "Books", "different"),
    ("Add to cart", "Add to cart $5.99", "prefix"),
    ("Add to cart $5.99", "Add to cart", "different"),
    ("Add to cart now", "Add to cart", "different"),
    ("ab", "abc", "short"),
    ("abc", "abd", "different"),
    ("»", "x", "short"),
    ("Delete", "✖ Delete", "decoration"),
    ("Sort", "Sort ▾", "decoration"),
    ("Next", "Next ›", "decoration"),
    ("x Delete", "✖ Delete", "different"),
    # A part that is wanted may be half of an element; of what is wanted more has to be there.
    ("Books", "Books €€€€", "contained"),
    ("Books €€", "Books", "contained"),
    ("Books €€€", "Books", "different"),
    (ALPHABET + " 1", ALPHABET + " 12 of them", "different"),
    (ALPHABET + "1", ALPHABET + "1x", "prefix"),
    (ALPHABET, ALPHABET + "1x", "prefix"),
    ("Inbox", "Inbox (3) (4)", "addition"),
    ("3×", "3", "short"),
    ("×", "✕", "equal"),
    ("X", "✕", "picture"),
    ("✕", "", "icon"),
    ("", "x", "no_expected"),
    ("", "", "icon"),
    ("x", "", "no_text"),
    ("icon", "", "icon"),
]


@pytest.mark.parametrize(("expected", "actual", "code"), CODES)
def test_a_pair_of_texts_has_its_reason(expected: str, actual: str, code: str) -> None:
    assert compare(expected, actual).code == code


REASONS = [
    ("Next", "NEXT", "'Next' is 'NEXT'"),
    ("Sign in", "Signin", "'Sign in' is, but for spaces, 'Signin'"),
    ("Next", "Next:", "'Next' is, but for its ends, 'Next:'"),
    ("1,000", "1000", "'1,000' is the same number as '1000'"),
    ("2026-04-03", "3 Apr 2026", "'2026-04-03' is the same day as '3 Apr 2026'"),
    ("Pro...", "Project", "'Pro...' is, one of them cut, 'Project'"),
    ("Inbox", "Inbox (3)", "'Inbox' is, but for an addition, 'Inbox (3)'"),
    ("Books", "12 Books", "'Books' has whole words in common with '12 Books'"),
    ("Next", "Back", "'Next' was expected, but the element reads 'Back'"),
    ("ab", "abc", "texts this short must be equal: 'ab' is not 'abc'"),
    ("", "x", "no text was expected, but the element reads 'x'"),
    ("x", "", "'x' was expected, but the element has no text"),
    ("", "", "no text to compare: an icon was expected, and the element has no text"),
]


@pytest.mark.parametrize(("expected", "actual", "reason"), REASONS)
def test_a_reason_is_a_sentence(expected: str, actual: str, reason: str) -> None:
    assert compare(expected, actual).reason == reason


def test_a_long_beginning_says_so_with_both_texts_cut() -> None:
    found = compare("A long name", "A long name of\nsomebody\x00else " + "x" * 30)

    assert found.reason == (
        "'A long name' was expected, but the element reads 'A long name of somebody else x'"
    )
    assert excerpt("a" * 31) == "a" * 30


@pytest.mark.parametrize(
    ("code_of", "sure", "cut", "allowed"),
    [
        (("Next", "NEXT"), True, False, True),
        (("Sign in", "Signin"), True, False, True),
        (("Next", "Next:"), True, False, True),
        (("1,000", "1000"), True, False, True),
        (("2026-04-03", "3 Apr 2026"), True, False, True),
        (("Pro...", "Project"), False, True, True),
        (("Inbox", "Inbox (3)"), False, True, True),
        (("A long name", "A long name 12"), False, True, True),
        (("Books", "12 Books"), False, False, True),
        (("", ""), False, False, True),
        (("ab", "abc"), False, False, False),
        (("", "x"), False, False, False),
        (("x", ""), False, False, False),
    ],
)
def test_what_a_reason_allows(
    code_of: tuple[str, str], sure: bool, cut: bool, allowed: bool
) -> None:
    found = compare(*code_of)

    assert (found.sure, found.cut, found.allowed) == (sure, cut, allowed)


ELEMENTS: list[tuple[str, tuple[str, ...], str, str, str]] = [
    ("Next", ("", "Weiter", "Next"), "", "", "equal"),
    ("Next", ("Next page now ok", "Next»"), "", "", "decoration"),
    ("Inbox", ("Inbox (3)", "Outbox"), "", "", "addition"),
    ("Next", ("Weiter",), "✕", "", "different"),
    ("cart icon", ("Cart",), "Cart", "button", "equal"),
    ("Save icon", ("Open", "Save"), "Open", "button", "equal"),
    ("save icon", ("Open",), "Open", "button", "different"),
    ("goo icon", ("goo",), "", "button", "equal"),
    ("go icon", ("go",), "", "button", "icon"),
    ("save icon", ("Speichern",), "", "button", "icon"),
    ("text field", (), "", "textbox", "icon"),
    ("text field", ("Name",), "", "textbox", "icon"),
    ("text field", ("Name",), "Name", "textbox", "different"),
    ("text field", (), "", "button", "different"),
    ("text field", (), "", "", "no_text"),
    ("trash can", ("Mail", "Delete"), "★", "button", "picture"),
    ("trash can", ("Mail", "Delete"), "Weg", "button", "different"),
    ("trash can", ("Mail",), "", "button", "different"),
    ("gear icon", (), "", "textbox", "different"),
    ("gear icon", (), "", "link", "icon"),
    ("»", (), "", "textbox", "icon"),
    ("»", ("Weiter",), "", "textbox", "icon"),
    ("", ("x",), "x", "button", "no_expected"),
    ("", (), "", "button", "icon"),
]


@pytest.mark.parametrize(("expected", "texts", "visible", "role", "code"), ELEMENTS)
def test_an_element_has_its_reason(
    expected: str, texts: tuple[str, ...], visible: str, role: str, code: str
) -> None:
    assert compare_element(expected, texts, visible=visible, role=role).code == code


def test_the_reason_of_an_element_names_what_was_compared() -> None:
    picture = compare_element("trash can", ("Mail", "Delete"), role="button")
    field = compare_element("text field", (), role="button")
    icon = compare_element("gear icon", ("Weiter",), role="textbox")

    assert picture.reason == "'trash can' is the usual picture for 'Delete'"
    assert field.reason == "no text to compare; 'text field' was expected of this button"
    assert field.verdict == "mismatch"
    assert icon.reason == "'gear icon' was expected, but the element reads ''"
    assert icon.verdict == "mismatch"


# -- forms of texts --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  A \t\n b ", "a b"),
        ("a\u200b\u202e\ue5d2\x07b", "ab"),
        ("a\x0bb", "a b"),
        ("Stra\u00dfe \ufb01", "strasse fi"),
        ("\u0663\u096a\uff15\u00b2", "3452"),
        ("\u2013 \u2019 \u201c \u2715 \u2192 \u2190 \u25b2 \u23e9", "- ' \" \u00d7 > < ^ >>"),
        ("\u0643\u0640\u064e", "\u0643"),
        ("\u2764\ufe0f", "\u2764"),
        ("x" * 500, "x" * 400),
        ("\ud83d", ""),
        ("", ""),
    ],
)
def test_texts_that_look_alike_have_one_form(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "tightened"),
    [("a b", "ab"), ("1 2", "1 2"), ("1 a 2", "1a2"), ("a 1", "a1"), ("1 2 3", "1 2 3")],
)
def test_spaces_between_digits_stay(text: str, tightened: str) -> None:
    assert without_spaces(text) == tightened


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("> next >", "next"),
        ("★ a.b ☆", "a.b"),
        ("a", "a"),
        ("-", "-"),
        ("...", "..."),
        ("", ""),
        ("(a)", "(a)"),
        ("a!", "a"),
        ("× a ×", "a"),
        ("3 a3×", "3 a3×"),
        ("×3 of tea", "×3 of tea"),
        ("of tea ×", "of tea"),
        ("!a", "a"),
    ],
)
def test_a_text_is_rid_of_what_stands_at_its_ends(text: str, bare: str) -> None:
    assert without_decoration(text) == bare


def test_arrows_are_read_in_their_order() -> None:
    assert directions("< a ^ b >>") == "<^>>"
    assert directions("a - b") == ""


@pytest.mark.parametrize(
    ("text", "at", "border"),
    [
        *(("ab", 0, True), ("ab", 2, True), ("ab", 3, True), ("ab", -1, True), ("ab", 1, False)),
        *(("a b", 1, True), ("a b", 2, True), ("a-b", 1, True), ("a.b", 1, False)),
        *(("a_b", 2, False), ("4,5", 1, False), ("don't", 3, False), ("e\u0301a", 1, False)),
        *(("a页", 1, True), ("页a", 1, True), ("页面", 1, False), ("a。", 1, True)),
    ],
)
def test_a_word_ends_where_it_ends(text: str, at: int, border: bool) -> None:
    assert is_border(text, at) is border


@pytest.mark.parametrize(
    ("char", "wide"), [("页", True), ("Ａ", True), ("a", False), ("。", False), ("é", False)]
)
def test_a_script_without_spaces_is_wide(char: str, wide: bool) -> None:
    assert is_wide(char) is wide


# -- choices ---------------------------------------------------------------------------


def mark(number: int, text: str, **more: Any) -> Mark:
    fields: dict[str, Any] = {
        "tag": "button",
        "role": "button",
        "name": text,
        "box": PageBox(number, 0, 50, 20),
        "texts": (text,) if text else (),
    }
    return Mark(**{"number": number, "text": text, **fields, **more})


def page(*texts: str) -> list[Mark]:
    return [mark(number, text) for number, text in enumerate(texts, 1)]


def test_words_for_icons_are_left_out_where_they_are_words() -> None:
    assert compare_element("Silicon icon", ["Silicon"]).verdict == "match"
    assert compare_element("购物车图标", ["购物车"]).verdict == "match"


def test_the_name_of_an_element_counts_as_one_of_its_texts() -> None:
    assert compare_mark("Search", mark(1, "", name="Search")).code == "equal"


def test_a_label_in_the_place_of_its_box_may_show_a_picture() -> None:
    assert compare_mark("gear icon", mark(1, "", tag="label", role="checkbox")).code == "icon"
    assert compare_mark("gear icon", mark(1, "", tag="input", role="checkbox")).code == "different"
    assert compare_mark("text field", mark(1, "", tag="label", role="textbox")).code == "icon"


@pytest.mark.parametrize(
    ("fields", "visible"),
    [
        ({}, "Go"),
        ({"texts": ("Go", "Title")}, "Go"),
        ({"attributes": {"title": "Go"}}, ""),
        ({"attributes": {"aria-label": "Go"}}, ""),
        ({"attributes": {"alt": "Go"}}, ""),
        ({"attributes": {"placeholder": "Go"}}, "Go"),
        ({"texts": ()}, ""),
        ({"unseen": True}, ""),
        ({"painted": ("🗑", "Go")}, "🗑"),
        ({"painted": ()}, ""),
        ({"painted": ("Go",), "unseen": True}, ""),
    ],
)
def test_what_a_picture_shows_of_an_element(fields: dict[str, Any], visible: str) -> None:
    assert visible_text(mark(1, "Go", **fields)) == visible


def recorded(choice: Choice, marks: Sequence[Mark]) -> dict[str, Any]:
    return resolve(choice, marks).chosen.model_dump(exclude_defaults=True)


def test_a_choice_that_fits_is_recorded_with_its_element() -> None:
    assert recorded(Choice(2, "Next"), page("Back", "Next")) == {
        "mark": 2,
        "expected_text": "Next",
        "actual_text": "Next",
        "verdict": "match",
        "reason": "'Next' is 'Next'",
        "matched": "text",
        "kind": "button",
        "box": (2, 0, 50, 20),
    }


def test_a_text_that_another_mark_has_is_recorded_with_both() -> None:
    assert recorded(Choice(1, "Next"), page("Back", "Next")) == {
        "mark": 1,
        "taken": 2,
        "expected_text": "Next",
        "actual_text": "Back",
        "verdict": "mismatch",
        "reason": ("'Next' was expected, but the element reads 'Back'; mark 2 alone reads 'Next'"),
        "matched": "text",
        "kind": "button",
        "box": (2, 0, 50, 20),
    }


@pytest.mark.parametrize(
    ("number", "reason"), [(9, "there is no such mark"), (None, "no mark was named")]
)
def test_a_number_that_is_not_there_is_recorded(number: int | None, reason: str) -> None:
    assert recorded(Choice(number, "Buy"), page("Back")) == {
        "mark": number,
        "expected_text": "Buy",
        "verdict": "mismatch",
        "reason": reason,
    }


def test_a_match_says_whether_the_text_is_painted_or_only_the_name() -> None:
    bin_ = mark(1, "🗑", name="Delete", painted=("🗑",))
    seen = mark(2, "Delete", name="Delete all", painted=("Delete",))
    field = mark(3, "City", name="City", tag="input", role="textbox", painted=("City",))

    assert [compare_mark("Delete", bin_).matched, compare_mark("🗑", bin_).matched] == [
        *("name", "text"),
    ]
    assert compare_mark("Delete", bin_).reason == (
        "'Delete' is 'Delete', which is its name and not shown"
    )
    assert [compare_mark("Delete", seen).matched, compare_mark("Delete all", seen).matched] == [
        *("text", "name"),
    ]
    assert compare_mark("City", field).matched == "text"
    # The label of a field is painted beside it; any other name is not.
    unpainted = {"texts": (), "name": "City"}
    labels = [mark(1, "", tag=tag, **unpainted) for tag in ("input", "select", "div")]
    assert [compare_mark("City", each).matched for each in labels] == ["text", "text", "name"]
    assert compare_mark("Next", mark(1, "Next", unseen=True)).matched == "name"
    named = resolve(Choice(1, "Delete"), [mark(1, "x"), replace(bin_, number=2)]).chosen
    assert (named.matched, named.reason.partition("; ")[2]) == (
        *("name", "mark 2 alone is named 'Delete'"),
    )


def test_an_equal_text_wins_over_a_part_and_over_a_sign_for_it() -> None:
    assert resolve(Choice(1, "Books"), page("12 Books", "Books")).chosen.taken == 2
    assert resolve(Choice(1, "Delete"), page("Delete (3)", "Delete")).chosen.taken == 2
    assert resolve(Choice(1, "x"), page("✕", "x")).chosen.taken == 2
    assert resolve(Choice(1, "Delete"), page("Delete all", "Home")).mark is None


def test_a_text_that_several_have_is_recorded_with_their_number() -> None:
    found = resolve(Choice(1, "Buy"), page("Back", "Buy", "Home", "Buy"))

    assert (found.mark, found.candidates) == (None, (2, 4))
    assert found.chosen.reason.endswith("reads 'Back'; 2 marks may be meant")


def test_a_cut_text_that_several_have_is_recorded_with_what_was_chosen() -> None:
    found = resolve(Choice(1, "Add to cart"), page("Home", "Add to cart $5", "Add to cart $6"))

    assert (found.status, found.candidates) == ("text_prefix_ambiguous", (2, 3))
    assert (found.chosen.actual_text, found.chosen.kind) == ("Home", "button")
    assert found.chosen.reason.endswith("reads 'Home'; 2 marks may be meant")


def test_a_number_with_two_texts_is_recorded_with_its_element() -> None:
    found, _ = resolve_all([Choice(1, "Back"), Choice(1, "Next")], [mark(1, "Back", role="")])

    assert (found.status, found.mark) == ("chosen_twice", None)
    assert found.chosen.model_dump(exclude_defaults=True) == {
        "mark": 1,
        "expected_text": "Back",
        "actual_text": "Back",
        "verdict": "mismatch",
        "reason": "mark 1 was chosen for several texts",
        "kind": "button",
        "box": (1, 0, 50, 20),
    }


def test_choices_without_a_number_do_not_count_as_the_same() -> None:
    found = resolve_all([Choice(None, "Back"), Choice(None, "Next")], page("Back", "Next"))

    assert [each.status for each in found] == ["text_unique", "text_unique"]


RESOLVED = [
    # A rough fit is taken when no other fits as well.
    (Choice(1, "Inbox"), ("Inbox (3)", "Home"), "number_match", 1, ()),
    (Choice(1, "Inbox"), ("Inbox (3)", "Inbox (4)"), "text_prefix_ambiguous", None, (1, 2)),
    (Choice(2, "Inbox"), ("Inbox (3)", "12 Inbox"), "text_prefix_ambiguous", None, (1, 2)),
    (Choice(2, "Books"), ("7 Books", "Books (1)"), "number_match", 2, ()),
    (Choice(1, "Books"), ("Books (1)", "Books"), "text_unique", 2, ()),
    # A cut text of another mark is taken in place of one that surely differs.
    (Choice(1, "Inbox"), ("Home", "Inbox (3)"), "text_prefix_unique", 2, ()),
    (Choice(9, "Inbox"), ("Home", "Inbox (3)"), "text_prefix_unique", 2, ()),
    (Choice(1, "Inbox"), ("", "Inbox (3)"), "text_not_found", None, ()),
    (Choice(1, "Inbox"), ("Home", "Inbox (3)", "Inbox (4)"), "text_prefix_ambiguous", None, (2, 3)),
    (Choice(9, "Inbox"), ("Inbox (3)", "Inbox (4)"), "text_prefix_ambiguous", None, (1, 2)),
    (Choice(1, "Books"), ("Home", "7 Books"), "text_not_found", None, ()),
    (Choice(1, "Buy"), ("Home", "Inbox (3)"), "text_not_found", None, ()),
    (Choice(None, "Buy"), ("Home",), "no_such_mark", None, ()),
    (Choice(1, ""), ("Home", "Inbox"), "no_expected_text", None, ()),
    (Choice(1, "gear icon"), ("", "Inbox"), "number_only", 1, ()),
]


@pytest.mark.parametrize(("choice", "texts", "status", "taken", "candidates"), RESOLVED)
def test_a_choice_that_fits_roughly_is_resolved(
    choice: Choice,
    texts: tuple[str, ...],
    status: str,
    taken: int | None,
    candidates: tuple[int, ...],
) -> None:
    found = resolve(choice, page(*texts))

    assert (found.status, found.mark and found.mark.number, found.candidates) == (
        status,
        taken,
        candidates,
    )


def fields(*kinds: str) -> list[Mark]:
    """Fields without any name, by their types."""
    return [
        mark(number, "", tag="input", role="textbox", attributes={"type": kind} if kind else {})
        for number, kind in enumerate(kinds, 1)
    ]


@pytest.mark.parametrize(
    ("expected", "kinds", "taken"),
    [
        ("password field", ("", "password"), {2}),
        ("Passwort-Eingabefeld", ("email", "password"), {2}),
        ("密码输入框", ("text", "password"), {2}),
        ("email input", ("email", "password", ""), {1}),
        ("password field", ("", "text"), {1, 2}),
        ("text field", ("", "password"), {1, 2}),
    ],
)
def test_the_kind_of_a_nameless_field_counts_where_a_field_is_of_that_kind(
    expected: str, kinds: tuple[str, ...], taken: set[int]
) -> None:
    page = fields(*kinds)
    found = {n: resolve(Choice(n, expected), page) for n in range(1, len(kinds) + 1)}

    assert {n for n, one in found.items() if one.status == "number_only"} == taken
    assert {n for n, one in found.items() if one.status == "text_not_found"} == found.keys() - taken
