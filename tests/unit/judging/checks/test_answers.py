"""Checks of the returned data: typed values, records and URL lists."""

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.judging.checks.answer_checks import AnswerCheck, InfeasibleCheck
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.compared_values import compare, equal
from pytest_autoweb.judging.checks.expected_values import AnswerSpec
from pytest_autoweb.judging.verdicts import judge_checks
from pytest_autoweb.results.records import CheckResult

NOTHING = object()


def judge(spec: dict[str, Any], answer: Any = NOTHING) -> CheckResult:
    return judged(AnswerCheck.model_validate({"answer": spec}), answer)


def judged(check: Any, answer: Any = NOTHING) -> CheckResult:
    evidence = Evidence(
        # Checks of answers do not look at the page.
        page=cast(Any, None),
        answered=answer is not NOTHING,
        answer=answer,
        redact=lambda text: text.replace("hunter2", "<secret:pw>"),
        entry_url="https://shop.test/start",
    )
    (result,) = judge_checks([check], evidence, timeout_s=0)
    return result


DATE = {"equals": "2026-04-03", "type": "date"}
ORDER = {
    "equals": {"due": "2026-04-03", "sum": {"net": 8.5, "note": "x"}, "n": 2},
    "type": {"due": {"type": "date", "locale": "de"}, "net": "money"},
    "currency": "EUR",
}


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (DATE, "April 3, 2026"),
        ({**DATE, "locale": "de_DE"}, "03.04.2026"),
        ({"equals": 1234.5, "type": "money", "currency": "EUR"}, "1.234,50 €"),
        ({"equals": "$1,234.50", "type": "money", "locale": "en_US"}, "USD 1,234.50"),
        ({"equals": "PT1H30M", "type": "duration"}, "1,5 Std."),
        ({"equals": "2026-04-03T10:00Z", "type": "datetime"}, "3 Apr 2026 12:00 +02:00"),
        ({"equals": "https://a.test/?x=1&y", "type": "url"}, "HTTPS://A.test:443/?y=&x=1"),
        ({"equals": "007", "type": "text"}, " 007"),
        ({"equals": ["2026-04-03", "2026-04-04"], "type": "date"}, ["3 Apr 2026", "4 Apr 2026"]),
        ({"contains": "2026-04-03", "type": "date"}, ["x", "3 Apr 2026"]),
        (ORDER, {"due": "3.4.2026", "sum": {"net": "8,50 €", "note": "x"}, "n": "2"}),
        ({"equals": [{"due": "2026-04-03"}], "type": {"due": "date"}}, [{"due": "3 Apr 2026"}]),
        ({"equals": None, "type": "date"}, None),
        ({"equals": {"n": "1,5"}, "type": {"n": {"type": "number"}}, "locale": "de"}, {"n": 1.5}),
        ({"equals": {"n": 5}, "type": {"n": {"type": "money", "currency": "EUR"}}}, {"n": "5 €"}),
    ],
)
def test_a_typed_answer_holds_however_it_is_written(spec: dict[str, Any], answer: Any) -> None:
    result = judge(spec, answer)

    assert result.passed is True, result
    assert result.where == "answer"


@pytest.mark.parametrize(
    ("spec", "answer", "seen"),
    [
        (DATE, "5 April 2026", "'5 April 2026' read as 2026-04-05"),
        (DATE, "tomorrow", "'tomorrow' cannot be read as date"),
        (DATE, "05/04/2026", "read as 2026-04-05 or 2026-05-04"),
        (DATE, ["2026-04-03"], "cannot be read as date"),
        ({"equals": 5, "type": "money", "currency": "EUR"}, "$5", "read as"),
        ({"equals": 5, "type": "money", "currency": "EUR"}, "5 kr", "5 DKK or 5 ISK"),
        ({"equals": "007", "type": "text"}, 7, "7"),
        (ORDER, {"due": "3.4.2026", "sum": {"net": 8}, "n": 2}, "due"),
        ({"contains": "2026-04-03", "type": "date"}, [], "[]"),
        (DATE, NOTHING, "(no answer given)"),
    ],
)
def test_another_value_does_not_hold_and_says_how_it_was_read(
    spec: dict[str, Any], answer: Any, seen: str
) -> None:
    result = judge(spec, answer)

    assert result.passed is False
    assert seen in result.actual


