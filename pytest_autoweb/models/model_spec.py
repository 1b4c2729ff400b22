"""One model's settings, their sources, and its endpoint."""

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from pytest_autoweb.base.errors import ModelError, SettingsError, near_miss
from pytest_autoweb.base.redaction import tidy_key
from pytest_autoweb.base.specs import WholeText, Written
from pytest_autoweb.base.variant_names import (
    PERTURBATIONS,
    UNFENCED,
    Perturbation,
    agent_choices,
    agent_variant,
)
from pytest_autoweb.models.local_models import PREFIX, local_model
from pytest_autoweb.models.model_facts import EFFORTS, ModelFacts, facts_of
from pytest_autoweb.results.analysis.controls import ATTACKED, MUTANT, NOOP, ORACLE, RANDOM
from pytest_autoweb.results.records import ModelDescription, ModelSetting, SettingSource
from pytest_autoweb.settings.agent_command import COMMAND, AgentCommand

Dialect = Literal["playwright", "refs"]
"""The two forms of the step language a model may be asked for (docs/models.md)."""
CodegenWay = Literal["auto", "turns", "once"]
"""Whether a script is written turn by turn, with the page in view, or all at once."""
WAYS: tuple[CodegenWay, ...] = ("turns", "once")
"""Endings of a model's name after an @ that compare it with itself; efforts are others."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is asked to reason before it replies."""
_CONTEXT = 32_768
DEFAULT_PARALLEL = 8
"""Default limit on requests in flight to a model."""
ComputerKind = Literal["computer_use_preview", "computer_20241022", "computer_20250124"]
"""The computer tools of OpenAI and Anthropic, by the types under which they know them."""
SMALL_PARAMETERS = 14.0
"""Size in billions of parameters below which `auto` has a model write its script at once."""
_STREAMING = ("openai", "custom_openai")
_SIZE = re.compile(r"(?<![\w.])(?:\d+x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


class ModelSpec(Written):
    """Settings of one model, from `[tool.autoweb.models."NAME"]` or a YAML file.

    Any provider that litellm knows needs no more than the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: WholeText
    """Name as given on the command line and shown in the report."""
    model: WholeText = ""
    """The id sent to litellm if the name is an alias; defaults to the name."""
    api_base: WholeText | None = None
    """Base URL of the server."""
    api_key_env: str | None = None
    """Environment variable that holds the key, if it is not the provider's usual one."""
    temperature: float | None = 0.0
    """None leaves the choice to the service (some models refuse the parameter)."""
    seed: int | None = None
    reasoning: bool | None = None
    """Whether the model can think before it replies; None if nobody knows."""
    reasoning_effort: Effort | None = None
    """How much it is asked to think; None leaves that to the service."""
    max_tokens: int = Field(default=2048, gt=0)
    """Limit on the tokens of a reply, thoughts included."""
    output_limit: int | None = Field(default=None, gt=0)
    """The longest reply that the model can give, up to which a reply that was cut off is asked for
    again."""
    context_tokens: int = Field(default=_CONTEXT, gt=0)
    """Tokens of prompt and reply together; page captures are shortened to fit."""
    page_tokens: int = Field(default=65_536, gt=0)
    """The most tokens of a prompt that pages may take, however much fits: each one is paid for."""
    turn_page_tokens: int = Field(default=10_000, gt=0)
    """The most tokens of the page in one turn; the model can ask for more of its lists."""
    timeout: float = Field(default=180.0, gt=0)
    """Seconds for one call."""
    stream: bool = False
    """Whether the server sends a reply piece by piece while the model writes it, which keeps alive
    connections that a proxy cuts off when nothing comes for a while. For OpenAI's API only."""
    vision: bool = False
    """Whether pictures may be sent."""
    dialect: Dialect = "playwright"
    codegen: CodegenWay = "auto"
    """How the strategy `codegen` writes scripts in the dialect `playwright`; `auto` decides by the
    size in the model's name, as the dialect `refs` always does."""
    constrained: Literal["none", "gbnf", "json_schema"] = "none"
    """How the server can constrain replies."""
    prompt_caching: bool = False
    """Whether the part of a prompt that stays the same is marked for the service's cache."""
    refuses: tuple[str, ...] = ()
    """Parameters that are not sent because the model refuses them, e.g. `temperature`."""
    agent: str | AgentCommand = ""
    """Who drives the browser with it, whatever a case says: the name of an agent, or a program as
    `{command: [...]}`; empty leaves that to case and flags."""
    perturb: Perturbation = ""
    """How pages are changed (docs/perturbations.md); empty leaves them as they are."""
    fences: bool = True
    """Whether prompts mark the text of pages as data, as they usually do (docs/attacks.md)."""
    computer: ComputerKind | None = None
    """The provider's computer tool, through which the strategy `act` drives the model."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Additional fields of the body of every request."""
    max_parallel: int | None = Field(default=None, gt=0)
    """Limit on requests in flight over all workers; default 8, embedded models 2."""
    input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens, if litellm does not know the price."""
    output_cost_per_mtok: float | None = Field(default=None, ge=0)
    cached_input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens that the service reads from its cache; without it they
    cost as much as others."""
    sources: dict[str, SettingSource] = Field(default_factory=dict)
    """Where settings come from, if not from the defaults; kept by `load_specs`."""

    @model_validator(mode="before")
    @classmethod
    def _with_eyes(cls, data: Any) -> Any:
        """Enable vision for a model with a computer tool, which works from pictures alone."""
        if isinstance(data, dict) and data.get("computer"):
            return {"vision": True, **data}
        return data

    @model_validator(mode="after")
    def _streams_as_openai_does(self) -> Self:
        if self.stream and self.litellm_model.partition("/")[0] not in _STREAMING:
            raise ValueError(
                f"`stream` is for servers with OpenAI's API, named openai/NAME, "
                f"and not for {self.litellm_model!r}"
            )
        return self

    @property
    def provider(self) -> Literal["builtin", "local", "litellm"]:
        """Return the provider: a control of this package, the embedded engine, or litellm."""
        prefix = self.litellm_model.partition("/")[0]
        if prefix == "builtin":
            return "builtin"
        return "local" if prefix == "local" else "litellm"

    @property
    def agent_name(self) -> str:
        """Return the name of the agent that drives the browser with it; empty if none is set."""
        return COMMAND if isinstance(self.agent, AgentCommand) else self.agent

    @property
    def small(self) -> bool:
        """Tell whether the model is embedded, or its name gives a size below 14B."""
        return self.provider != "litellm" or _says_small(self.litellm_model)

    @property
    def brief(self) -> bool:
        """Tell whether the strategies that decide by sight use their short prompts."""
        return self.small and self.dialect == "refs" and not self.vision

    @property
    def takes_turns(self) -> bool:
        """Tell whether the strategy `codegen` lets the model write its script in a conversation."""
        if self.dialect == "refs" or self.codegen == "auto":
            return not self.small
        return self.codegen == "turns"

    @property
    def litellm_model(self) -> str:
        """Return the id behind an alias."""
        return self.model or self.name

    @property
    def shown_tokens(self) -> int:
        """Return the number of tokens of the context that pages may fill."""
        return min(self.context_tokens, self.page_tokens)

    @property
    def thinks(self) -> bool:
        """Tell whether a reply's limit must also leave room for reasoning."""
        return _thinks(self.reasoning, self.reasoning_effort)

    def is_set(self, setting: str) -> bool:
        """Tell whether a person made a setting, rather than the registry or the defaults."""
        if self.sources:
            return self.sources.get(setting) == "settings"
        return setting in self.model_fields_set

    def as_set(self) -> "ModelSpec":
        """Return the settings without the registry's values, which differ between versions."""
        fields = type(self).model_fields
        told = [name for name, source in self.sources.items() if source != "settings"]
        return self.model_copy(update={name: fields[name].default for name in told})

    def reply_limit(self, own: int | None = None, *, more_room: bool = False) -> int:
        """Return the token limit of a reply.

        Args:
            own: the limit of this kind of call, meant for replies without reasoning.
            more_room: the reply was cut off before.
        """
        limit = self.max_tokens if own is None or self.thinks else min(self.max_tokens, own)
        if not more_room or self.provider != "litellm":
            return limit
        # The limit for small models in the dialect refs was measured; a higher one would not help.
        if own is not None and self.dialect == "refs":
            return limit
        most = min(self.output_limit or limit * MORE_ROOM, self.context_tokens // 2)
        return max(limit, min(limit * MORE_ROOM, most))


@cache
def _says_small(model: str) -> bool:
    return any(float(size) < SMALL_PARAMETERS for size in _SIZE.findall(model))


def _thinks(reasoning: bool | None, effort: str | None) -> bool:
    return bool(reasoning) if effort is None else effort != "none"


MORE_ROOM = 4
"""The factor on the length of a reply that is requested again because it was cut off."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
OLLAMA_PROVIDERS = ("ollama", "ollama_chat")
OLLAMA_DEFAULT_BASE = "http://localhost:11434"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server of a model, as litellm needs it."""

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)


def resolve_target(spec: ModelSpec, environ: Mapping[str, str]) -> Endpoint:
    """Return the base URL and key of a model that is not embedded.

    Raises:
        ModelError: the spec names a key variable that is not set, or whose value is no key.
    """
    key = None
    if spec.api_key_env:
        key = tidy_key(environ.get(spec.api_key_env) or "")
        if not key:
            raise ModelError(
                "auth", spec.name, f"the environment variable {spec.api_key_env} is not set"
            )
        if problem := key_problem(spec.api_key_env, key):
            raise ModelError("auth", spec.name, problem)
    base = base_url(spec, environ)
    if key is None and spec.api_base and is_loopback(spec.api_base):
        # litellm would send the provider's real key, which a local server must not receive.
        key = "none"
    return Endpoint(spec.litellm_model, base, key)


def key_problem(variable: str, key: str) -> str | None:
    """Return why the value of a variable cannot be sent as a key, or None.

    HTTP libraries report such a key in words of their own, and quote it.
    """
    if key.isascii() and key.isprintable():
        return None
    wrong = "a line break" if re.search(r"[\r\n]", key) else "a character that no key has"
    return (
        f"the value of the environment variable {variable} holds {wrong}; set it to the key alone"
    )


def base_url(spec: ModelSpec, environ: Mapping[str, str]) -> str | None:
    """Return the server's URL, or None if it is the provider's own."""
    if spec.api_base:
        return spec.api_base.rstrip("/")
    if spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS:
        return (environ.get("OLLAMA_API_BASE") or OLLAMA_DEFAULT_BASE).rstrip("/")
    return None


def is_loopback(url: str) -> bool:
    """Tell whether a URL points to this machine."""
    return urlsplit(url).hostname in _LOOPBACK


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
    defaults, facts = _defaults(behind), _facts(behind)
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


def _facts(behind: str) -> ModelFacts | None:
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
    thinks = _thinks(values.get("reasoning"), effort)
    if "output_limit" not in values and not thinks:
        return {}
    usual = THOUGHT_TOKENS if thinks else REPLY_TOKENS
    usual = LONG_THOUGHT_TOKENS if effort in _MUCH else usual
    most = _number(values.get("output_limit"))
    room = _number(values.get("context_tokens", _CONTEXT)) / 4
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
    return dict(_OLLAMA_DEFAULTS) if prefix in ("ollama", "ollama_chat") else {}


def describe_model(spec: ModelSpec) -> ModelDescription:
    """Return a description of a model as a run uses it, with the source of each fact."""
    facts = _facts(spec.litellm_model)
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
