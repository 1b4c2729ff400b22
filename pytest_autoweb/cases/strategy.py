"""Strategies as case files and flags name them; what each one does is known further up."""

from pytest_autoweb.variants import Variant, Variants, variants_of

StrategyName = str
"""The name of a registered strategy."""


def known_strategies() -> Variants[Variant]:
    """Return all that are registered, by name."""
    return variants_of("pytest_autoweb.strategies.stage_lists", "STRATEGIES")


def known_strategy(name: str) -> StrategyName:
    """Return the name as it is.

    Raises:
        ValueError: no strategy has it; the message names the nearest one that does exist.
    """
    return known_strategies().pick(name).name
