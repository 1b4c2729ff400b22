"""Sums check results up."""

from collections.abc import Sequence

from pytest_autoweb.results import CheckResult


def score(results: Sequence[CheckResult]) -> tuple[bool | None, float | None]:
    """Whether the checks hold, and the credit they earn by weight.

    One check that does not hold decides. A check that could not be evaluated leaves the verdict
    open, because it might not have held. Advisory checks have no part in either.

    Returns:
        `(None, None)` when there is nothing to go by.
    """
    counted = [result for result in results if not result.advisory]
    evaluated = [result for result in counted if result.passed is not None]
    if not evaluated:
        return None, None
    earned = sum(result.weight * credit_of(result) for result in evaluated)
    share = earned / sum(result.weight for result in evaluated)
    if any(result.passed is False for result in evaluated):
        return False, share
    return (True if len(evaluated) == len(counted) else None), share


def credit_of(result: CheckResult) -> float:
    """The check's share of its weight."""
    if result.credit is None:
        return 1.0 if result.passed else 0.0
    return result.credit
