"""The matcher: the same text in another dress matches, another text never does."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.agents.choice.expected_text import compare, compare_element, fold

# Expected, actual, verdict; the first eleven are the table of row 1.8 of the seed's specification.
PAIRS = [
    ("下一页", "下一页", "match"),
    ("下一页", "上一页", "mismatch"),
    ("下一页", "", "unverifiable"),
    ("第1页", "1", "mismatch"),
    ("", "登录", "unverifiable"),
    ("图标", "", "unverifiable"),
    ("Read more about pricing plans", "Read", "mismatch"),
    ("OK", "Book now", "mismatch"),
    ("1", "12", "mismatch"),
    ("提 升", "提升", "match"),
    ("项目A...", "项目A的详细公告", "match"),
    ("STRASSE", "Straße", "match"),
    ("Speichern", "Nicht speichern", "mismatch"),
    ("Größe ändern", "GRÖSSE ÄNDERN", "match"),
    ("تسجيل الدخول", "\u202bتسجيل الدُخول\u202c", "match"),
    ("تسجيل الدخول", "تسجيل الخروج", "mismatch"),
    ("الصفحة ٢", "الصفحة 2", "match"),
    ("ログイン", "ﾛｸﾞｲﾝ", "match"),
    ("次へ", "前へ", "mismatch"),
    ("加入购物车", "购物车", "mismatch"),
    ("登录", "登录账号", "mismatch"),
    ("Ｎｅｘｔ１２", "next12", "match"),
    ("Next", "Next »", "match"),
    ("Page →", "Page ←", "mismatch"),
    ("›", "»", "mismatch"),
    ("×", "✕", "match"),
    ("🛒 Cart", "Cart", "match"),
    ("\ue5d2 Menu", "Menu", "match"),
    ("Inbox", "Inbox (3)", "match"),
    ("消息", "消息 (3)", "match"),
    ("待办（12）", "待办", "match"),
    ("消息 (3)", "消息 (4)", "mismatch"),
    ("消息", "消息 (全部)", "mismatch"),
    ("登录", "2. 登录", "match"),
    ("OK", "OK (3)", "mismatch"),
    ("+ Add", "Add", "match"),
    ("新增", "＋新增", "match"),
    ("Add +", "Add", "match"),
    ("C++", "C", "mismatch"),
    ("+", "Add", "mismatch"),
    ("Report (2023)", "Report (2024)", "mismatch"),
    ("Quarterly report (2023)", "Quarterly report (2024)", "mismatch"),
    ("Delete item 3", "Delete item", "mismatch"),
    ("Chapter 1", "Chapter 12", "mismatch"),
    ("Item 1 2", "Item 12", "mismatch"),
    ("Download", "Downloads", "mismatch"),
    ("Save", "Don't save", "mismatch"),
    ("Subscribe", "Unsubscribe", "mismatch"),
    ("C++", "C#", "mismatch"),
    ("1. Storm over Bergen", "Storm over Bergen", "match"),
    ("Accept cookies", "Do not accept cookies", "mismatch"),
    ("+1", "-1", "mismatch"),
    ("+1", "1", "mismatch"),
    ("Add to cart", "Add to cart $5.99", "match"),
    ("A long title that was cut in the pic", "A long title that was cut in the picture", "match"),
    ("1,234.50", "1.234,50", "match"),
    ("1.5", "15", "mismatch"),
    ("2026-03-05", "5. März 2026", "match"),
    ("2026年3月5日", "March 5, 2026", "match"),
    ("03/04/2026", "04/03/2026", "mismatch"),
    ("", "", "unverifiable"),
    ("\u200b\u200e", "Next", "unverifiable"),
]


@pytest.mark.parametrize(("expected", "actual", "verdict"), PAIRS)
def test_the_verdict_on_a_pair_of_texts(expected: str, actual: str, verdict: str) -> None:
    found = compare(expected, actual)

    icon = (expected, actual) in {("图标", ""), ("", "")}
    assert (found.verdict, found.allowed) == (verdict, verdict == "match" or icon)


def test_a_reason_quotes_both_texts_in_one_short_line() -> None:
    reason = compare("Next", "Buy\nnow\x1b[31m " + "!" * 300).reason

    assert "'Next'" in reason
    assert "'Buy now" in reason
    assert reason.isprintable()
    assert len(reason) < 120


# Texts, label, what the picture shows, role; then verdict and whether it may be acted on.
ELEMENTS = [
    ("Search", ("", "Search"), "", "textbox", ("match", True)),
    ("cart icon", ("Cart",), "", "button", ("match", True)),
    ("gear icon", (), "", "button", ("unverifiable", True)),
    ("gear icon", ("Delete",), "Delete", "button", ("mismatch", False)),
    ("text field", (), "", "textbox", ("unverifiable", True)),
    ("text field", (), "", "button", ("mismatch", False)),
    ("复选框", (), "", "checkbox", ("unverifiable", True)),
    ("icon", (), "", "checkbox", ("mismatch", False)),
    ("arrow icon", (), "", "textbox", ("mismatch", False)),
    ("icon", ("Shopping cart",), "", "button", ("unverifiable", True)),
    ("trash can", ("Delete message",), "", "button", ("match", True)),
    ("放大镜图标", ("搜索",), "", "button", ("match", True)),
    ("trash can", ("Edit message",), "", "button", ("mismatch", False)),
    ("trash can", ("Delete message",), "Delete message", "button", ("mismatch", False)),
    ("Next", ("Weiter", "Next"), "Weiter", "link", ("match", True)),
    ("Next", (), "", "link", ("unverifiable", False)),
    ("", ("Next",), "Next", "link", ("unverifiable", False)),
]


@pytest.mark.parametrize(("expected", "texts", "visible", "role", "found"), ELEMENTS)
def test_the_verdict_on_an_element(
    expected: str, texts: tuple[str, ...], visible: str, role: str, found: tuple[str, bool]
) -> None:
    comparison = compare_element(expected, texts, visible=visible, role=role)

    assert (comparison.verdict, comparison.allowed) == found


WILD = st.text(max_size=40)
LETTERS = st.text(
    st.characters(categories=("Lu", "Ll", "Lo", "Nd"), max_codepoint=0xFFFF),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(WILD)
def test_every_text_matches_itself_unless_there_is_nothing_to_see(text: str) -> None:
    assert compare(text, text).verdict == ("match" if fold(text) else "unverifiable")


@settings(deadline=None)
@given(WILD, WILD)
def test_what_is_surely_the_same_is_so_both_ways(first: str, second: str) -> None:
    assert compare(first, second).sure == compare(second, first).sure


@settings(deadline=None)
@given(LETTERS)
def test_case_width_and_invisible_marks_make_no_difference(text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    marked = "\u200f\u200b".join(text) + "\u2060"

    for dressed in (
        text.casefold(),
        wide,
        marked,
        f"  {text}\u00a0",
        unicodedata.normalize("NFD", text),
    ):
        assert compare(text, dressed).verdict == "match", dressed


@settings(deadline=None)
@given(LETTERS, LETTERS)
def test_texts_without_a_common_character_never_match(first: str, second: str) -> None:
    if not set(fold(first)) & set(fold(second)):
        assert compare(first, second).verdict != "match"


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_match_only_the_same_number_in_any_digits(first: int, second: int) -> None:
    arabic = str(second).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))

    assert (compare(str(first), arabic).verdict == "match") == (first == second)
    assert (compare(f"Row {first}", f"Row {second}").verdict == "match") == (first == second)
