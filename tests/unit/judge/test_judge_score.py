import pytest

from pytest_autoweb.judge.score import score
from pytest_autoweb.results import CheckResult


def check(passed: bool | None, weight: float = 1.0) -> CheckResult:
    return CheckResult(index=0, type="text", passed=passed, expected="a", actual="b", weight=weight)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], (None, None)),
        ([check(None)], (None, None)),
        ([check(True)], (True, 1.0)),
        ([check(True), check(False)], (False, 0.5)),
        ([check(True, 3.0), check(False, 1.0)], (False, 0.75)),
        ([check(True), check(None)], (None, 1.0)),
        ([check(False), check(None)], (False, 0.0)),
    ],
)
def test_a_failed_check_decides_and_an_open_one_leaves_the_verdict_open(
    results: list[CheckResult], expected: tuple[bool | None, float | None]
) -> None:
    assert score(results) == expected
