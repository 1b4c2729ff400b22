"""Typed values, records and lists of URLs, with what is said about them."""

import time
from typing import Any, cast

import pytest

from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.base.values.url_globs import UrlGlob
from pytest_autoweb.judging.checks.answer_checks import AnswerCheck, url_fits
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.compared_values import (
    Answer,
    all_of,
    any_of,
    compare,
    holds_part,
)
from pytest_autoweb.judging.checks.expected_values import AnswerSpec
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

YES, NO, OPEN = Answer(True, "yes"), Answer(False, "no"), Answer(None, "open")


def judge(
    spec: dict[str, Any], answer: Any = None, *, answered: bool = True, timeout_s: float = 0
) -> CheckResult:
    evidence = Evidence(
        page=cast(Any, None), answered=answered, answer=answer, entry_url="https://shop.test/start"
    )
    check = AnswerCheck.model_validate({"answer": spec})
    return judge_checks([check], evidence, timeout_s=timeout_s)[0]


# -- typed values ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "every", "one"),
    [
        ([], Answer(True), Answer(False)),
        ([YES], YES, YES),
        ([YES, NO, OPEN], NO, YES),
        ([OPEN, YES], OPEN, YES),
        ([OPEN, NO], NO, OPEN),
        ([YES, Answer(True), YES, Answer(True, "also")], Answer(True, "yes; also"), YES),
        ([NO, NO], NO, Answer(False)),
    ],
)
def test_answers_are_put_together(answers: list[Answer], every: Answer, one: Answer) -> None:
    assert all_of(answers) == every
    assert any_of(answers) == one


def typed(kind: Any, **more: Any) -> AnswerSpec:
    return AnswerSpec.model_validate({"equals": None, "type": kind, **more})


@pytest.mark.parametrize(
    ("expected", "actual", "kind", "holds"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "date", False),
        ({"a": 1}, [1], "date", False),
        (["2026-04-03"], {"a": 1}, "date", False),
        (["2026-04-03"], ["3 Apr 2026"] * 2, "date", False),
        (("2026-04-03",), ("3 Apr 2026",), "date", True),
        (None, "3 Apr 2026", "date", False),
        ("2026-04-03", None, "date", False),
        ({"a": {"b": "2026-04-03"}}, {"a": {"b": "3 Apr 2026"}}, {"a": "date"}, True),
        ({"a": ["2026-04-03"]}, {"a": ["3 Apr 2026"]}, {"a": "date"}, True),
        ({"c": "2026-04-03"}, {"c": "3 Apr 2026"}, {"a": "date"}, False),
    ],
)
def test_parts_are_compared_by_the_types_of_their_fields(
    expected: Any, actual: Any, kind: Any, holds: bool
) -> None:
    assert compare(expected, actual, typed(kind)).holds is holds


@pytest.mark.parametrize(
    ("wanted", "actual", "kind", "holds"),
    [
        ("2026-04-03", "3 Apr 2026", "date", True),
        ("2026-04-03", ("1 May 2026", "3 Apr 2026"), "date", True),
        ("2026-04-03", ["1 May 2026"], "date", False),
        ("Apr", "3 Apr 2026", None, True),
    ],
)
def test_a_typed_part_is_an_item_or_the_whole(
    wanted: Any, actual: Any, kind: Any, holds: bool
) -> None:
    assert holds_part(wanted, actual, typed(kind)).holds is holds


@pytest.mark.parametrize(
    ("spec", "answer", "note"),
    [
        ({"type": "date"}, "2026-04-03", ""),
        ({"type": "date"}, "3 Apr 2026", "'3 Apr 2026' read as 2026-04-03"),
        ({"type": "date"}, "x" * 200, f"'{'x' * 79} cannot be read as date"),
    ],
)
def test_a_value_says_how_it_was_read(spec: dict[str, Any], answer: str, note: str) -> None:
    found = compare("2026-04-03", answer, AnswerSpec.model_validate({"equals": 0, **spec}))

    assert found.note == note


