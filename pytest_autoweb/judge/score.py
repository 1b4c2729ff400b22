"""Sums check results up."""

from collections.abc import Sequence

from pytest_autoweb.results import CheckResult


def score(results: Sequence[CheckResult]) -> tuple[bool | None, float | None]:
    """Whether the checks hold, and the weight of those that do over the evaluated ones.

    One check that does not hold decides. A check that could not be evaluated leaves the verdict
    open, because it might not have held.

    Returns:
        `(None, None)` when there is nothing to go by.
    """
    evaluated = [result for result in results if result.passed is not None]
    if not evaluated:
        return None, None
    held = sum(result.weight for result in evaluated if result.passed)
    share = held / sum(result.weight for result in evaluated)
    if any(result.passed is False for result in evaluated):
        return False, share
    return (True if len(evaluated) == len(results) else None), share
