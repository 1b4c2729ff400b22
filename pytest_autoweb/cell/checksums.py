"""Checksums of what the result of a cell rests on.

Two results may stand for each other only if these agree.
"""

import hashlib
import json
from functools import cache
from importlib import metadata
from typing import Any

from pytest_autoweb.cell.cell_setting import CellSetting
from pytest_autoweb.cell.strategies import prompts_of
from pytest_autoweb.judging.solution_writes import known_writes
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import prompt_checksum

_SHAPING = (
    *("visual_supplement", "max_turns", "max_looks", "max_decisions", "feedback", "locator"),
    *("retries", "correction", "questions", "on_step_failure", "step_timeout", "check_timeout"),
    *("sandbox", "browser_sandbox", "judge_model", "attack"),
)
"""The settings of a run that may change how a cell ends."""
_ONLY_OF_CALLS = frozenset(
    (
        *("api_key_env", "max_parallel", "sources", "timeout"),
        *("input_cost_per_mtok", "output_cost_per_mtok", "cached_input_cost_per_mtok"),
    )
)
"""The settings of a model that say how it is called and paid, not what it answers."""


def checksums_of(setting: CellSetting) -> dict[str, str]:
    """Return a sum for each thing that the result of a cell rests on.

    `case`, `checks`, `prompts`, `model`, `settings` and, if there is one, `agent` are SHA-256 sums;
    `capture` and `versions` are short enough to stand there themselves. `traffic` is the sum of the
    recording, of cells that are replayed only; `writes` is that of what the solution writes, if it
    is known.
    """
    cell, settings, agent = setting.cell, setting.settings, setting.agent
    solution = known_writes(cell.case.path, cell.case.id, cell.case.checksum).writes
    prompts = prompts_of(setting.strategy, cell.spec, settings.correction)
    replayed = setting.recording.checksum
    return {
        "case": cell.case.checksum,
        "checks": graded(cell.case.checks_checksum),
        "prompts": prompt_checksum(*prompts),
        "capture": f"{cell.mode}/{cell.spec.context_tokens}",
        "model": _of_model(cell.spec),
        "settings": _sum({name: getattr(settings, name) for name in _SHAPING}),
        "versions": _versions(),
        **({"agent": agent.checksum} if agent else {}),
        **({"traffic": replayed} if replayed else {}),
        **({"writes": _sum(solution.model_dump(mode="json"))} if solution else {}),
    }


def _of_model(spec: ModelSpec) -> str:
    return _sum(spec.model_dump(mode="json", exclude=set(_ONLY_OF_CALLS)))


def _sum(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@cache
def _versions() -> str:
    names = ("pytest-autoweb", "playwright")
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)
