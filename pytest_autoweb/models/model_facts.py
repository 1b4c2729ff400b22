"""Facts about hosted models before any call: litellm's table of limits, prices and abilities.

It is read as data, because importing litellm takes seconds. It supplies settings that no user has
made (`model_spec`); anything it lacks stays at this package's defaults.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model is asked to reason before it replies, least first."""
USUAL_EFFORTS = ("low", "medium", "high")
"""The efforts of a model for which the registry states only that it reasons."""

_TABLE = "model_prices_and_context_window_backup.json"
_MTOK = 1_000_000
# Services whose reasoning models take no temperature; the registry does not record this.
_WITHOUT_TEMPERATURE = ("openai", "azure")
# Google warns that these may loop below their default temperature.
_KEEP_THEIR_TEMPERATURE = "gemini-3"
# Services that cache the beginning of a prompt only where it is marked. Others do so on their own,
# and Gemini would create a stored cache billed by the hour.
_MARKED = ("anthropic", "bedrock", "vertex_ai", "azure_ai", "openrouter")
_MARKED_FAMILY = "claude"


class ModelFacts(Struct, frozen=True):
    """One model as the registry describes it; None marks missing facts."""

    entry: str
    """The name of its entry."""
    same_service: bool
    """Whether the entry is about the service being called, so that its prices apply."""
    context_tokens: int | None
    output_limit: int | None
    vision: bool
    reasoning: bool
    structured: bool
    """Whether replies can be held to a JSON schema."""
    marked_caching: bool
    """Whether the service caches the beginning of a prompt where the prompt marks it."""
    own_caching: bool
    """Whether it does so unasked."""
    efforts: tuple[str, ...]
    refuses: tuple[str, ...]
    prices: Mapping[str, float]
    """US dollars per million tokens, by kind of token."""


def installed_litellm() -> Path | None:
    found = find_spec("litellm")
    return Path(found.origin).parent if found and found.origin else None


def facts_of(model: str) -> ModelFacts | None:
    """Return the registry's facts about a model, or None if it has none.

    Args:
        model: the name as litellm takes it, such as `openai/gpt-5-mini`.
    """
    for name in _names(model):
        if (entry := entry_of(name)) is not None:
            return _facts(model, name, entry)
    return None


def entry_of(name: str) -> Mapping[str, Any] | None:
    """Return the entry of that very name in litellm's table, or None."""
    place = installed_litellm()
    return None if place is None else _entry(place, name)


# Each call of a model is priced by it.
@lru_cache(maxsize=1024)
def _entry(place: Path, name: str) -> Mapping[str, Any] | None:
    # Most models of users' own servers are not in the table, which takes long to parse.
    if f'"{name}"' not in _text(place):
        return None
    entry = _table(place).get(name)
    return entry if isinstance(entry, dict) and "rules" not in entry else None


def routes_elsewhere(name: str) -> bool:
    """Tell whether litellm finds a provider for an unlisted name by one of its table's rules."""
    place = installed_litellm()
    if place is None:
        return False
    # Fine-tuned models of OpenAI are recognized by this part of their names.
    rules = _table(place).get("fallback_generalizations", {}).get("rules", ())
    return "ft:" in name or any(
        re.search(rule["pattern"], name, re.IGNORECASE)
        for rule in rules
        if rule.get("model_info", {}).get("litellm_provider")
    )


@cache
def _text(place: Path) -> str:
    table = place / _TABLE
    return table.read_text(encoding="utf-8") if table.is_file() else ""


@cache
def _table(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_text(place))
    return found


def _names(model: str) -> Iterator[str]:
    """Yield the names under which the registry may know a model, the most exact first."""
    yield model
    provider, slash, rest = model.partition("/")
    if not slash:
        return
    yield rest
    if provider == "openrouter":
        # OpenRouter writes claude-opus-4.8 where Anthropic writes claude-opus-4-8.
        last = rest.rpartition("/")[2].partition(":")[0]
        yield last
        yield last.replace(".", "-")


def _facts(model: str, name: str, entry: Mapping[str, Any]) -> ModelFacts:
    service = model.partition("/")[0] if "/" in model else ""
    provider = str(entry.get("litellm_provider", ""))
    caches, reasons = bool(entry.get("supports_prompt_caching")), _reasons(entry)
    marked = (service or provider).startswith(_MARKED) and _MARKED_FAMILY in model
    return ModelFacts(
        entry=name,
        same_service=name == model or provider.startswith(service),
        context_tokens=_whole(entry.get("max_input_tokens")),
        output_limit=_whole(entry.get("max_output_tokens")) or _whole(entry.get("max_tokens")),
        vision=bool(entry.get("supports_vision")),
        reasoning=reasons,
        structured=bool(entry.get("supports_response_schema")),
        marked_caching=caches and marked,
        own_caching=caches and not marked,
        efforts=_efforts(entry) if reasons else (),
        refuses=("temperature",) if _refuses_temperature(service or provider, name, entry) else (),
        prices=_prices(entry),
    )


def _reasons(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("supports_reasoning") or entry.get("reasoning_effort_levels"))


def _refuses_temperature(service: str, name: str, entry: Mapping[str, Any]) -> bool:
    if entry.get("supports_sampling_params") is False:
        return True
    if _KEEP_THEIR_TEMPERATURE in name:
        return True
    return _reasons(entry) and service in _WITHOUT_TEMPERATURE


def _efforts(entry: Mapping[str, Any]) -> tuple[str, ...]:
    levels = entry.get("reasoning_effort_levels")
    if isinstance(levels, list):
        return tuple(level for level in EFFORTS if level in levels)
    openai = str(entry.get("litellm_provider", "")) in _WITHOUT_TEMPERATURE
    found = []
    for level in EFFORTS:
        flag = entry.get(f"supports_{level}_reasoning_effort")
        # For other services, litellm turns these two into a small token budget, or none.
        assumed = level in USUAL_EFFORTS or (not openai and level in ("none", "minimal"))
        if flag or (flag is None and assumed):
            found.append(level)
    return tuple(found)


def _prices(entry: Mapping[str, Any]) -> dict[str, float]:
    kinds = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cached input": "cache_read_input_token_cost",
        "writing to the cache": "cache_creation_input_token_cost",
        "reasoning": "output_cost_per_reasoning_token",
    }
    found = {kind: entry.get(key) for kind, key in kinds.items()}
    return {
        kind: round(price * _MTOK, 6)
        for kind, price in found.items()
        if isinstance(price, int | float) and price
    }


def _whole(value: Any) -> int | None:
    """Return a number of tokens; the table's example entry has sentences instead."""
    return int(value) if isinstance(value, int | float) and value > 0 else None
