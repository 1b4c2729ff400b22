"""What litellm's table says a call costs, read as data: see `model_facts`."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pytest_autoweb.models.spending import Price

_INPUT, _CACHE_READ = "input_cost_per_token", "cache_read_input_token_cost"
_CACHE_WRITE = "cache_creation_input_token_cost"
_OUTPUT, _THOUGHT = "output_cost_per_token", "output_cost_per_reasoning_token"
# Prompt tokens above which the table may list higher prices.
_LONG_PROMPT = 100_000
_ABOVE = re.compile(rf"{_INPUT}_above_(\d+)k_tokens")


class BilledTokens(Struct, frozen=True):
    """The tokens of one call, by what they cost; each kind is part of `prompt` or `reply`."""

    prompt: int
    reply: int
    read_from_cache: int = 0
    written_to_cache: int = 0
    reasoning: int = 0


def price_per_token(info: Mapping[str, Any], input_tokens: int, *, dearest: bool) -> Price | None:
    """Return the price of a token, where long prompts may cost more; None if it is unknown.

    Args:
        info: a model's entry in the table.
        input_tokens: the length of the prompt.
        dearest: return the highest price of any token, such as one written to the service's cache
            or a reasoning token.
    """

    def most(*kinds: str) -> float:
        return max(
            (
                float(value)
                for name, value in info.items()
                for kind in kinds
                if isinstance(value, int | float)
                and (
                    name == kind
                    or (input_tokens > _LONG_PROMPT and name.startswith(f"{kind}_above_"))
                )
            ),
            default=0.0,
        )

    input_usd = most(_INPUT, _CACHE_WRITE) if dearest else most(_INPUT)
    output_usd = most(_OUTPUT, _THOUGHT) if dearest else most(_OUTPUT)
    # The table lists 0 for models whose price it does not know.
    known = input_usd > 0 or output_usd > 0
    return Price(input_usd=input_usd, output_usd=output_usd) if known else None


def cost_of_call(info: Mapping[str, Any], tokens: BilledTokens) -> float | None:
    """Return the cost of a call in US dollars, or None if the price is unknown."""
    if price_per_token(info, 0, dearest=False) is None:
        return None
    limits = [int(found[1]) for found in map(_ABOVE.fullmatch, info) if found]
    passed = [limit for limit in limits if tokens.prompt > limit * 1000]
    ending = f"_above_{max(passed)}k_tokens" if passed else ""

    def price(kind: str, otherwise: float) -> float:
        found = info.get(kind + ending, info.get(kind))
        return float(found) if isinstance(found, int | float) else otherwise

    fresh_usd = price(_INPUT, 0.0)
    fresh = max(0, tokens.prompt - tokens.read_from_cache - tokens.written_to_cache)
    said_usd = price(_OUTPUT, 0.0)
    return (
        fresh * fresh_usd
        + tokens.read_from_cache * price(_CACHE_READ, fresh_usd)
        + tokens.written_to_cache * price(_CACHE_WRITE, fresh_usd)
        + (tokens.reply - tokens.reasoning) * said_usd
        + tokens.reasoning * price(_THOUGHT, said_usd)
    )
