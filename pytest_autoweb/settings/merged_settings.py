"""Settings that set several others, which runs of earlier versions recorded by themselves."""

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.variant_names import agent_variant

DEFAULT_STORE = "sqlite:///.autoweb/store.db"
PLACES = {"storage": "", "cassettes": "cassettes", "traffic_files": "traffic", "blobs": "shards"}
"""The folders below the one of `--autoweb-dir`, by the settings that name each alone."""
_NEARNESS = ("flag", "env", "ini", "default").index


def spread(values: MutableMapping[str, Any], sources: MutableMapping[str, Any]) -> None:
    """Give what `agent`, `max_steps`, `save`, `until`, `dir` say to the settings they stand for.

    A setting that stands for itself in a nearer place wins over them.

    Args:
        values: of all settings, by name.
        sources: where they come from.

    Raises:
        SettingsError: the same place says both.
    """
    if values["agent"] and _wins("agent", ("strategy", "agents"), sources):
        _take_agents(values["agent"], values, sources)
    if values["max_steps"] is not None:
        for name in ("max_turns", "max_decisions"):
            if _wins("max_steps", (name,), sources):
                values[name], sources[name] = values["max_steps"], sources["max_steps"]
    if values["save"] == "true":
        values["save"], values["autosave"] = "", True
        sources["autosave"] = sources["save"]
    if values["until"].usd is not None and _wins("until", ("max_cost",), sources):
        values["max_cost"], sources["max_cost"] = values["until"].usd, sources["until"]
    if values["dir"] is not None:
        _place_below(values["dir"], values, sources)


def _wins(name: str, others: tuple[str, ...], sources: Mapping[str, Any]) -> bool:
    """Tell whether a setting is nearer than others that it stands for."""
    near = min(others, key=lambda other: _NEARNESS(sources[other]))
    if sources[near] == sources[name] != "default":
        flags = " and ".join(f"--autoweb-{word.replace('_', '-')}" for word in (name, near))
        raise SettingsError(
            f"{flags} say the same thing; keep the first (both come from: {sources[name]})"
        )
    return _NEARNESS(sources[name]) < _NEARNESS(sources[near])


def _take_agents(
    names: tuple[str, ...], values: MutableMapping[str, Any], sources: MutableMapping[str, Any]
) -> None:
    """Take one agent for the strategy, and several for an axis.

    An agent without a variant leaves the way of writing to where it is set.
    """
    agent, way = agent_variant(names[0]) if len(names) == 1 else ("codegen", "")
    values["strategy"], values["agents"] = agent, names if len(names) > 1 else ()
    sources["strategy"] = sources["agents"] = sources["agent"]
    if way and _wins("agent", ("codegen",), sources):
        values["codegen"], sources["codegen"] = (way,), sources["agent"]


def _place_below(
    folder: Path, values: MutableMapping[str, Any], sources: MutableMapping[str, Any]
) -> None:
    """Place what runs keep below one folder, except for what is placed by itself."""
    for name, below in PLACES.items():
        if is_placed_by(sources["dir"], sources[name]):
            values[name], sources[name] = folder / below, sources["dir"]
    if values["database"] == DEFAULT_STORE:
        values["database"] = f"sqlite:///{(folder / 'store.db').as_posix()}"


def is_placed_by(source_of_dir: str, source_of_own: str) -> bool:
    """Tell whether `dir` decides over a place, and not the setting for that place alone."""
    return _NEARNESS(source_of_dir) < _NEARNESS(source_of_own)


def check_agents(values: MutableMapping[str, Any], sources: Mapping[str, Any]) -> None:
    """Take a single one of the agents for the strategy; the setting from the nearer source wins.

    Raises:
        SettingsError: the same place says both.
    """
    if not values["agents"] or sources["agents"] == sources["agent"] != "default":
        return
    if sources["agents"] == sources["strategy"]:
        raise SettingsError(
            "--autoweb-agents and --autoweb-strategy both name who drives the browser; set one "
            f"(both come from: {sources['agents']})"
        )
    if _NEARNESS(sources["strategy"]) < _NEARNESS(sources["agents"]):
        values["agents"] = ()
    if len(values["agents"]) == 1:
        values["strategy"], way = agent_variant(values["agents"][0])
        values["codegen"] = (way,) if way else values["codegen"]
