"""What checks say to people: the nearest text instead of a page's head, and no internals."""

import re
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_up_page import Page, one

from pytest_autoweb.judging.checks.answer_checks import AnswerCheck
from pytest_autoweb.judging.checks.check_type import CHECKS, Check, Evidence
from pytest_autoweb.judging.checks.compared_values import difference, is_subset
from pytest_autoweb.judging.checks.page_checks import TextCheck
from pytest_autoweb.judging.checks.shown_passage import shown_near
from pytest_autoweb.judging.evidence.requests_log import WireEntry
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

FILLER = "\n".join(f"Row {number} of the list of teas" for number in range(500))
INTERNAL = re.compile(r"\b[A-Za-z_]+\(\w+=|json_subset|json_schema|one_of|'weight'|<pytest")
TYPED = {
    "equals": {"due": "2026-04-03", "total": 8.5},
    "type": {"due": "date", "total": {"type": "money", "locale": "de_DE", "currency": "EUR"}},
}
CASES: list[dict[str, Any]] = [
    {"answer": TYPED},
    {"answer": {"equals": 8.5, "type": "money", "currency": "EUR", "locale": "de_DE"}},
    {"answer": {"contains": "x", "type": "text"}},
    {"answer": {"matches": "a+"}},
    {"answer": {"schema": {"type": "object", "required": ["a"]}}},
    {"answer": {"records": {"where": {"a": {"in": [1], "type": "number"}, "b": {"min": 1}}}}},
    {"answer": {"urls": {"want": ["/a"], "min_recall": 0.5}}},
    {"text": {"matches": "a+"}},
    {"text": "lost"},
    {"element": {"role": "button", "name": {"matches": "S"}, "count": 1}},
    {"element": {"css": "a", "name": {"matches": "S"}}},
    {"request": {"url": "**", "json": {"a": 1}, "reply": {"json": {"b": 1}, "contains": "c"}}},
    {"request": {"url": {"matches": "x"}, "method": "PUT", "body": "d", "count": 2}},
    {"download": {"name": {"matches": "a"}, "contains": "b", "count": 1}},
    {"http": {"url": "http://127.0.0.1:9/", "json": {"a": 1}, "redirects": "no"}},
    {"sql": {"url": "sqlite:///nowhere.db", "query": "select 1", "rows": [[1]]}},
    {"file": {"path": "nowhere.txt", "contains": "a"}},
]


def check_of(entry: dict[str, Any]) -> Check:
    kind = next(key for key in entry if key in CHECKS)
    return CHECKS[kind].model_validate(entry)


@pytest.mark.parametrize("entry", CASES, ids=str)
@pytest.mark.parametrize("answer", ["3.4.2026", {"due": "5", "total": 9}, [{"a": 2}], None])
def test_no_message_shows_internals(entry: dict[str, Any], answer: Any) -> None:
    sent = WireEntry(
        method="POST", url="http://a.test/", status=200, request_body="{}", response_body="{}"
    )
    page = cast(Any, Page(text="a page"))
    evidence = Evidence(page=page, answered=True, answer=answer, wire=[sent])

    (result,) = judge_checks([check_of(entry)], evidence, timeout_s=0)

    for text in (result.expected, result.actual, result.message, result.where, result.hint):
        assert not INTERNAL.search(text), text


def test_a_typed_answer_says_its_types_in_words() -> None:
    evidence = Evidence(page=cast(Any, None), answered=False, answer=None)

    (result,) = judge_checks([check_of({"answer": TYPED})], evidence, timeout_s=0)

    assert result.expected.endswith("(due as date, total as money in de_DE EUR)")


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("Welcome, Ana", "Welcome, Bob"),
        ("welcome, bob!", "Welcome, Bob"),
        ("Total: 42.00 EUR", "Total: 41.00 EUR"),
    ],
)
def test_a_long_page_shows_the_text_that_comes_nearest(wanted: str, near: str) -> None:
    text = f"{FILLER}\nWelcome, Bob\n{FILLER}\nTotal: 41.00 EUR\n{FILLER}"

    result = one(Page(text=text), TextCheck(text=wanted))

    assert result.passed is False
    assert result.actual.startswith("nearest: '…")
    assert near in result.actual
    assert len(result.actual) < 100