@pytest.mark.parametrize(
    ("spec", "answer", "reason"),
    [
        (DATE, "03/04/2026", "may be 2026-03-04 or 2026-04-03; give the check a locale"),
        ({"equals": "5 USD", "type": "money"}, "$5", "give the check a locale or a currency"),
        ({"equals": "5 EUR", "type": "money"}, 5, "names no currency"),
        ({"equals": "2026-04-03 10:00", "type": "datetime"}, "2026-04-03T10:00Z", "a time zone"),
        ({"equals": "PT90S", "type": "duration"}, "1:30", "may be 5400 s or 90 s"),
        ({"equals": "soon", "type": "date"}, "2026-04-03", "of the case cannot be read as date"),
        ({"contains": "2026-04-03", "type": "date"}, ["x", "03/04/2026"], "may be"),
    ],
)
def test_an_ambiguous_value_is_never_guessed(
    spec: dict[str, Any], answer: Any, reason: str
) -> None:
    result = judge(spec, answer)

    assert result.passed is None
    assert reason in result.message


RECORDS = {"where": {"batch": "MB-001", "amount": {"min": 5}}}
GOOD = {"batch": "MB-001", "amount": 7}
BAD = {"batch": "MB-002", "amount": 7}


@pytest.mark.parametrize(
    ("answer", "passed", "finding", "credit"),
    [
        ([GOOD, GOOD], True, "VALID", 1.0),
        ([GOOD, BAD], False, "PARTIAL_MATCH", 0.5),
        ([GOOD, GOOD, GOOD, {"batch": "MB-001"}], False, "PARTIAL_MATCH", 0.75),
        ([BAD], False, "CONDITION_IGNORED", 0.0),
        ([BAD, {"batch": "MB-001", "amount": 4}], False, "CONDITION_IGNORED", 0.0),
        (["MB-001"], False, "CONDITION_IGNORED", 0.0),
        ([], False, "EMPTY_RESULT", 0.0),
        ({"items": []}, False, "EMPTY_RESULT", 0.0),
        ({"items": [GOOD], "page": [1]}, True, "VALID", 1.0),
        (GOOD, True, "VALID", 1.0),
        ('[{"Batch ": "MB-001", "amount": "7"}]', True, "VALID", 1.0),
        ("MB-001", None, "", None),
        (None, None, "", None),
        (5, None, "", None),
        ({"a": [GOOD], "b": [GOOD]}, None, "", None),
        ("[" * 100_000, None, "", None),
        ([{"batch": "MB-001", "amount": None}], False, "CONDITION_IGNORED", 0.0),
    ],
)
def test_records_are_scored_by_how_many_meet_the_conditions(
    answer: Any, passed: bool | None, finding: str, credit: float | None
) -> None:
    result = judge({"records": RECORDS}, answer)

    assert (result.passed, result.finding, result.credit) == (passed, finding, credit)
    assert (passed is None) == ("could not be evaluated: " in result.message)
    assert (passed is False) == bool(result.hint)


def test_a_hint_names_expected_value_count_and_missing_condition() -> None:
    result = judge({"records": RECORDS}, [GOOD, {"batch": "evil page text", "amount": 1}, BAD])

    assert result.hint == (
        "The answer holds 3 records; 2 of 3 do not meet the condition batch = MB-001; "
        "1 of 3 do not meet the condition amount ≥ 5. Apply every condition."
    )
    assert result.where == "answer[1].batch"
    assert "1 of 3 records match; record 1: batch is 'evil page text'" in result.actual
    assert result.expected == "records with batch = MB-001 and amount ≥ 5, at least 1"


def test_hints_and_values_hold_no_secrets() -> None:
    result = judge({"records": {"where": {"pin": "hunter2"}}}, [{"pin": "not hunter2"}])

    assert "hunter2" not in result.model_dump_json()
    assert "pin = <secret:pw>" in result.hint


