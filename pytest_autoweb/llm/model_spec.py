"""What is known of one model: its settings, where they come from, and where it answers."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from pytest_autoweb.errors import ModelError, SettingsError, near_miss
from pytest_autoweb.llm import local_models
from pytest_autoweb.specs import Documented

Dialect = Literal["playwright", "refs"]
"""The two forms of the step language a model may be asked for (docs/models.md)."""
CodegenWay = Literal["auto", "turns", "once"]
"""Whether a script is written turn by turn, with the page in view, or all at once."""
WAYS: tuple[CodegenWay, ...] = ("turns", "once")
"""What a model's name may end in, after an @, to be compared with itself."""
ComputerKind = Literal["computer_use_preview", "computer_20241022", "computer_20250124"]
"""The computer tools of OpenAI and Anthropic, by the types under which they know them."""
SMALL_PARAMETERS = 14.0
"""The size, in billions of parameters, below which `auto` lets a model write its script at once."""
_SIZE = re.compile(r"(?<![\w.])(?:\d+x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


class ModelSpec(Documented):
    """Settings of one model, from `[tool.autoweb.models."NAME"]` or a YAML file.

    Any provider that litellm knows needs no more than the name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name as given on the command line and shown in the report."""
    model: str = ""
    """The id sent to litellm if the name is an alias; defaults to the name."""
    api_base: str | None = None
    """Base URL of the server."""
    api_key_env: str | None = None
    """Environment variable that holds the key, if it is not the provider's usual one."""
    temperature: float | None = 0.0
    """None leaves the choice to the service (some models refuse the parameter)."""
    seed: int | None = None
    max_tokens: int = Field(default=2048, gt=0)
    """Limit on the tokens of a reply."""
    context_tokens: int = Field(default=32_768, gt=0)
    """Tokens of prompt and reply together; page captures are shortened to fit."""
    timeout: float = Field(default=180.0, gt=0)
    """Seconds for one call."""
    vision: bool = False
    """Whether pictures may be sent."""
    dialect: Dialect = "playwright"
    codegen: CodegenWay = "auto"
    """How the strategy `codegen` writes scripts in the dialect `playwright`; `auto` decides by the
    size in the model's name, as the dialect `refs` always does."""
    constrained: Literal["none", "gbnf", "json_schema"] = "none"
    """How the server can constrain replies."""
    computer: ComputerKind | None = None
    """The provider's computer tool, through which the strategy `act` drives the model."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Additional fields of the body of every request."""
    max_parallel: int | None = Field(default=None, gt=0)
    """Limit on requests in flight over all workers; default 8, embedded models 2."""
    input_cost_per_mtok: float | None = Field(default=None, ge=0)
    """US dollars per million prompt tokens, if litellm does not know the price."""
    output_cost_per_mtok: float | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _with_eyes(cls, data: Any) -> Any:
        """Let a model with a computer tool see, as there is nothing else that it could go by."""
        if isinstance(data, dict) and data.get("computer"):
            return {"vision": True, **data}
        return data

    @property
    def provider(self) -> Literal["builtin", "local", "litellm"]:
        """Tell who answers: a control of this package, the embedded engine, or litellm."""
        prefix = self.litellm_model.partition("/")[0]
        if prefix == "builtin":
            return "builtin"
        return "local" if prefix == "local" else "litellm"

    @property
    def small(self) -> bool:
        """Tell whether the model is embedded, or its name gives a size below 14B."""
        sizes = [float(size) for size in _SIZE.findall(self.litellm_model)]
        return self.provider != "litellm" or any(size < SMALL_PARAMETERS for size in sizes)

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
        ModelError: the spec names a key variable that is not set.
    """
    key = None
    if spec.api_key_env:
        key = environ.get(spec.api_key_env)
        if not key:
            raise ModelError(
                "auth", spec.name, f"the environment variable {spec.api_key_env} is not set"
            )
    base = base_url(spec, environ)
    if key is None and spec.api_base and is_loopback(spec.api_base):
        # litellm would send the provider's real key, which a local server must not receive.
        key = "none"
    return Endpoint(spec.litellm_model, base, key)


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


BUILTINS = ("builtin/oracle", "builtin/noop")
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
        SettingsError: a file, key or value is wrong, or a built-in or embedded name is unknown.
    """
    configured: dict[str, dict[str, Any]] = {}
    for source, tables in (_from_pyproject(pyproject), _from_models_file(models_file)):
        for name, table in tables.items():
            _refuse_unknown_keys(name, table, source)
            configured[name] = configured.get(name, {}) | table
    return {name: _named(name, configured) for name in dict.fromkeys(names)}


def _named(name: str, configured: Mapping[str, dict[str, Any]]) -> ModelSpec:
    """Return the settings of a name, which may end in the way to write: `NAME@turns`."""
    plain, _, way = name.rpartition("@")
    if name in configured or not plain or way not in WAYS:
        return _spec(name, configured.get(name, {}))
    table = configured.get(plain, {})
    found = _spec(name, {**table, "model": table.get("model") or plain, "codegen": way})
    if found.dialect == "refs":
        raise SettingsError(
            f"model {name!r}: {plain} writes in the dialect refs, which has turns of its own; name "
            f"it without @{way}"
        )
    return found


def load_project_specs(
    names: Sequence[str], rootdir: Path, models_file: Path | None
) -> dict[str, ModelSpec]:
    """Return the settings of the named models from the files of a project.

    Raises:
        SettingsError: see `load_specs`.
    """
    models_file = rootdir / models_file if models_file else None
    return load_specs(names, pyproject=rootdir / "pyproject.toml", models_file=models_file)


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
    known = [field for field in ModelSpec.model_fields if field != "name"]
    for key in table:
        if key not in known:
            raise SettingsError(
                f"{source}: {name}: unknown setting {key!r}{near_miss(str(key), known)}"
            )


def _spec(name: str, table: Mapping[str, Any]) -> ModelSpec:
    # An alias gets the defaults of the model behind it.
    behind = str(table.get("model") or name)
    values = {**_defaults(behind), **table, "name": name}
    try:
        return ModelSpec.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"model {name!r}: {field}: {first['msg']}") from None


def _defaults(behind: str) -> dict[str, Any]:
    """Return the default settings of the model behind a name.

    Raises:
        SettingsError: no model can have this name.
    """
    prefix, slash, rest = behind.partition("/")
    if not behind.strip() or (slash and not rest):
        raise SettingsError(f"{behind!r} is not a model name")
    if prefix == "builtin":
        if behind not in BUILTINS:
            raise SettingsError(f"{behind!r} is not a built-in model{near_miss(behind, BUILTINS)}")
        return {}
    if behind.startswith(local_models.PREFIX):
        model = local_models.local_model(behind)
        return {**_LOCAL_DEFAULTS, "context_tokens": model.context_tokens}
    return dict(_OLLAMA_DEFAULTS) if prefix in ("ollama", "ollama_chat") else {}