def test_a_long_page_with_nothing_like_it_shows_its_head_and_says_so() -> None:
    result = one(Page(text=FILLER), TextCheck(text="Überweisung"))

    assert result.actual.startswith("page text: Row 0 of the list of teas / Row 1")
    assert result.actual.endswith("… (nothing in these 14,887 characters is like it)")
    assert len(result.actual) < 300


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ({"matches": r"Your order was (accepted|sent) on \d+ May"}, "Your order was not sent"),
        ("Your order was sent. " * 8, "Your order was not sent"),
    ],
)
def test_what_is_near_a_pattern_or_a_long_text_is_shown_too(wanted: Any, near: str) -> None:
    page = Page(text=f"{FILLER}\nYour order was not sent\n{FILLER}")

    result = one(page, TextCheck.model_validate({"text": wanted}))

    assert result.actual.startswith("nearest: ")
    assert near in result.actual
    assert len(result.actual) < 150


def test_half_a_secret_is_never_shown() -> None:
    secret = "correct horse battery staple"
    text = f"{FILLER} Hello {secret} {FILLER}"

    shown = shown_near("Hello correct", text, lambda seen: seen.replace(secret, "<secret:pw>"))

    assert "Hello <secret:pw>" in shown
    assert "correct" not in shown


def test_a_long_answer_shows_the_part_that_comes_nearest() -> None:
    evidence = Evidence(page=cast(Any, None), answered=True, answer=f"{FILLER} costs 9 EUR")
    check = AnswerCheck.model_validate({"answer": {"contains": "costs 8 EUR"}})

    (result,) = judge_checks([check], evidence, timeout_s=0)

    assert "costs 9 EUR" in result.actual


@pytest.mark.parametrize(
    ("wanted", "text", "passage"),
    [
        # Whole words on both sides, and dots only where something is left out.
        (
            "total is 8 EUR",
            f"{'lorem ' * 40}total is 9 EUR{' ipsum' * 40}",
            "…lorem lorem lorem lorem total is 9 EUR ipsum ipsum ipsum ipsum…",
        ),
        (
            "total is 8 EUR",
            f"total is 9 EUR{' ipsum' * 40}",
            "total is 9 EUR ipsum ipsum ipsum ipsum…",
        ),
        (
            "total is 8 EUR",
            f"{'lorem ' * 40}total is 9 EUR",
            "…lorem lorem lorem lorem total is 9 EUR",
        ),
        # A text without spaces is cut at twenty characters.
        ("total=8", f"{'x' * 200}total=9{'y' * 200}", f"…{'x' * 20}total=9{'y' * 20}…"),
        # Some letters become two in lower case, which must not shift anything.
        ("total is 8 EUR", f"{'İ ' * 100}total is 9 EUR", f"…{'İ ' * 10}total is 9 EUR"),
        # Of a long wanted text, whose beginning alone is there, eighty characters are shown.
        (
            f"the grand total is {'8' * 100}",
            f"{'lorem ' * 40}the grand total is 9{' ipsum' * 40}",
            f"…lorem lorem lorem lorem the grand total is 9{' ipsum' * 14}…",
        ),
    ],
)
def test_the_nearest_passage_is_cut_between_words(wanted: str, text: str, passage: str) -> None:
    assert shown_near(wanted, text, lambda seen: seen) == f"nearest: {passage!r}"


def test_what_is_alike_by_chance_is_not_shown() -> None:
    text = f"{'- ' * 100}abc{' -' * 100}"

    assert shown_near("abz", text, str).startswith("- - -")
    assert shown_near("abc!", text, str).startswith("nearest: ")
    # A quarter of what was looked for has to be there, or twelve characters of a longer text.
    assert shown_near(f"abc{'z' * 12}", text, str).startswith("nearest: ")
    assert shown_near(f"abc{'z' * 13}", text, str).startswith("- - -")
    assert shown_near(f"ab{'z' * 2}", text, str).startswith("- - -")
    twelve = f"{'- ' * 100}abcdefghijkl{' -' * 100}"
    assert shown_near(f"abcdefghijkl{'z' * 150}", twelve, str).startswith("nearest: ")
    assert shown_near(f"abcdefghijk{'z' * 150}", twelve, str).startswith("- - -")


def test_a_text_of_two_hundred_characters_is_shown_in_full_and_a_longer_one_in_part() -> None:
    whole = f"total is 9 EUR {'x' * 185}"

    assert shown_near("total is 8 EUR", whole, str) == whole
    assert shown_near("total is 8 EUR", f"{whole}y", str).startswith("nearest: 'total is 9 EUR")
    assert shown_near("...", whole, str) == whole
    assert shown_near("...", f"{whole}y", str) == (
        f"{whole}… (nothing in these 201 characters is like it)"
    )


