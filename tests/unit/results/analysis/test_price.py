"""What a passed task took, in medians, and how its actions compare with the oracle's."""

import random

import numpy as np
import pytest
from made_up_run import CellKey, cell
from scipy.stats import quantile_test

from pytest_autoweb.results.analysis.price import oracle_actions, price_of
from pytest_autoweb.results.analysis.statistics import median_interval
from pytest_autoweb.results.records import Attempt, CellResult, Outcome, ToolCall, Usage


def played(
    case: str, model: str, outcome: Outcome, actions: int, tokens: int = 0, usd: float = 0.0
) -> CellResult:
    calls = tuple(
        ToolCall(
            step_index=1,
            seq=n,
            duration_ms=1.0,
            target="page",
            method="click",
            arguments="",
            acting=n <= actions,
            ok=n != actions + 1,
        )
        for n in range(1, actions + 3)
    )
    usage = Usage(calls=2, input_tokens=tokens, output_tokens=10, cost_usd=usd)
    return cell(
        CellKey(case, model),
        outcome,
        attempts=(Attempt(tool_calls=calls),),
        usage={"generate": usage},
        duration_ms=1000.0 * actions,
    )


def test_only_passed_cells_count_each_with_what_its_last_attempt_did() -> None:
    cells = [
        played("a", "m", "passed", 4, 100, 0.1),
        played("b", "m", "healed", 2, 300, 0.3),
        played("c", "m", "failed", 90, 90_000, 9.0),
    ]
    oracle = oracle_actions(
        [played("a", "builtin/oracle", "passed", 2), played("b", "builtin/oracle", "failed", 1)]
    )

    found = price_of(cells, oracle)

    assert found is not None
    assert found.passed == 2
    assert (found.tokens.value, found.calls.value) == (210, 2)
    assert found.actions is not None
    assert found.actions.value == 3
    assert (found.seconds.value, found.seconds.interval) == (3.0, None)
    assert found.usd is not None
    assert found.usd.value == pytest.approx(0.2)
    # Only the oracle of the first case passed.
    assert found.beside_oracle is not None
    assert found.beside_oracle.value == 2.0


def test_without_a_pass_there_is_no_price() -> None:
    assert price_of([played("a", "m", "failed", 1)], {}) is None


def test_an_unknown_price_stays_unknown() -> None:
    one = played("a", "m", "passed", 1)
    unpriced = one.model_copy(update={"usage": {"generate": Usage(calls=1, unpriced_calls=1)}})

    found = price_of([unpriced], {})

    assert found is not None
    assert found.usd is None


@pytest.mark.parametrize("n", [1, 5, 6, 7, 20, 41])
def test_the_interval_of_a_median_is_scipys(n: int) -> None:
    chance = random.Random(n)
    values = [chance.random() for _ in range(n)]
    expected = quantile_test(values, q=np.median(values), p=0.5).confidence_interval(0.95)

    found = median_interval(values)

    if n < 6:
        assert found is None
    else:
        assert found is not None
        assert (found.low, found.high) == (expected.low, expected.high)