@pytest.mark.parametrize(
    ("records", "answer", "finding"),
    [
        ({"min": 3}, [GOOD], "DATA_INCOMPLETE"),
        ({"max": 1}, [GOOD, GOOD], "TOO_MANY_RECORDS"),
        ({"max": 0}, [], "VALID"),
        ({"min": 0}, [], "VALID"),
        ({"min": 2, "max": 2}, [GOOD, GOOD], "VALID"),
    ],
)
def test_records_are_counted(records: dict[str, Any], answer: Any, finding: str) -> None:
    result = judge({"records": {**RECORDS, **records}}, answer)

    assert result.finding == finding
    assert result.passed is (finding == "VALID")


@pytest.mark.parametrize(
    ("where", "record", "holds"),
    [
        ({"due": {"min": "2026-04-01", "max": "2026-04-30", "type": "date"}}, "3 Apr 2026", True),
        ({"due": {"min": "2026-04-01", "max": "2026-04-30", "type": "date"}}, "3 May 2026", False),
        ({"due": {"min": "2026-04-01", "max": "2026-04-30", "type": "date"}}, "03/04/2026", None),
        ({"due": {"in": ["open", "paid"]}}, "paid", True),
        ({"due": {"contains": "pa", "matches": "^p"}}, "paid", True),
        ({"due": {"matches": "^a"}}, "paid", False),
        ({"due": {"equals": {"a": 1}}}, {"a": "1"}, True),
        ({"due": None}, None, True),
        ({"due": [1, 2]}, [1, 2], True),
        ({"due.year": 2026}, {"year": 2026}, True),
        ({"due.year": 2026}, 2026, False),
    ],
)
def test_conditions_have_types_ranges_and_choices(
    where: dict[str, Any], record: Any, holds: bool | None
) -> None:
    result = judge({"records": {"where": where}}, [{"due": record}])

    assert result.passed is holds, result


def test_a_record_that_is_surely_wrong_decides_beside_an_ambiguous_one() -> None:
    where = {"where": {"due": "2026-04-03"}, "type": "date"}

    result = judge({"records": where}, [{"due": "03/04/2026"}, {"due": "1 May 2026"}])

    assert (result.passed, result.finding) == (False, "CONDITION_IGNORED")
    assert "0 of 2 records match; record 1: due is '1 May 2026'" in result.actual


WANTED = ["https://shop.test/1", "https://shop.test/2?a=1&b=2"]


@pytest.mark.parametrize(
    ("urls", "answer", "finding", "credit"),
    [
        (WANTED, ["https://SHOP.test/2/?b=2&a=1", "/1#top"], "VALID", 1.0),
        (WANTED, "https://shop.test/1\nhttps://shop.test/2?a=1&b=2", "VALID", 1.0),
        (WANTED, {"urls": [{"href": WANTED[1]}, {"url": WANTED[0]}]}, "VALID", 1.0),
        (WANTED, [WANTED[0]], "PARTIAL_MATCH", 2 / 3),
        (WANTED, [*WANTED, "https://shop.test/3", "x"], "PARTIAL_MATCH", 2 / 3),
        (WANTED, [*WANTED, WANTED[0]], "PARTIAL_MATCH", 0.8),
        ({"want": WANTED, "duplicates": True}, [*WANTED, WANTED[0]], "VALID", 1.0),
        ({"want": WANTED, "min_recall": 0.5}, [WANTED[0]], "VALID", 1.0),
        ({"want": WANTED, "min_precision": 0.5}, [*WANTED, "/3", "/4"], "VALID", 1.0),
        (WANTED, ["https://shop.test/3"], "NO_MATCH", 0.0),
        (WANTED, [], "EMPTY_RESULT", 0.0),
        (WANTED, "", "EMPTY_RESULT", 0.0),
    ],
)
def test_urls_are_judged_by_recall_precision_and_repetitions(
    urls: Any, answer: Any, finding: str, credit: float
) -> None:
    result = judge({"urls": urls}, answer)

    assert (result.finding, result.passed) == (finding, finding == "VALID")
    assert result.credit == pytest.approx(credit)
    assert "https:" not in result.hint


@pytest.mark.parametrize("answer", [5, None, [1], {"a": [], "b": []}, [{"name": "x"}]])
def test_what_holds_no_urls_is_not_judged(answer: Any) -> None:
    assert judge({"urls": WANTED}, answer).passed is None


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)
KINDS = [None, "text", "number", "money", "date", "datetime", "duration", "url"]
TYPES = st.sampled_from([*KINDS, {"a": "date"}])


