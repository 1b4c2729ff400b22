"""The settings of models by name: from a project's files, litellm's registry and defaults."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError, near_miss
from pytest_autoweb.base.variant_names import (
    PERTURBATIONS,
    UNFENCED,
    agent_choices,
    agent_variant,
)
from pytest_autoweb.models.local_models import PREFIX, local_model
from pytest_autoweb.models.model_facts import EFFORTS, ModelFacts, facts_of
from pytest_autoweb.models.model_spec import (
    OLLAMA_PROVIDERS,
    USUAL_CONTEXT,
    WAYS,
    Effort,
    ModelSpec,
    has_thoughts,
)
from pytest_autoweb.results.analysis.controls import ATTACKED, MUTANT, NOOP, ORACLE, RANDOM
from pytest_autoweb.settings.agent_command import AgentCommand

BUILTINS = (ORACLE, NOOP, RANDOM)
"""The controls, which are answered without any model."""

_LOCAL_DEFAULTS: Mapping[str, Any] = {
    "constrained": "gbnf",
    "dialect": "refs",
    "max_tokens": 768,
    "seed": 1,
    "timeout": 600.0,
    "input_cost_per_mtok": 0.0,
    "output_cost_per_mtok": 0.0,
}
_OLLAMA_DEFAULTS: Mapping[str, Any] = {"context_tokens": 16_384, "timeout": 600.0}


def load_specs(
    names: Sequence[str], *, pyproject: Path | None = None, models_file: Path | None = None
) -> dict[str, ModelSpec]:
    """Return the settings of the named models, in the order of the names.

    Args:
        names: as given on the command line.
        pyproject: file whose `[tool.autoweb.models."NAME"]` tables are read, if it exists.
        models_file: YAML or JSON file, `models: {NAME: {...}}` or the plain mapping; its values
            win over those of pyproject.

    Raises:
        SettingsError: a file, key or value is invalid, or a built-in or embedded name is unknown.
    """
    configured: dict[str, dict[str, Any]] = {ATTACKED: {"model": ORACLE}}
    for source, tables in (_from_pyproject(pyproject), _from_models_file(models_file)):
        for name, table in tables.items():
            _refuse_unknown_keys(name, table, source)
            configured[name] = configured.get(name, {}) | table
    for name in names:
        plain, _, word = name.rpartition("@")
        own = configured.get(name)
        is_change = word in PERTURBATIONS and plain in names
        if is_change and own is not None and own.get("perturb") != word:
            raise SettingsError(
                f"model {name!r}: this is {plain} under the change of the page {word!r}, and a "
                "model of your settings has the same name; give that another one"
            )
    return {name: _named(name, configured) for name in dict.fromkeys(names)}


def written_in(spec: ModelSpec, way: str) -> ModelSpec:
    """Return the settings for `codegen:WAY`, unless the model's own say how it writes.

    Args:
        spec: of the model.
        way: one of `CODEGEN_WAYS`; `auto` or empty changes nothing.
    """
    if spec.codegen != "auto" or way in ("", "auto"):
        return spec
    if way != "refs":
        return spec.model_copy(update={"codegen": way})
    # Controls are scripts already.
    own = spec.is_set("dialect") or spec.provider == "builtin"
    return spec if own else spec.model_copy(update={"dialect": "refs"})


def settings_of_way(way: str) -> dict[str, str]:
    """Return the settings of a model that let it write as `codegen:WAY` says."""
    if not way:
        return {}
    return {"dialect": "refs"} if way == "refs" else {"dialect": "playwright", "codegen": way}


def _named(name: str, configured: Mapping[str, dict[str, Any]]) -> ModelSpec:
    """Return the settings of a name, which may end in a way of writing, an effort or an agent."""
    table, plain, way = _without_ending(name, configured)
    if isinstance(agent := table.get("agent"), str) and agent:
        try:
            table = {
                **table,
                "agent": (of := agent_variant(agent)).agent,
                **settings_of_way(of.way),
            }
        except ValueError as error:
            raise SettingsError(f"model {name!r}: {error}") from None
    found = _spec(name, table)
    if way and found.dialect == "refs":
        raise SettingsError(
            f"model {name!r}: {plain} writes in the dialect refs, which has turns of its own; name "
            f"it without @{way}"
        )
    return found


_ENDINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (WAYS, "codegen"),
    (EFFORTS, "reasoning_effort"),
    (PERTURBATIONS, "perturb"),
    ((UNFENCED,), "fences"),
)
"""The settings that the ending of a name gives; any other ending is an agent."""


def _without_ending(
    name: str, configured: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, Any], str, str]:
    """Return a name's table, the name without its endings, and the way of writing they give."""
    plain, _, word = name.rpartition("@")
    endings = (*WAYS, *EFFORTS, *PERTURBATIONS, UNFENCED, *agent_choices())
    if name in configured or not plain or word not in endings:
        return configured.get(name, {}), name, ""
    table, plain, way = _without_ending(plain, configured)
    setting = next(
        (name for words, name in _ENDINGS if word in words),
        "agent",
    )
    chosen = False if word == UNFENCED else word
    table = {**table, "model": table.get("model") or plain, setting: chosen}
    return table, plain, word if word in WAYS else way


