"""Money: reserved before it is spent, settled after, never beyond the cap."""

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.spending import (
    LEDGER_FILE,
    CostBudget,
    Ledger,
    Price,
    TokenBound,
    price_in_spec,
    token_bound,
)

DOLLAR = Price(input_usd=1.0, output_usd=1.0)
FREE = Price(input_usd=0.0, output_usd=0.0)


def call(amount: int) -> TokenBound:
    return TokenBound(input_tokens=amount, output_tokens=0)


def test_a_call_that_might_exceed_the_cap_is_refused_with_cap_spent_and_reserved(
    tmp_path: Path,
) -> None:
    budget = CostBudget(3.0, ledger=Ledger(tmp_path))
    budget.reserve("m", DOLLAR, call(2)).settle(1.5)

    with pytest.raises(ModelError) as refused:
        budget.reserve("m", DOLLAR, call(2))

    assert refused.value.cause == "budget"
    for part in ("up to 2.000000 USD", "cap is 3.000000", "spent 1.500000", "reserved 0.000000"):
        assert part in refused.value.detail
    assert budget.sums == (1.5, 0.0, 1)


def test_a_call_of_unknown_cost_is_charged_with_the_most_it_can_have_cost(tmp_path: Path) -> None:
    budget = CostBudget(3.0, ledger=Ledger(tmp_path))
    budget.reserve("m", DOLLAR, call(2)).settle(None)

    assert budget.sums == (2.0, 0.0, 0)


def test_a_cap_of_zero_lets_only_free_models_run(tmp_path: Path) -> None:
    budget = CostBudget(0.0, ledger=Ledger(tmp_path))
    budget.reserve("local/x", FREE, call(1000)).settle(0.0)

    with pytest.raises(ModelError, match=r"up to 1\.000000 USD"):
        budget.reserve("m", DOLLAR, call(1))


def test_a_model_without_a_price_is_refused_unless_allowed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"input_cost_per_mtok.*--autoweb-allow-unpriced"):
        CostBudget(1.0, ledger=Ledger(tmp_path / "a")).reserve("m", None, call(1))

    allowed = CostBudget(1.0, allow_unpriced=True, ledger=Ledger(tmp_path / "b"))
    allowed.reserve("m", None, call(10**9)).settle(None)

    assert allowed.sums == (0.0, 0.0, 0)


def test_without_a_cap_everything_runs_and_is_counted(tmp_path: Path) -> None:
    budget = CostBudget(ledger=Ledger(tmp_path))
    budget.reserve("m", None, call(10**9)).settle(12.5)

    assert budget.sums == (12.5, 0.0, 0)
    assert not (tmp_path / LEDGER_FILE).exists()


def test_a_second_budget_goes_on_where_the_first_was_killed(tmp_path: Path) -> None:
    killed = CostBudget(10.0, ledger=Ledger(tmp_path))
    killed.reserve("m", DOLLAR, call(2)).settle(1.0)
    killed.reserve("m", DOLLAR, call(4))

    assert json.loads((tmp_path / LEDGER_FILE).read_text())["reserved"] == 4.0
    assert CostBudget(10.0, ledger=Ledger(tmp_path)).sums == (5.0, 0.0, 0)


def test_a_call_waits_for_those_under_way_and_then_gets_what_they_left(tmp_path: Path) -> None:
    budget = CostBudget(3.0, ledger=Ledger(tmp_path))
    first = budget.reserve("m", DOLLAR, call(2))
    got: list[float] = []

    def spend() -> None:
        budget.reserve("m", DOLLAR, call(2)).settle(2.0)
        got.append(2.0)

    waiting = threading.Thread(target=spend)
    waiting.start()
    waiting.join(0.2)

    assert got == []

    first.settle(0.5)
    waiting.join(10)

    assert got == [2.0]
    assert budget.sums == (2.5, 0.0, 0)


@settings(max_examples=30, deadline=None)
@given(
    cap=st.integers(0, 40),
    calls=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), max_size=30),
)
def test_whatever_is_called_in_parallel_the_cap_holds(
    tmp_path_factory: pytest.TempPathFactory, cap: int, calls: list[tuple[int, float]]
) -> None:
    budget = CostBudget(float(cap), ledger=Ledger(tmp_path_factory.mktemp("budget")))
    seen: list[float] = []

    def spend(most: int, share: float) -> None:
        try:
            reservation = budget.reserve("m", DOLLAR, call(most))
        except ModelError:
            return
        seen.append(sum(budget.sums[:2]))
        reservation.settle(most * share)

    threads = [threading.Thread(target=spend, args=pair) for pair in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    spent, reserved, refused = budget.sums
    assert max([*seen, spent]) <= cap + 1e-9
    assert reserved == pytest.approx(0)
    assert len(seen) + refused == len(calls)


@given(text=st.text(max_size=200))
def test_the_estimate_is_never_below_a_token_for_each_byte(text: str) -> None:
    spec = ModelSpec(name="m", max_tokens=700)
    request = Request(
        model="m", messages=(Message(role="user", content=text),), stage="plan", max_tokens=50
    )
    most = token_bound(spec, request)

    assert most.input_tokens > len(text.encode())
    assert most.output_tokens == 50


def test_a_picture_counts_only_for_models_that_are_sent_it() -> None:
    request = Request(
        model="m",
        messages=(Message(role="user", content="look", images=("data:image/png;base64,AA",)),),
        stage="plan",
    )
    blind, seeing = ModelSpec(name="m"), ModelSpec(name="m", vision=True)

    assert (
        token_bound(seeing, request).input_tokens - token_bound(blind, request).input_tokens
        > 30_000
    )


def test_controls_and_embedded_models_cost_nothing_and_others_what_their_settings_say() -> None:
    priced = ModelSpec(name="openai/m", input_cost_per_mtok=2.0)

    assert price_in_spec(ModelSpec(name="builtin/noop")) == FREE
    assert price_in_spec(ModelSpec(name="local/smollm2-135m")) == FREE
    assert price_in_spec(priced) == Price(input_usd=2e-6, output_usd=0.0)
    assert price_in_spec(ModelSpec(name="openai/m")) is None