@pytest.mark.parametrize(
    ("spec", "expected", "answer", "note"),
    [
        ({"type": "date"}, "x", "y", "'x' of the case cannot be read as date"),
        (
            {"type": "date"},
            "2026-04-03",
            "03/04/2026",
            "'03/04/2026' may be 2026-03-04 or 2026-04-03; give the check a locale",
        ),
        (
            {"type": "money"},
            "5 USD",
            5,
            "'5' names no currency, or none is expected; give the check a currency",
        ),
        (
            {"type": "datetime"},
            "2026-04-03 10:00",
            "2026-04-03T10:00Z",
            "only one of 2026-04-03T10:00:00 and '2026-04-03T10:00Z' names a time zone",
        ),
    ],
)
def test_a_value_that_can_be_read_in_two_ways_says_what_is_missing(
    spec: dict[str, Any], expected: Any, answer: Any, note: str
) -> None:
    found = compare(expected, answer, AnswerSpec.model_validate({"equals": 0, **spec}))

    assert found == Answer(None, note)


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ({"min": 5}, 5, True),
        ({"min": 5}, 4.99, False),
        ({"max": 5}, 5, True),
        ({"max": 5}, 5.01, False),
        ({"min": 1, "max": 3}, "2", True),
        ({"min": 5}, "many", False),
        ({"min": "2026-04-03", "type": "date"}, "3 Apr 2026", True),
        ({"min": "2026-04-03", "type": "date"}, "2 Apr 2026", False),
        ({"max": "2026-04-03", "type": "date"}, "2 Apr 2026", True),
        ({"max": "2026-04-03", "type": "date"}, "4 Apr 2026", False),
        ({"in": [1, 2]}, "2", True),
        ({"in": []}, 2, False),
        ({"contains": "ea"}, "tea", True),
        ({"contains": "ee"}, "tea", False),
        ({"matches": "^7$"}, 7, True),
        ({"equals": None}, None, True),
        ({"equals": 1, "min": 2}, 1, False),
    ],
)
def test_a_condition_is_met_or_not(condition: Any, value: Any, holds: bool) -> None:
    result = judge({"records": {"where": {"n": condition}}}, [{"n": value}])

    assert result.passed is holds, result


def test_a_condition_without_a_type_has_that_of_the_records() -> None:
    records = {"where": {"due": {"equals": "2026-04-03"}}, "type": "date"}

    assert judge({"records": records}, [{"due": "3 Apr 2026"}]).passed is True


@pytest.mark.parametrize("condition", [{"equals": "2026-04-03"}, {"in": ["x", "2026-04-03"]}])
@pytest.mark.parametrize(("value", "holds"), [("3 Apr 2026", True), ("4 Apr 2026", False)])
def test_a_condition_has_the_type_of_its_field(condition: Any, value: str, holds: bool) -> None:
    records = {"where": {"due": condition}, "type": {"due": "date"}}

    assert judge({"records": records}, [{"due": value}]).passed is (
        holds if "equals" in condition else (True if holds else None)
    )


def test_what_a_locale_leaves_open_is_told_without_advice() -> None:
    how = AnswerSpec.model_validate({"equals": 0, "type": "duration", "locale": "de_DE"})

    assert compare("PT90S", "1:30", how).note == "'1:30' may be 5400 s or 90 s"