def load_project_specs(
    names: Sequence[str], rootdir: Path, models_file: Path | None
) -> dict[str, ModelSpec]:
    """Return the settings of the named models from the files of a project.

    Raises:
        SettingsError: see `load_specs`.
    """
    models_file = rootdir / models_file if models_file else None
    return load_specs(names, pyproject=rootdir / "pyproject.toml", models_file=models_file)


def project_models(rootdir: Path, models_file: Path | None) -> frozenset[str]:
    """Return the names of the models that the files of a project describe.

    Raises:
        SettingsError: a file cannot be read.
    """
    _, own = _from_pyproject(rootdir / "pyproject.toml")
    _, more = _from_models_file(rootdir / models_file if models_file else None)
    return frozenset({*own, *more})


def _from_pyproject(path: Path | None) -> tuple[str, dict[str, Any]]:
    where = f"{path} [tool.autoweb.models]"
    if path is None or not path.is_file():
        return where, {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    section: Any = data
    for key in ("tool", "autoweb", "models"):
        section = section.get(key, {}) if isinstance(section, dict) else {}
    return where, _as_tables(section, where)


def _from_models_file(path: Path | None) -> tuple[str, dict[str, Any]]:
    if path is None:
        return "", {}
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise SettingsError(f"models file {path}: {error.strerror or error}") from None
    except (yaml.YAMLError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"models file {path}: cannot be read: {error}") from None
    if isinstance(data, dict) and set(data) == {"models"}:
        data = data["models"]
    return str(path), _as_tables(data or {}, f"models file {path}")


def _as_tables(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise SettingsError(f"{where}: expected a mapping from model name to settings")
    for name, table in data.items():
        if not isinstance(name, str) or not isinstance(table, dict):
            raise SettingsError(f"{where}: {name}: expected a mapping of settings")
    return data


def _refuse_unknown_keys(name: str, table: Mapping[str, Any], source: str) -> None:
    known = [field for field in ModelSpec.model_fields if field not in ("name", "sources")]
    for key in table:
        if key not in known:
            raise SettingsError(
                f"{source}: {name}: unknown setting {key!r}{near_miss(str(key), known)}"
            )


def _spec(name: str, table: Mapping[str, Any]) -> ModelSpec:
    # An alias gets the defaults of the model behind it.
    behind = str(table.get("model") or name)
    defaults, facts = _defaults(behind), registry_facts(behind)
    registry = _from_registry(facts, table)
    found = registry | _for_thinking({**defaults, **registry, **table})
    sources = dict.fromkeys(found, "registry" if facts else "default")
    sources |= dict.fromkeys(table, "settings")
    table = _with_program(name, table)
    values = {**defaults, **found, **table, "name": name, "sources": sources}
    try:
        spec = ModelSpec.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"model {name!r}: {field}: {first['msg']}") from None
    if spec.reasoning_effort is not None and not spec.is_set("reasoning"):
        _refuse_effort(spec, facts)
    return spec


def _with_program(name: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings, with the agent program that they may name read and checked."""
    agent = table.get("agent")
    if not isinstance(agent, Mapping):
        return table
    known = AgentCommand.model_fields
    for key in agent:
        if key not in known:
            raise SettingsError(
                f"model {name!r}: agent: unknown setting {key!r}{near_miss(str(key), known)}"
            )
    try:
        return {**table, "agent": AgentCommand.model_validate(agent)}
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in ("agent", *first["loc"]))
        advice = " (a program is written as agent: {command: [node, agent.mjs]})"
        raise SettingsError(f"model {name!r}: {field}: {first['msg']}{advice}") from None


def registry_facts(behind: str) -> ModelFacts | None:
    """Return the registry's facts, except for models whose defaults were measured."""
    prefix = behind.partition("/")[0]
    if prefix in ("builtin", "local", *OLLAMA_PROVIDERS):
        return None
    return facts_of(behind)


def _from_registry(facts: ModelFacts | None, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the registry supplies and no person has set."""
    if facts is None:
        return {}
    found: dict[str, Any] = {
        "context_tokens": facts.context_tokens,
        "output_limit": facts.output_limit,
        "vision": facts.vision,
        "reasoning": facts.reasoning,
        "constrained": "json_schema" if facts.structured else "none",
        "prompt_caching": facts.marked_caching,
    }
    found = {key: value for key, value in found.items() if value is not None}
    if refuses := tuple(name for name in facts.refuses if name not in table):
        found |= {"refuses": refuses, **dict.fromkeys(refuses)}
    return {key: value for key, value in found.items() if key not in table}


REPLY_TOKENS, THOUGHT_TOKENS, LONG_THOUGHT_TOKENS = 8_192, 16_384, 32_768
"""The usual reply limits: for a model in the registry, for one that reasons, and for one asked to
reason much. A cost cap reserves this much for each call, so they stay below a model's own maximum.
"""
_MUCH: tuple[Effort, ...] = ("high", "xhigh", "max")


def _for_thinking(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits that follow from a model's other settings."""
    effort = values.get("reasoning_effort")
    thinks = has_thoughts(values.get("reasoning"), effort)
    if "output_limit" not in values and not thinks:
        return {}
    usual = THOUGHT_TOKENS if thinks else REPLY_TOKENS
    usual = LONG_THOUGHT_TOKENS if effort in _MUCH else usual
    most = _number(values.get("output_limit"))
    room = _number(values.get("context_tokens", USUAL_CONTEXT)) / 4
    found: dict[str, Any] = {"max_tokens": int(max(1, min(usual, most, room)))}
    if effort in _MUCH:
        found["timeout"] = 600.0
    if effort not in (None, "none"):
        # Models that reason accept only their own temperature.
        found["temperature"] = None
    return found


def _number(value: Any) -> float:
    """Return a limit, or infinity for an invalid value, which a later check refuses."""
    return value if isinstance(value, int) and value > 0 else math.inf


def _refuse_effort(spec: ModelSpec, facts: ModelFacts | None) -> None:
    """Refuse an effort that a model is known not to have."""
    if spec.provider != "litellm":
        raise SettingsError(f"model {spec.name!r}: {spec.litellm_model} has no reasoning effort")
    if facts is None or spec.reasoning_effort in facts.efforts:
        return
    known = f"it takes {', '.join(facts.efforts)}" if facts.efforts else "it has none"
    raise SettingsError(
        f"model {spec.name!r}: {spec.litellm_model} takes no reasoning effort "
        f"{spec.reasoning_effort!r}; {known} (by litellm's registry; set reasoning = true for the "
        "model if that is out of date)"
    )


def _defaults(behind: str) -> dict[str, Any]:
    """Return the default settings of the model behind a name.

    Raises:
        SettingsError: no model can have this name.
    """
    prefix, slash, rest = behind.partition("/")
    if not behind.strip() or (slash and not rest):
        raise SettingsError(f"{behind!r} is not a model name")
    if prefix == "builtin":
        if behind not in BUILTINS and not behind.startswith(MUTANT):
            raise SettingsError(f"{behind!r} is not a built-in model{near_miss(behind, BUILTINS)}")
        # Random actions name their elements from the page, and not from the frame of a step.
        return {"dialect": "refs"} if behind == RANDOM else {}
    if behind.startswith(PREFIX):
        model = local_model(behind)
        return {**_LOCAL_DEFAULTS, "context_tokens": model.context_tokens}
    return dict(_OLLAMA_DEFAULTS) if prefix in OLLAMA_PROVIDERS else {}
