from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.judging.verdicts import score
from pytest_autoweb.results.records import CheckResult


def check(passed: bool | None, weight: float = 1.0, **more: Any) -> CheckResult:
    fields = {"index": 0, "type": "text", "expected": "a", "actual": "b"}
    return CheckResult(**{**fields, **more}, passed=passed, weight=weight)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], (None, None)),
        ([check(None)], (None, None)),
        ([check(True)], (True, 1.0)),
        ([check(True), check(False)], (False, 0.5)),
        ([check(True, 3.0), check(False, 1.0)], (False, 0.75)),
        ([check(True), check(None)], (None, 0.5)),
        ([check(False), check(True), check(None, 2.0)], (False, 0.25)),
        ([check(False), check(None)], (False, 0.0)),
        ([check(True), check(False, 3.0, credit=0.5)], (False, 0.625)),
        ([check(True, advisory=True)], (None, None)),
        ([check(True), check(False, advisory=True)], (True, 1.0)),
        ([check(True), check(None, advisory=True)], (True, 1.0)),
        ([check(False), check(True, 9.0, advisory=True)], (False, 0.0)),
    ],
)
def test_a_failed_check_decides_and_an_open_one_leaves_the_verdict_open(
    results: list[CheckResult], expected: tuple[bool | None, float | None]
) -> None:
    assert score(results) == expected


CHECKS = st.builds(
    check,
    st.sampled_from([True, False, None]),
    st.floats(0.01, 100),
    credit=st.none() | st.floats(0, 1),
    advisory=st.booleans(),
)


@given(st.lists(CHECKS, max_size=6))
def test_a_case_passes_only_when_every_check_that_counts_holds(results: list[CheckResult]) -> None:
    passed, share = score(results)

    counted = [result.passed for result in results if not result.advisory]
    assert (passed is True) == (bool(counted) and all(counted))
    assert (passed is False) == (False in counted)
    assert share is None or 0 <= share <= 1 + 1e-9
    assert score([result for result in results if not result.advisory]) == (passed, share)