# -- answers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"equals": {"a": 1}}, 'answer equal to {"a": 1}'),
        (
            {"equals": 5, "type": "money", "locale": "de_DE", "currency": "EUR"},
            "answer equal to 5 (money, de_DE, EUR)",
        ),
        ({"contains": "x", "type": "text"}, "answer that contains x (text)"),
        ({"matches": "a+"}, "answer that matches 'a+'"),
        ({"json_schema": {"type": "array"}}, 'answer that fits the schema {"type": "array"}'),
        (
            {"records": {"where": {"a": 1, "b": {"in": [1], "max": 2}}, "min": 2, "max": 3}},
            "records with a = 1 and b in [1] and b ≤ 2, at least 2, at most 3",
        ),
        (
            {"records": {"where": {"a": {"contains": "x", "matches": "y", "equals": 0}}}},
            "records with a = 0 and a containing x and a matching y, at least 1",
        ),
        ({"urls": ["/1", "/2"]}, "2 URLs (recall ≥ 1, precision ≥ 1): /1 /2"),
        (
            {"urls": {"want": ["/1"], "min_recall": 0.5, "min_precision": 0.25}},
            "1 URLs (recall ≥ 0.5, precision ≥ 0.25): /1",
        ),
    ],
)
def test_a_check_of_an_answer_says_what_it_wants(spec: dict[str, Any], expected: str) -> None:
    assert judge(spec).expected == expected


def test_an_attempt_that_gave_no_answer_fails() -> None:
    result = judge({"equals": None}, answered=False)

    assert (result.passed, result.actual, result.where) == (False, "(no answer given)", "answer")


@pytest.mark.parametrize(
    ("spec", "answer", "passed", "actual", "where"),
    [
        ({"equals": 1}, [1], False, "[1]", "answer"),
        ({"contains": "ea"}, "tea", True, "tea", "answer"),
        ({"contains": "ee"}, "tea", False, "tea", "answer"),
        ({"matches": "^t"}, "tea", True, "tea", "answer"),
        ({"matches": "^e"}, "tea", False, "tea", "answer"),
        ({"matches": "a"}, ["tea"], True, '["tea"]', "answer"),
        ({"json_schema": {"type": "array"}}, [1], True, "[1]", "answer"),
        (
            {"json_schema": {"items": {"properties": {"a": {"type": "string"}}}}},
            [{}, {"a": 1}],
            False,
            "[{}, {\"a\": 1}] (1 is not of type 'string')",
            "answer[1]['a']",
        ),
    ],
)
def test_an_answer_is_shown_and_its_place(
    spec: dict[str, Any], answer: Any, passed: bool, actual: str, where: str
) -> None:
    result = judge(spec, answer)

    assert (result.passed, result.actual, result.where) == (passed, actual, where)


def test_an_answer_is_looked_at_once_for_it_will_not_change() -> None:
    # There is no page here that could be waited for.
    assert judge({"equals": 1}, 2, timeout_s=9).passed is False
    assert judge({"equals": 1}, 2, answered=False, timeout_s=9).passed is False


def test_an_answer_that_can_be_read_in_two_ways_is_shown_with_its_place() -> None:
    result = judge({"equals": "2026-04-03", "type": "date"}, "03/04/2026")

    assert (result.passed, result.actual, result.where) == (None, "03/04/2026", "answer")


def test_a_schema_may_be_wrong_and_never_asks_the_network() -> None:
    wrong = judge({"json_schema": {"type": "arry"}}, [])
    remote = judge({"json_schema": {"$ref": "http://127.0.0.1:9/schema.json"}}, [])

    assert wrong.passed is None
    assert "the schema is not valid: 'arry' is not valid" in wrong.message
    assert remote.passed is None
    assert "Unresolvable" in remote.message


def test_a_schema_is_of_the_draft_that_it_names() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True}

    assert judge({"json_schema": {**old, "minimum": 1}}, 1).passed is False
    assert judge({"json_schema": {"exclusiveMinimum": 1}}, 1).passed is False


# -- records ---------------------------------------------------------------------------

WHERE = {"where": {"n": {"min": 5}}}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("seven", "the answer is a text, not a list of records"),
        (7, "the answer is 7, not a list of records"),
        ("7" * 100, f"the answer is {'7' * 80}, not a list of records"),
        ({"a": [{}], "b": [{}]}, "the answer holds several lists of records"),
    ],
)
def test_what_holds_no_records_is_not_judged(answer: Any, reason: str) -> None:
    assert reason in judge({"records": WHERE}, answer).message


