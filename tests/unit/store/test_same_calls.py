"""Calls that are the same however they are written, and the word of the checks on an answer."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_run import BEGAN

from pytest_autoweb.results.records import Attempt, CheckResult, ToolCall
from pytest_autoweb.sandbox.border_values import format_arguments
from pytest_autoweb.store import same_calls
from pytest_autoweb.store.same_calls import recorded_as
from pytest_autoweb.store.table_rows import call_rows

LABEL = "page.get_by_label('批次')"
ROW = "page.get_by_role('row', name='Ana').get_by_role('button', name='Edit', exact=True)"


@pytest.mark.parametrize(
    ("tool", "params", "target", "arguments"),
    [
        ("locator.fill", {"target": 'page.get_by_label("批次")'}, LABEL, "'MB-001'"),
        ("locator.fill", {"target": 'get_by_label("批次")'}, LABEL, "'MB-001'"),
        ("locator.fill", {"target": "page.get_by_label(text='批次')"}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": '"MB-001"'}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": "MB-001"}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": ["MB-001"]}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": '["MB-001"]'}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": {"value": "MB-001"}}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": '{"value": "MB-001", "timeout": null}'}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": "value='MB-001'"}, LABEL, "'MB-001'"),
        ("locator.fill", {"arguments": "17"}, LABEL, "'17'"),
        ("locator.click", {"arguments": "timeout=500.0, force=True"}, LABEL,
         "force=True, timeout=500"),
        ("locator.click", {"arguments": {"timeout": 500, "force": True}}, LABEL,
         "force=True, timeout=500"),
        ("locator.click", {"arguments": []}, LABEL, ""),
        ("step.answer", {"arguments": {"b": [True, None], "a": 1}}, "step",
         "{'a': 1, 'b': [True, None]}"),
        ("locator.select_option", {"arguments": ["a", "b"]}, LABEL, "['a', 'b']"),
        ("page.fill", {"arguments": {"value": "x", "selector": "#a"}}, "page", "'#a', 'x'"),
        ("page.goto", {"target": "page", "arguments": ["/a"]}, "page", "'/a'"),
        ("locator.click", {"target": 'page.get_by_role("row",name="Ana")'
         '.get_by_role(name="Edit", exact=True, role="button")'}, ROW, ""),
        ("expect.to_have_text", {"target": "expect(page.get_by_label( \"批次\" ))"},
         f"expect({LABEL})", "'x'"),
        ("locator.fill", {}, LABEL, "'MB-001'"),
        ("locator.fill", {"target": "page.get_by_label('…", "arguments": "'a…"},
         "page.get_by_label('…", "'a…"),
    ],
)  # fmt: skip
def test_the_same_call_is_known_in_any_spelling(
    tool: str, params: dict[str, Any], target: str, arguments: str
) -> None:
    assert recorded_as(tool, params)(target, arguments)


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("locator.fill", {"arguments": "MB-002"}),
        ("locator.fill", {"arguments": ["MB-001", "MB-001"]}),
        ("locator.fill", {"arguments": "'MB-001') or call('MB-001'"}),
        ("locator.fill", {"arguments": 'MB-001", timeout=5'}),
        ("locator.fill", {"target": "page.get_by_label('批次').first"}),
        ("locator.fill", {"target": "page.get_by_label('批次', exact=True)"}),
        ("locator.fill", {"target": "page.get_by_text('批次')"}),
        ("locator.fill", {"arguments": "(" * 5_000}),
    ],
)
def test_another_call_is_not_taken_for_it(tool: str, params: dict[str, Any]) -> None:
    assert not recorded_as(tool, params)(LABEL, "'MB-001'")


VALUES = st.recursive(
    st.text(max_size=20) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


@given(args=st.lists(VALUES, max_size=3), kwargs=st.dictionaries(st.sampled_from("xyz"), VALUES))
def test_whatever_was_recorded_is_found_by_its_values(
    args: list[Any], kwargs: dict[str, Any]
) -> None:
    told = format_arguments(args, kwargs)

    assert recorded_as("own.method", {"arguments": told})(LABEL, told)
    if not kwargs and len(told) < 150:
        assert recorded_as("own.method", {"arguments": args})(LABEL, told)


SPELLINGS = (
    ("'ab'", '"ab"', "'a' 'b'", "'a''b'", "u'ab'", "'\\x61b'", "'''ab'''", "('ab')", "'a'\n'b'"),
    ("1", "1.0", "0x1", "1e0", "1.", "True"),
    ("0.5", ".5", "5e-1", "0.50", "'0.5'"),
    ("true", "True", "None", "null", "…", "<redacted>", "b'a'", "f'a'", "x1", "\0", "'"),
    ("['ab', 1]", "('ab', 1.0)", "[ 'a' 'b',1]"),
    ('{"a": 1, "b": 2}', "{'b': 2, 'a': 1.0}", "f'{1.0}'", "f'{1}'"),
)
"""The same values in several spellings, and some that are others or none."""
VALUE = st.sampled_from(SPELLINGS).flatmap(
    lambda group: st.tuples(st.sampled_from(group), st.sampled_from(group))
)


@given(values=st.lists(VALUE, max_size=3), end=st.sampled_from(["", " ", " # it's 1", "+f'a'"]))
def test_no_call_is_passed_over_that_a_parser_finds_to_be_the_same(
    values: list[tuple[str, str]], end: str
) -> None:
    asked = ", ".join(one for one, _ in values)
    recorded = ", ".join(other for _, other in values)
    target = f"page.own({recorded}){end}"

    def answers() -> list[bool]:
        return [
            recorded_as("own.method", {"arguments": asked})("", recorded + end),
            recorded_as("own.method", {"arguments": [asked]})("", repr(asked) + end),
            recorded_as("own.method", {"target": f"own({asked})"})(target, ""),
        ]

    quick = answers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_calls, "_constants", lambda text: None)

        assert quick == answers()


def test_thousands_of_other_calls_are_passed_over_without_parsing_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    parse = ast.parse

    def counted(text: str, *args: Any, **options: Any) -> Any:
        parsed.append(text)
        return parse(text, *args, **options)

    monkeypatch.setattr(ast, "parse", counted)
    fits = recorded_as("locator.fill", {"target": 'get_by_label("Order 7")', "arguments": [7.5]})
    orders = [f"page.get_by_label('Order {n}')" for n in range(3_000)]

    assert [n for n, order in enumerate(orders) if fits(order, "value=7.50")] == [7]
    assert not any(fits(orders[7], f"{n}.25") for n in range(3_000))
    assert len(parsed) < 30


@pytest.mark.parametrize(
    ("checks", "word"),
    [
        ([("answer", False, "PARTIAL_MATCH")], "PARTIAL_MATCH"),
        ([("answer", True, "VALID")], "VALID"),
        ([("answer", True, "")], "VALID"),
        ([("answer", False, "")], "INVALID"),
        ([("answer", True, "VALID"), ("answer", False, "EMPTY_RESULT")], "EMPTY_RESULT"),
        ([("text", False, "")], "UNVERIFIED"),
        ([("answer", None, "")], "UNVERIFIED"),
    ],
)
def test_the_call_that_gave_the_answer_has_the_word_of_its_checks(
    checks: list[tuple[str, bool | None, str]], word: str
) -> None:
    def call(seq: int, method: str, target: str = "step") -> ToolCall:
        return ToolCall(
            step_index=1, seq=seq, target=target, method=method, arguments="1", acting=False,
            ok=True, duration_ms=1,
        )  # fmt: skip

    attempt = Attempt(
        tool_calls=(call(0, "answer"), call(1, "click", "page"), call(2, "answer")),
        checks=tuple(
            CheckResult.model_validate(
                {"index": number, "type": kind, "passed": passed, "finding": finding}
                | {"expected": "", "actual": ""}
            )
            for number, (kind, passed, finding) in enumerate(checks)
        ),
    )

    rows = call_rows(attempt, "one", BEGAN)

    assert [row["validation_result"] for row in rows] == ["UNVERIFIED", "UNVERIFIED", word]