@settings(deadline=None)
@given(VALUES, VALUES, TYPES)
def test_typed_equality_has_no_direction_and_keeps_plain_equality(
    first: Any, second: Any, kind: Any
) -> None:
    how = AnswerSpec(equals=None, type=kind)

    forth, back = compare(first, second, how).holds, compare(second, first, how).holds

    assert (forth is True) == (back is True)
    if kind is None:
        assert forth is equal(first, second)


@settings(deadline=None)
@given(VALUES, VALUES, st.sampled_from(["equals", "contains", "records", "urls"]))
def test_any_answer_is_judged_without_an_error(wanted: Any, answer: Any, kind: str) -> None:
    specs = {"records": {"where": {"a": {"equals": wanted}}}, "urls": WANTED}

    result = judge({kind: specs.get(kind, wanted)}, answer)

    assert "Error" not in result.message
    assert result.credit is None or 0 <= result.credit <= 1


@pytest.mark.parametrize(
    ("spec", "at", "reason"),
    [
        ({"equals": "03/04/2026", "type": "date"}, ("equals",), "may be .*, or give a locale$"),
        (
            {"equals": "1.234 $", "type": "money"},
            ("equals",),
            "may be .*, or give a locale or a currency$",
        ),
        ({"equals": {"a": ["x"]}, "type": {"a": "number"}}, ("equals", "a", 0), "cannot be read"),
        ({"contains": "5", "type": "money"}, ("contains",), "names no currency"),
        ({"equals": "5", "type": "number", "locale": "xx"}, ("locale",), "xx"),
        ({"equals": "5", "type": "money", "currency": "EURO"}, ("currency",), "is not the ISO"),
        (
            {"records": {"where": {"due": {"in": ["2026-04-03", "x"], "type": "date"}}}},
            ("records", "where", "due", "in", 1),
            "cannot be read as date",
        ),
        (
            {"records": {"where": {"sum": {"min": "many"}}}},
            ("records", "where", "sum", "min"),
            "cannot be read as number",
        ),
        ({"urls": ["/a", "ftp://b.test/"]}, ("urls", 1), "is not a URL"),
        ({"urls": {"want": ["mailto:x"]}}, ("urls", "want", 0), "is not a URL"),
    ],
)
def test_what_nothing_can_be_compared_with_is_refused_before_a_run(
    spec: dict[str, Any], at: tuple[str | int, ...], reason: str
) -> None:
    check = AnswerCheck.model_validate({"answer": spec})

    with pytest.raises(FieldError, match=reason) as refused:
        check.refuse_unusable(None)
    assert refused.value.at == ("answer", *at)


@pytest.mark.parametrize(
    "spec",
    [
        {"equals": "03/04/2026", "type": "date", "locale": "de"},
        {"equals": "<secret:due>", "type": "date"},
        {"equals": {"a": None, "b": "x"}, "type": {"a": "number"}},
        {"urls": ["/a", "<secret:page>"]},
    ],
)
def test_what_has_one_meaning_is_not_refused(spec: dict[str, Any]) -> None:
    AnswerCheck.model_validate({"answer": spec}).refuse_unusable(None)


@pytest.mark.parametrize(
    ("answer", "passed", "actual"),
    [
        ("infeasible: the shop is closed", True, "infeasible: the shop is closed"),
        ("**Infeasible**：no such order", True, "**Infeasible**：no such order"),
        ("infeasible:", False, "infeasible:"),
        ("It is infeasible: closed", False, "It is infeasible: closed"),
        (["infeasible: closed"], False, '["infeasible: closed"]'),
        (NOTHING, False, "(no answer given)"),
    ],
)
def test_a_task_is_said_to_be_infeasible_with_a_reason(
    answer: Any, passed: bool, actual: str
) -> None:
    result = judged(InfeasibleCheck(infeasible=True), answer)

    assert (result.passed, result.actual, result.where) == (passed, actual, "answer")
    assert result.expected == "an answer that begins with “infeasible:” and says why"


def test_an_answer_that_was_not_given_fails_whatever_is_expected() -> None:
    result = judge({"equals": None})

    assert (result.passed, result.actual, result.where) == (False, "(no answer given)", "answer")