@pytest.mark.parametrize(
    ("answer", "total"),
    [
        ({"a": [], "b": [{"n": 5}, {"n": 6}]}, 2),
        ({"a": [1, 2], "n": 5}, 1),
        ({"a": []}, 0),
        ({"a": [], "b": []}, 1),
        ({"n": []}, 0),
        ({}, 1),
        ([[]], 1),
    ],
)
def test_records_are_found_inside_an_answer(answer: Any, total: int) -> None:
    result = judge({"records": WHERE}, answer)

    shown = f"of {total} records match" if total else "no records"
    assert shown in result.actual


@pytest.mark.parametrize(
    ("name", "record", "holds"),
    [
        ("order-date", {"Order Date": 7}, True),
        ("order-date", {"order_date": 4}, False),
        ("order-date", {"Order Date": 7, "ORDER_DATE": 7}, False),
        ("n", {"n": 7, "N": 1}, True),
        ("a.b.c", {"a": {"b": {"c": 7}}}, True),
        ("a.b", {"a": 7}, False),
        ("a.b", {"a.b": 7, "a": {"b": 1}}, True),
        ("b", {"a": 7}, False),
    ],
)
def test_a_field_is_found_by_its_name_or_its_path(name: str, record: Any, holds: bool) -> None:
    result = judge({"records": {"where": {name: {"min": 5}}}}, [record])

    assert result.passed is holds


def test_a_field_that_is_not_there_is_named() -> None:
    result = judge({"records": WHERE}, [{"m": 7}])

    assert result.actual == "0 of 1 records match; record 0: there is no 'n'"
    assert result.where == "answer[0].n"


def test_three_misses_are_shown_and_the_sure_ones_first() -> None:
    records = {"where": {"due": "2026-04-03"}, "type": "date"}
    answer = [{"due": "03/04/2026"}, *({"due": f"{day} May 2026"} for day in range(1, 5))]

    result = judge({"records": records}, answer)

    shown = [part.partition(":")[0] for part in result.actual.split("; ")]
    assert shown == ["0 of 5 records match", "record 1", "record 2", "record 3"]
    assert (result.where, result.credit) == ("answer[0].due", 0.0)
    assert result.hint.startswith("The answer holds 5 records; 4 of 5 do not meet the condition")


def test_open_records_alone_leave_the_check_open() -> None:
    records = {"where": {"due": "2026-04-03"}, "type": "date"}

    result = judge({"records": records}, [{"due": "3 Apr 2026"}, {"due": "03/04/2026"}])

    assert (result.passed, result.where) == (None, "answer[1].due")
    assert result.actual.startswith("1 of 2 records match; record 1: due is '03/04/2026', ")
    assert "may be 2026-03-04 or 2026-04-03" in result.message


@pytest.mark.parametrize(
    ("count", "records", "finding", "hint", "credit"),
    [
        ({"min": 4}, 3, "DATA_INCOMPLETE", "3 records with n ≥ 5; at least 4 should", 0.75),
        ({"max": 3}, 4, "TOO_MANY_RECORDS", "4 records with n ≥ 5; at most 3 should", 0.75),
        ({"min": 3, "max": 3}, 3, "VALID", "", 1.0),
        ({"min": 2}, 0, "EMPTY_RESULT", "0 records; at least 2 should be there with n ≥ 5.", 0.0),
        ({"max": 0}, 0, "VALID", "", 1.0),
    ],
)
def test_too_few_and_too_many_records_earn_a_part(
    count: dict[str, int], records: int, finding: str, hint: str, credit: float
) -> None:
    result = judge({"records": {**WHERE, **count}}, [{"n": 5}] * records)

    assert (result.finding, result.credit, result.where) == (finding, credit, "answer")
    assert hint in result.hint
    assert bool(result.hint) == (finding != "VALID")
    seen = f"{records} of {records} records match" if records else "no records"
    assert result.actual == seen