def test_case_does_not_matter_beside_letters_that_have_no_single_capital() -> None:
    text = f"{'straße ' * 40}Total is 9 EUR{' straße' * 40}"

    assert "Total is 9 EUR" in shown_near("TOTAL IS 8 eur", text, str)


def test_what_stands_behind_the_first_two_hundred_characters_of_a_text_is_not_looked_for() -> None:
    text = f"{'- ' * 100}the last words{' -' * 100}"

    assert shown_near(f"{'z' * 186}the last words", text, str).startswith("nearest: ")
    assert shown_near(f"{'z' * 200}the last words", text, str).startswith("- - -")
    far = f"{'- ' * 50_000}the last words"
    assert shown_near("the last words", far, str).startswith("- - -")


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ({"answer": {"schema": {"type": "größe"}}}, '{"schema": {"type": "größe"}}'),
        ({"python": "own_gone:told", "with": {"a": 1}}, '"own_gone:told"'),
    ],
)
def test_a_check_that_cannot_be_made_ready_is_shown_as_it_is_written(
    entry: dict[str, Any], written: str
) -> None:
    evidence = Evidence(page=cast(Any, None), answered=True, answer="x")

    (result,) = judge_checks([check_of(entry)], evidence, timeout_s=0)

    assert (result.passed, result.expected) == (None, written)


@pytest.mark.parametrize("how", ["equals", "contains"])
def test_a_wrong_answer_shows_its_nearest_part_and_a_right_one_its_beginning(how: str) -> None:
    def judged(wanted: Any, answer: Any) -> CheckResult:
        evidence = Evidence(
            page=cast(Any, None),
            answered=True,
            answer=answer,
            redact=lambda text: text.replace("hunter2", "<secret:pw>"),
        )
        check = AnswerCheck.model_validate({"answer": {how: wanted}})
        (result,) = judge_checks([check], evidence, timeout_s=0)
        return result

    long = f"{FILLER} hunter2 costs 9 EUR"
    wrong, right = judged("hunter2 costs 8 EUR", long), judged(long, long)

    assert (wrong.passed, right.passed) == (False, True)
    assert wrong.actual.startswith("nearest: ")
    assert "<secret:pw> costs 9 EUR" in wrong.actual
    assert right.actual.startswith("Row 0 of the list")
    # Of what is no text, nothing is nearest.
    assert judged([1], [*range(300)]).actual.startswith("[0, 1, 2, 3")


WORDS = st.text(alphabet="abc İß ", max_size=300)


@given(WORDS, WORDS)
@example("İİİİabc", "x" * 300 + "İabc")
@settings(max_examples=200, deadline=None)
def test_what_is_shown_stands_in_the_text_and_is_short(wanted: str, text: str) -> None:
    shown = shown_near(wanted, text, lambda seen: seen)

    if shown == text or shown.startswith(f"{text[:200]}… (nothing in these "):
        return
    passage = re.fullmatch(r"nearest: ['\"]…?(.*?)…?['\"]", shown, re.DOTALL)
    assert passage
    assert passage[1] in text
    assert len(passage[1]) <= 200 + 6 * 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner),
    max_leaves=8,
)


@given(JSON, JSON)
@settings(max_examples=300, deadline=None)
@pytest.mark.long
def test_there_is_a_difference_exactly_where_a_value_is_no_part(wanted: Any, actual: Any) -> None:
    assert bool(difference(wanted, actual)) is not is_subset(wanted, actual)


def test_a_difference_quotes_any_value_as_it_is_written() -> None:
    assert difference({"a": 1}, {"a": "ü"}) == 'a is "ü"'
    assert difference([1], [re]).startswith("[0] is \"<module 're'")


def test_a_difference_is_named_by_its_place() -> None:
    assert difference([1, 2], [1]) == "the list has 1 items instead of 2"
    assert difference({"a": [1, 2]}, {"a": [1]}) == "a has 1 items instead of 2"
    assert difference([[1], [1]], [[1], []]) == "[1] has 0 items instead of 1"
    assert difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == "a[0].b is 2"
    assert difference({"a": 1, "b": [1]}, {"a": 1, "b": [1], "c": 2}) == ""
