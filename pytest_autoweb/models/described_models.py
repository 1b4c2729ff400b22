"""What a run says of its models, with the source of each fact."""

from pytest_autoweb.models.model_facts import ModelFacts
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import registry_facts
from pytest_autoweb.results.records import ModelDescription, ModelSetting, SettingSource


def describe_model(spec: ModelSpec) -> ModelDescription:
    """Return a description of a model as a run uses it, with the source of each fact."""
    facts = registry_facts(spec.litellm_model)
    longest = f", and up to {spec.output_limit:,} if it is cut off" if spec.output_limit else ""
    rows = (
        ("context", "context_tokens", f"{spec.context_tokens:,} tokens"),
        ("longest reply", "max_tokens", f"{spec.max_tokens:,} tokens{longest}"),
        ("vision", "vision", _yes_or_no(spec.vision)),
        ("reasoning", "reasoning", _reasoning(spec, facts)),
        ("structured replies", "constrained", spec.constrained),
        ("prompt caching", "prompt_caching", _caching(spec, facts)),
        ("temperature", "temperature", _or(spec.temperature, "left to the service")),
        ("parameters it refuses", "refuses", ", ".join(spec.refuses) or "none known"),
        ("US dollars per million tokens", "prices", _prices(spec, facts)),
    )
    return ModelDescription(
        model=spec.name,
        settings=tuple(
            ModelSetting(name=name, value=value, source=_source(spec, setting, facts))
            for name, setting, value in rows
        ),
    )


def _yes_or_no(known: bool | None) -> str:
    return "unknown" if known is None else "yes" if known else "no"


def _or(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:g}"


def _reasoning(spec: ModelSpec, facts: ModelFacts | None) -> str:
    parts = [_yes_or_no(spec.reasoning)]
    if spec.reasoning_effort:
        parts.append(f"effort {spec.reasoning_effort}")
    if facts and facts.efforts:
        parts.append(f"takes {', '.join(facts.efforts)}")
    return "; ".join(parts)


def _caching(spec: ModelSpec, facts: ModelFacts | None) -> str:
    if spec.prompt_caching:
        return "marked in the prompt"
    return "by the service itself" if facts and facts.own_caching else "none known"


_PRICES = {
    "input_cost_per_mtok": "input",
    "output_cost_per_mtok": "output",
    "cached_input_cost_per_mtok": "cached input",
}


def _prices(spec: ModelSpec, facts: ModelFacts | None) -> str:
    found: dict[str, float] = {}
    if _has_own_price(spec):
        given = {kind: getattr(spec, setting) for setting, kind in _PRICES.items()}
        found = {kind: price for kind, price in given.items() if price is not None}
    elif facts and facts.same_service:
        found = dict(facts.prices)
    return ", ".join(f"{kind} {price:g}" for kind, price in found.items()) or "unknown"


def _has_own_price(spec: ModelSpec) -> bool:
    return any(getattr(spec, setting) is not None for setting in _PRICES)


def _source(spec: ModelSpec, setting: str, facts: ModelFacts | None) -> SettingSource:
    if setting == "prices":
        if _has_own_price(spec):
            return "settings" if any(map(spec.is_set, _PRICES)) else "default"
        return "registry" if facts and facts.same_service and facts.prices else "default"
    if setting == "reasoning" and spec.is_set("reasoning_effort"):
        return "settings"
    if setting in spec.sources:
        return spec.sources[setting]
    if facts and setting in ("prompt_caching", "reasoning"):
        return "registry"
    return "settings" if spec.is_set(setting) and not spec.sources else "default"