# -- URLs ------------------------------------------------------------------------------

WANTED = [f"https://shop.test/{number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (7, "the answer is not a list of URLs"),
        ({"a": 1}, "the answer is an object without exactly one list in it"),
        ({"a": [], "b": []}, "the answer is an object without exactly one list in it"),
        (["/1", {"name": "x"}], "item 1 of the answer is neither a URL nor an object with one"),
        ([{"url": 7}], "item 0 of the answer is neither a URL nor an object with one"),
    ],
)
def test_what_holds_no_urls_says_why(answer: Any, reason: str) -> None:
    assert reason in judge({"urls": WANTED}, answer).message


@pytest.mark.parametrize(
    "answer",
    [
        '["/1", "/2"]',
        " /1\n/2 ",
        [{"link": "/1"}, {"href": "/2", "link": "/x"}],
        {"n": 2, "found": ["/1", {"url": "/2"}]},
    ],
)
def test_urls_are_found_inside_an_answer(answer: Any) -> None:
    assert judge({"urls": WANTED[:2]}, answer).passed is True


def test_urls_are_counted_and_shown() -> None:
    answer = [*WANTED[:1], *WANTED[:1], *(f"https://shop.test/x{n}" for n in range(4))]

    result = judge({"urls": WANTED}, answer)

    assert result.actual == (
        "1 of 5 wanted URLs (recall 0.2, precision 0.167); "
        "4 missing: https://shop.test/2 https://shop.test/3 https://shop.test/4 …; "
        "4 not wanted: https://shop.test/x0 https://shop.test/x1 https://shop.test/x2 …; "
        "1 repeated"
    )
    assert result.hint == (
        "The answer holds 6 URLs; 4 of the wanted ones are missing, 4 are not wanted, "
        "1 are repetitions."
    )
    assert result.where == "answer"


def test_three_urls_are_shown_whole() -> None:
    result = judge({"urls": WANTED[:4]}, WANTED[:1])

    assert result.actual.endswith("3 missing: " + " ".join(WANTED[1:4]))
    assert result.hint == "The answer holds 1 URLs; 3 of the wanted ones are missing."


def test_repetitions_that_are_allowed_are_not_held_against_it() -> None:
    spec = {"want": WANTED[:2], "duplicates": True}

    result = judge({"urls": spec}, [WANTED[0], WANTED[0]])

    assert result.passed is False
    assert result.credit == pytest.approx(2 / 3)
    assert result.actual.endswith("1 repeated")
    assert "repetitions" not in result.hint


@pytest.mark.parametrize(
    ("spec", "answer", "passed"),
    [
        ({"min_recall": 0.4}, WANTED[:2], True),
        ({"min_recall": 0.41}, WANTED[:2], False),
        ({"min_recall": 0, "min_precision": 0.5}, [WANTED[0], "/x"], True),
        ({"min_recall": 0, "min_precision": 0.51}, [WANTED[0], "/x"], False),
        ({"min_recall": 0}, [], True),
    ],
)
def test_recall_and_precision_have_limits_that_are_enough(
    spec: dict[str, Any], answer: list[str], passed: bool
) -> None:
    assert judge({"urls": {"want": WANTED, **spec}}, answer).passed is passed


@pytest.mark.parametrize(
    ("ignored", "answer", "holds"),
    [
        (False, "https://a.test/1?ref=x", False),
        (True, "https://a.test/1?ref=x&id=9", True),
        (True, "https://a.test/2?ref=x", False),
        (True, "https://a.test/1?x#/orders", False),
        (["ref"], "https://a.test/1?ref=x", True),
        (["ref"], "https://a.test/1?ref=x&id=9", False),
        (["utm_*", "s id"], "https://a.test/1?utm_source=a&s%20id=3&utm_medium=b#top", True),
        (["utm_*"], "https://a.test/1?utmost=1", False),
        (["id"], "https://a.test/1?idea=1", False),
    ],
)
def test_queries_or_named_parameters_may_be_left_out(
    ignored: bool | list[str], answer: str, holds: bool
) -> None:
    def holds_for(want: str) -> bool | None:
        return judge({"urls": {"want": [want], "ignore_query": ignored}}, [answer]).passed

    assert holds_for("https://a.test/1") is holds
    assert holds_for("https://a.test/1?session=4") is (holds and ignored is True)


