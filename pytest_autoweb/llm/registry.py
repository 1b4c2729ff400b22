"""Settings of models by name: defaults, then pyproject.toml, then the models file."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm import local_models
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.near_miss import near_miss

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
    return {name: _spec(name, configured.get(name, {})) for name in dict.fromkeys(names)}


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
