"""What variants are called is known below, what they do above; the two do not drift apart."""

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_autoweb.agents.attempt.strategy import CorrectionArm, Strategy
from pytest_autoweb.base.variant_names import (
    ARM_NAMES,
    CAPTURE_MODE_NAMES,
    STRATEGY_NAMES,
    known_strategy,
)
from pytest_autoweb.base.variants import BoundVariants, Variants
from pytest_autoweb.browser.page.capture import CAPTURE_MODES, CaptureMode
from pytest_autoweb.cell.strategies import ACT, ARMS, STRATEGIES
from pytest_autoweb.session.registration import Registry
from pytest_autoweb.settings.run_settings import arms, captures


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry()
    yield registry
    registry.undo()


@pytest.mark.parametrize(
    ("bound", "described"),
    [(STRATEGIES, STRATEGY_NAMES), (ARMS, ARM_NAMES), (CAPTURE_MODES, CAPTURE_MODE_NAMES)],
)
def test_each_description_has_a_variant_and_each_variant_a_description(
    bound: BoundVariants[Any], described: Variants[Any]
) -> None:
    assert bound.summaries() == described.summaries()


def test_a_user_s_variants_are_known_below_until_the_session_ends(registry: Registry) -> None:
    registry.add_strategy(Strategy(name="own", summary="mine", first=ACT.first))
    registry.add_correction_arm(CorrectionArm(name="own", summary="mine", label="my own"))
    registry.add_capture_mode(CaptureMode(name="OWN", summary="mine", show=lambda page, n: ""))

    assert (known_strategy("own"), arms("own"), captures("own")) == ("own", ("own",), ("OWN",))
    assert ARM_NAMES["own"].label == "my own"
    assert [*STRATEGY_NAMES][-1] == "own"

    registry.undo()
    for read in (known_strategy, arms, captures):
        with pytest.raises(ValueError, match=r"unknown .* 'own'"):
            read("own")


def test_a_name_that_is_taken_is_refused_and_leaves_both_floors_as_they_were(
    registry: Registry,
) -> None:
    with pytest.raises(ValueError, match="there is already a strategy named 'act'"):
        registry.add_strategy(Strategy(name="act", summary="mine", first=()))

    assert STRATEGIES["act"] is ACT
    assert STRATEGY_NAMES["act"].summary == ACT.summary