def test_addresses_that_are_the_same_without_their_queries_are_repetitions() -> None:
    spec = {"urls": {"want": ["https://shop.test/1"], "ignore_query": ["page"]}}

    found = judge(spec, ["/1?page=1", "/1?page=2"])

    assert found.actual.endswith("1 repeated")
    assert found.passed is False


def test_wanted_urls_are_joined_to_the_page_where_the_case_began() -> None:
    assert judge({"urls": ["/1", "/2"]}, ["https://shop.test/2", "/1"]).passed is True


def test_an_empty_list_has_neither_recall_nor_precision() -> None:
    result = judge({"urls": WANTED[:1]}, [])

    assert result.actual == (
        "0 of 1 wanted URLs (recall 0, precision 0); 1 missing: https://shop.test/1"
    )
    assert (result.credit, result.finding) == (0, "EMPTY_RESULT")


def test_as_much_missing_as_is_not_wanted_earns_that_part() -> None:
    result = judge({"urls": WANTED[:2]}, [WANTED[0], "/x"])

    assert result.credit == 0.5


def test_a_hint_has_only_what_is_wrong() -> None:
    more = judge({"urls": WANTED[:1]}, [WANTED[0], "/x"])
    enough = judge({"urls": {"want": WANTED[:1], "min_precision": 0.5}}, [WANTED[0], "/x"])

    assert more.hint == "The answer holds 2 URLs; 1 are not wanted."
    assert (enough.passed, enough.hint, enough.credit) == (True, "", 1)


# -- globs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "fits", "differs"),
    [
        ("http://x.test/*", ["http://x.test/", "http://x.test/a"], ["http://x.test/a/b"]),
        ("http://x.test/**", ["http://x.test/", "http://x.test/a/b"], ["http://y.test/"]),
        ("a***b", ["ab", "a/x/b"], ["ac"]),
        ("x/**/y", ["x/y", "x/a/y", "x/a/b/y"], ["xy", "x/ay"]),
        ("x**/y", ["x/y", "xa/y", "x/a/y"], ["xy"]),
        ("{a,b}c{d,e}", ["acd", "bce"], ["a,bcd", "abc"]),
        ("a,b", ["a,b"], ["a", "b"]),
        ("{a}b,c", ["ab,c"], ["ab", "c"]),
        ("a?b", ["a?b"], ["axb", "ab"]),
        ("a\\*b\\\\", ["a*b\\"], ["axb\\"]),
        ("a\\", ["a\\"], ["a"]),
        ("a*b", ["a\nb"], []),
        ("a**b", ["a\n/b"], []),
    ],
)
def test_a_glob_fits_whole_urls(glob: str, fits: list[str], differs: list[str]) -> None:
    pattern = UrlGlob(glob)

    assert [url for url in fits if not pattern.fits(url)] == []
    assert [url for url in differs if pattern.fits(url)] == []


@pytest.mark.parametrize("glob", ["**a" * 40 + "**b", "*a" * 40 + "b", "{a,aa}" * 40 + "b"])
def test_no_glob_takes_long(glob: str) -> None:
    began = time.process_time()

    assert not UrlGlob(glob).fits("a" * 5_000)
    assert time.process_time() - began < 5


def test_a_url_fits_an_expression_that_is_found_in_it() -> None:
    assert url_fits(Pattern(matches="t/a$"), "http://x.test/a")
    assert not url_fits(Pattern(matches="t/a$"), "http://x.test/ab")


def test_a_url_fits_itself() -> None:
    assert url_fits("http://x.test/a\\*", "http://x.test/a\\*")
