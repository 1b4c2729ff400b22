"""A text that is a part of an element's: with the number it is that element, never another one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.act.memory import ActMemory, Fingerprint
from pytest_autoweb.agents.choice.disambiguate import resolve_apart
from pytest_autoweb.agents.choice.expected_text import excerpts, fold
from pytest_autoweb.agents.choice.feedback import Feedback, problem_of, section
from pytest_autoweb.agents.choice.partial_text import PartPlace, TextPart, is_within, part_of
from pytest_autoweb.agents.choice.verify_choice import Choice, resolve, resolve_all
from pytest_autoweb.browser.marks.marking import Mark, PageBox

BADGES = "\ntype documentation · frontend · v4.0 - Platform Redesign · Mar 16 · weight 5\nAna"


def mark(number: int, text: str, **more: Any) -> Mark:
    lines = tuple(text.split("\n"))
    plain = " ".join(text.split())
    fields: dict[str, Any] = {
        "tag": "div",
        "role": "button",
        "name": plain,
        "box": PageBox(10, 40 * number, 300, 30),
        "texts": (plain,) if plain else (),
        "lines": lines if len(lines) > 1 else (),
    }
    return Mark(**{"number": number, "text": plain, **fields, **more})


def page(*texts: str) -> list[Mark]:
    return [mark(number, text) for number, text in enumerate(texts, 1)]


# The chosen number is 1. Texts of the page, expected text; status, mark acted on, candidates.
PARTS: list[tuple[tuple[str, ...], str, str, int | None, tuple[int, ...]]] = [
    (("项目2-3 招标公告", "项目2-4 招标公告"), "项目2-3", "number_part", 1, ()),
    (("登录 / 注册", "首页"), "登录", "number_part", 1, ()),
    (("Sign in with Google", "Home"), "Sign in…", "number_part", 1, ()),
    (("Sign in with Google", "Sign in with Apple"), "Sign in", "part_ambiguous", None, ()),
    (("Report, PDF", "x"), "Report", "number_part", 1, ()),
    (("تسجيل الدخول", "x"), "تسجيل", "number_part", 1, ()),
    (("ข่าววันนี้ล่าสุด", "x"), "ข่าววันนี้", "number_part", 1, ()),
    ((f"Update README{BADGES}", f"Write tests{BADGES}"), "Update README", "number_part", 1, ()),
    ((f"7\nAnn Abel{BADGES}", f"8\nBo Brook{BADGES}"), "Ann Abel", "number_part", 1, ()),
    # A line says more than a beginning does, and a whole text elsewhere as much as a line.
    (("Settings\nfor you", "Settings and more"), "Settings", "number_part", 1, ()),
    (("Settings\nfor you", "Settings"), "Settings", "text_ambiguous", None, (1, 2)),
    (("Save as template", "Save"), "Save", "text_unique", 2, ()),
    # What can hardly be undone, or may mean the opposite, is confirmed.
    (("Delete all", "x"), "Delete", "number_part", None, (1,)),
    (("删除全部", "x"), "删除", "number_part", None, (1,)),
    (("Sign in and pay", "x"), "Sign in", "number_part", None, (1,)),
    (("Don't save", "x"), "Save", "number_part", None, (1,)),
    (("不保存", "x"), "保存", "number_part", None, (1,)),
    # One or two characters are a part as a line or a beginning, as of a title or a day.
    (("OK, go on", "x"), "OK", "number_part", 1, ()),
    (("R\nstatistics", "Rust\nsystems"), "R", "number_part", 1, ()),
    (("7\n2 events", "17\nno events"), "7", "number_part", 1, ()),
    (("是，继续", "否"), "是", "number_part", 1, ()),
    (("+ New", "x"), "+", "number_part", 1, ()),
    (("1 Ann", "1 Bo"), "1", "part_ambiguous", None, ()),
    (("No, delete it", "x"), "No", "number_part", None, (1,)),
    (("Plan B now", "x"), "B", "text_not_found", None, ()),
    # A word for the kind beside a part of the text.
    (("Sign in with Google", "Home"), "Sign in button", "number_part", 1, ()),
    # Parts of words and other numbers are no parts.
    (("Unsubscribe", "x"), "Subscribe", "text_not_found", None, ()),
    (("Room 12", "x"), "Room 1", "text_not_found", None, ()),
    (("4.55 EUR", "x"), "4.5", "text_not_found", None, ()),
    (("See a.report now", "x"), "report", "text_not_found", None, ()),
    (("See 'report' now", "x"), "report", "number_part", 1, ()),
    (("ภาษาEnglish today", "x"), "English", "text_not_found", None, ()),
    (("todayภาษา now", "x"), "ภาษา", "text_not_found", None, ()),
    # Decoration around a line is no part of it.
    (("• Tea\n5 EUR", "Tea leaves"), "Tea", "number_part", 1, ()),
]


@pytest.mark.parametrize(("texts", "expected", "status", "taken", "candidates"), PARTS)
def test_a_number_whose_text_holds_the_expected_one(
    texts: tuple[str, ...],
    expected: str,
    status: str,
    taken: int | None,
    candidates: tuple[int, ...],
) -> None:
    found = resolve(Choice(1, expected), page(*texts))

    assert (found.status, found.mark and found.mark.number, found.candidates) == (
        status,
        taken,
        candidates,
    )
    if status in ("number_part", "part_ambiguous"):
        assert found.chosen.verdict in ("match", "incomplete")


@pytest.mark.parametrize(
    ("expected", "text", "place", "rest"),
    [
        ("Sign in", "Sign in with Google", PartPlace.BEGINNING, "with google"),
        ("Sign in", "Go to Sign in now", PartPlace.WORDS, "go to   now"),
        ("Save", "Save\nnever delete it", PartPlace.LINE, ""),
        # The rest is that of the line which holds the part.
        ("shop", "Row one\nopen the shop now\nlast", PartPlace.WORDS, "open the   now"),
        # A sign at the end of a word is none of the word, but one within it is.
        ("Report", "see _Report here", PartPlace.WORDS, "see _  here"),
        ("Save", "go 'Save' now", PartPlace.WORDS, "go ' ' now"),
        ("y Save", "x.y Save", None, ""),
        ("x", "x_y Save", None, ""),
        ("55", "4.55 EUR", None, ""),
        # A vowel sign belongs to its letter.
        ("ข่าววันน", "ข่าววันนี้ล่าสุด", None, ""),
        ("ข่าววันนี้", "ข่าววันนี้ล่าสุด", PartPlace.BEGINNING, "ล่าสุด"),
    ],
)
def test_a_part_is_whole_words_and_has_a_place_and_a_rest(
    expected: str, text: str, place: PartPlace | None, rest: str
) -> None:
    part = part_of(expected, mark(1, text))

    assert (part and part.place) == place
    assert part is None or part.rest.strip() == rest


def test_a_part_of_a_name_that_is_not_shown_says_so() -> None:
    shown = mark(1, "Sign in with Google")
    named = mark(1, "", name="Sign in with Google", texts=())

    assert resolve(Choice(1, "Sign in"), [shown]).chosen.matched == "text"
    found = resolve(Choice(1, "Sign in"), [named]).chosen
    assert (found.matched, found.reason.endswith("which is its name and not shown")) == (
        "name",
        True,
    )


def test_a_cut_text_that_no_other_mark_has_is_taken_as_compared() -> None:
    found = resolve(Choice(1, "Quarterly rep…"), page("Quarterly report", "Other"))

    assert (found.status, found.chosen.verdict, found.chosen.matched) == (
        "number_match",
        "match",
        "text",
    )


@pytest.mark.parametrize(
    ("place", "part", "verdict", "code"),
    [
        (PartPlace.LINE, "Save", "match", "line"),
        (PartPlace.BEGINNING, "12345678", "match", "beginning"),
        (PartPlace.BEGINNING, "1234567", "incomplete", "beginning"),
        (PartPlace.BEGINNING, "项目公告", "match", "beginning"),
        (PartPlace.WORDS, "12345678", "incomplete", "words"),
    ],
)
def test_a_line_or_a_long_beginning_is_as_good_as_the_whole_text(
    place: PartPlace, part: str, verdict: str, code: str
) -> None:
    found = TextPart(place, part, f"{part} and more", "").compared(part)

    assert (found.verdict, found.code) == (verdict, code)


@pytest.mark.parametrize(
    ("box", "within"),
    [
        (PageBox(9, 39, 302, 32), True),
        (PageBox(8, 39, 302, 32), False),
        (PageBox(9, 38, 302, 32), False),
        (PageBox(9, 39, 303, 32), False),
        (PageBox(9, 39, 302, 33), False),
        (PageBox(10, 40, 300, 30), False),
    ],
)
def test_a_mark_within_another_may_stick_out_by_a_pixel(box: PageBox, within: bool) -> None:
    outer = mark(1, "row", box=PageBox(10, 40, 300, 30))

    assert is_within(mark(2, "button", box=box), outer) is within


def test_cards_with_the_same_title_are_all_candidates() -> None:
    found = resolve(Choice(1, "Ann"), page("Ann\nnurse", "Bo\nclerk", "Ann\ndoctor"))

    assert (found.status, found.mark, found.candidates) == ("text_ambiguous", None, (1, 3))


def test_what_lies_around_the_element_does_not_hold_the_text_as_well() -> None:
    rows = page(f"Update README{BADGES}", f"Write tests{BADGES}")
    everything = "\n".join("\n".join(row.lines) for row in rows)
    around = mark(3, everything, box=PageBox(0, 0, 400, 400))

    assert resolve(Choice(2, "Write tests"), [*rows, around]).mark == rows[1]
    # The part of the page that holds all rows is none of them.
    assert resolve(Choice(3, "Write tests"), [*rows, around]).mark is None


SEARCH = mark(
    9,
    "Search...",
    tag="input",
    role="textbox",
    attributes={"placeholder": "Search..."},
    near=("Update README", "Write tests", "Comment"),
)


def test_a_field_is_taken_for_the_text_beside_it_only_by_actions_on_fields() -> None:
    marks = [*page(f"Update README{BADGES}", "Other"), SEARCH]

    assert resolve_apart(Choice(1, "Update README"), marks).mark == marks[0]
    for number in (2, 77):
        assert resolve_apart(Choice(number, "Comment"), marks, into_field=False).mark is None
        assert resolve_apart(Choice(number, "Comment"), marks).mark == SEARCH
    assert resolve_apart(Choice(9, "Comment"), marks, into_field=False).mark == SEARCH
    # A place among the fields is no text beside one.
    assert resolve_apart(Choice(77, "1 of 1"), marks, into_field=False).mark == SEARCH


CUT = [
    ("Create the API reference documenta", True),
    ("Create the API reference documentation", True),
    ("Create the API refe", False),
    ("Invoice of the customer No. 1", False),
    ("Invoice of the customer No. 12", True),
]


@pytest.mark.parametrize(("expected", "taken"), CUT)
def test_a_long_beginning_cut_within_a_word_confirms_its_number(expected: str, taken: bool) -> None:
    rows = page(
        f"Create the API reference documentation for version 4{BADGES}",
        f"Invoice of the customer No. 12{BADGES}",
        "Update README",
    )
    number = 1 if expected.startswith("Create") else 2

    found = resolve_apart(Choice(number, expected), [*rows, SEARCH], into_field=False)

    assert (found.mark == rows[number - 1]) is taken
    if taken:
        assert found.chosen.verdict == "match"


WORD = st.text(st.sampled_from("abcdefgh项目公告あい"), min_size=3, max_size=8)
TITLE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@given(st.lists(TITLE, min_size=2, max_size=5, unique_by=fold), st.data())
def test_a_right_number_with_the_title_of_its_row_never_becomes_another_row(
    titles: list[str], data: st.DataObject
) -> None:
    marks = [*page(*(f"{title}{BADGES}" for title in titles)), SEARCH]
    meant = data.draw(st.sampled_from(marks[:-1]))

    found = resolve_apart(Choice(meant.number, meant.lines[0]), marks, page_text="")

    assert found.mark == meant


@given(st.text(max_size=90), st.text(max_size=90), st.text(max_size=90))
def test_two_texts_are_never_cut_to_the_same(start: str, first: str, second: str) -> None:
    one, other = start + first, start + second
    shown = excerpts(one, other)

    plain = [
        " ".join("".join(c if c.isprintable() else " " for c in t).split()) for t in (one, other)
    ]
    assert all(len(text) <= 30 for text in shown)
    if fold(plain[0]) != fold(plain[1]) and max(map(len, plain)) < 200:
        assert shown[0] != shown[1]


def test_what_follows_dots_in_a_text_is_left_out() -> None:
    part = part_of("Quarterly report... and more", mark(1, "Quarterly report 2024 of the shop"))

    assert part is not None
    assert (part.place, part.part) == (PartPlace.BEGINNING, "quarterly report")


ICONS = [
    mark(1, "", role="button", name="Settings", unseen=True),
    mark(2, "", role="button", name="Show search options", unseen=True),
    mark(3, "", role="button", name="Delete message", unseen=True),
    mark(4, "", role="button", name="Remove filter", unseen=True),
]


def test_the_number_says_which_icon_unless_it_can_hardly_be_undone() -> None:
    for number in (1, 2):
        found = resolve_apart(Choice(number, "settings gear icon"), ICONS)
        assert found.mark == ICONS[number - 1]
        assert resolve_apart(Choice(number, "button"), ICONS).mark == ICONS[number - 1]
        # What is near none of the icons speaks against none of them.
        assert resolve_apart(Choice(number, "gear icon", "top right"), ICONS).mark == found.mark
    assert resolve_apart(Choice(3, "trash can"), ICONS).candidates == (3, 4)
    assert resolve_apart(Choice(3, "button"), ICONS).candidates == (1, 2, 3, 4)


KINDS = [
    *[("textbox", "password", text) for text in ("password", "password box", "Passwort-Feld")],
    *[("textbox", "password", text) for text in ("密码框", "password text box", "text-box")],
    *[("textbox", "email", text) for text in ("email", "e-mail field", "email address field")],
    *[("searchbox", "search", text) for text in ("search box", "search bar", "search")],
    ("textbox", "date", "date picker"),
    *[("checkbox", "checkbox", text) for text in ("check box", "tick box", "empty checkbox")],
    *[("switch", "", text) for text in ("switch", "toggle switch", "toggle")],
    *[(role, "", "toggle button") for role in ("switch", "checkbox", "button")],
    ("combobox", "", "dropdown menu"),
    ("button", "", "link"),
    ("link", "", "button"),
    ("", "file", "Choose file"),
]


@pytest.mark.parametrize(("role", "kind", "expected"), KINDS)
def test_a_word_for_a_kind_never_contradicts_a_name_that_nobody_sees(
    role: str, kind: str, expected: str
) -> None:
    unseen = mark(
        1,
        "Blue moon",
        tag="input" if kind else "button",
        role=role,
        attributes={"type": kind},
        painted=(),
        unseen=True,
    )

    found = resolve_apart(Choice(1, expected), [unseen, mark(2, "Other")])

    assert found.mark == unseen or found.status == "kind_only"


@pytest.mark.parametrize(
    ("role", "kind", "expected"),
    [("textbox", "text", "password"), ("checkbox", "checkbox", "text box"), ("textbox", "", "no")],
)
def test_a_word_for_another_kind_still_contradicts(role: str, kind: str, expected: str) -> None:
    unseen = mark(1, "Blue moon", tag="input", role=role, attributes={"type": kind}, painted=())

    assert resolve_apart(Choice(1, expected), [unseen, mark(2, "Other")]).status == "text_not_found"


def test_a_wide_button_may_be_drawn_as_a_field_and_an_icon_may_not() -> None:
    for width, taken in ((300, True), (24, False)):
        box = PageBox(0, 0, width, 24)
        opens = mark(1, "Search or jump to", painted=(), unseen=True, box=box)
        found = resolve_apart(Choice(1, "search field"), [opens, mark(2, "Other")])

        assert (found.mark == opens) is taken


def test_the_same_number_with_the_whole_text_is_another_decision() -> None:
    memory = ActMemory(Feedback())
    start = "Create the API reference documentation for"

    def add(text: str) -> str:
        return memory.loops.add(Fingerprint.of("click", "http://x/", 5, text, "page"))

    assert [add(start), add(start), add(f"{start} the REST endpoints")] == [""] * 3


def test_a_refused_number_is_forbidden_for_one_decision_only() -> None:
    memory = ActMemory(Feedback())
    memory.refused = ("page", "click", 5)
    memory.note_tried("page", "click", 6)

    assert memory.banned("page") == {("click", 5), ("click", 6)}
    assert memory.banned("other") == frozenset()
    memory.refused = None
    assert memory.banned("page") == {("click", 6)}


@pytest.mark.parametrize("english", [True, False])
def test_several_reasons_are_told_with_a_correction_each(english: bool) -> None:
    marks = page("Open Monday", "Open Tuesday", "Help", "Next")
    chosen = [
        *(Choice(1, "Open"), Choice(3, "Nothing"), Choice(44, "x y z"), Choice(4, "Next")),
        *(Choice(2, "a"), Choice(2, "b")),
    ]
    found = resolve_all(chosen, marks)
    refused = [
        problem_of(one, marks, phase="explore", step=1, english=english, used=1, of=6)
        for one in found
        if one.mark is None
    ]
    feedback = Feedback()
    for one in refused:
        feedback.add(one)

    told = section(refused)

    assert "1 of 6 was used; these were not." in told
    assert "Nothing was done" not in told
    assert "copy its whole text, 'Open Monday'" in told
    assert "there is no 44; the numbers go from 1 to 4" in told
    assert "[2]" in told
    assert told.count("was chosen for several texts") == 2
    assert [one.contradicted for one in refused] == [False, True, False, False, False]
    assert feedback.per_kind() == {"button": 1}
    assert told.isascii() == english


def test_texts_that_begin_alike_are_told_by_where_they_differ() -> None:
    start = "Create the API reference documentation"
    marks = page(f"{start} (draft)", "x")
    found = resolve(Choice(1, f"{start} of the second platform"), marks)

    line = problem_of(found, marks, phase="act", step=1, english=True).line

    assert "of the seco" in line
    assert "(draft)" in line
