"""The cells of a case: the axes by which they differ, and what each is called."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.mutants import Mutant
from pytest_autoweb.cell.strategies import CODEGEN, strategy_of
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.analysis.controls import ATTACKED, NOOP, ORACLE, RANDOM, is_control
from pytest_autoweb.results.records import CaptureModeName
from pytest_autoweb.session.run_session import RunSession
from pytest_autoweb.settings.run_settings import Settings

CONTROL_RUNS = 3
"""How many times `--autoweb-controls` runs each control of a case, each from a fresh start."""


class Axes(NamedTuple):
    """The axes by which the cells of a case differ."""

    model: str
    mode: CaptureModeName
    repeat: int


def axes_of(session: RunSession, case: LoadedCase, position: int) -> Iterator[Axes]:
    """Yield the axes of each cell of a case: the controls first, if requested, then the models."""
    settings = session.settings
    if session.mutants is not None:
        own = session.mutants.get(_key(case, settings), {})
        yield from (Axes(name, settings.capture_modes[0], 1) for name in own)
        return
    models = settings.models
    if settings.controls:
        yield from _control_axes(settings, case)
        models = tuple(model for model in models if not is_control(model))
    if case.has_oracle:
        # First, because they tell what a model's cells under a change are worth.
        rivals = (model for model in models if not is_control(model))
        named = (session.spec_for(model, case.way).perturb for model in rivals)
        changes = filter(None, dict.fromkeys((*settings.perturb, *named)))
        proofs = [f"{ORACLE}@{change}" for change in changes]
        # An oracle that is named among the models meets each attack itself.
        if settings.attack and ORACLE not in models:
            proofs.append(ATTACKED)
        # Each repeat meets another attack, under which the change must be fair as well.
        for name in proofs:
            for repeat in range(1, (settings.repeat if settings.attack else 1) + 1):
                yield Axes(name, settings.capture_modes[0], repeat)
    # Rotated, so that no model always gets a freshly started server or always comes last.
    turn = position % max(1, len(models))
    for model in (*models[turn:], *models[:turn]):
        spec = session.spec_for(model, case.way)
        strategy = strategy_of(strategy_name(case, spec, settings), spec)
        # A strategy that uses no capture mode would have the same prompts in each.
        modes = settings.capture_modes if strategy.uses_capture else settings.capture_modes[:1]
        for mode in modes:
            for repeat in range(1, settings.repeat + 1):
                yield Axes(model, mode, repeat)


def _control_axes(settings: Settings, case: LoadedCase) -> Iterator[Axes]:
    for model in (ORACLE, NOOP, RANDOM):
        # A case without an oracle script is skipped; reporting this once is enough.
        runs = 1 if model == ORACLE and not case.has_oracle else CONTROL_RUNS
        for repeat in range(1, runs + 1):
            yield Axes(model, settings.capture_modes[0], repeat)


def deployment_of(settings: Settings) -> Deployment:
    """Return the site under test, as the session's flags name it."""
    return Deployment(settings.base_url)


def strategy_name(case: LoadedCase, spec: ModelSpec, settings: Settings) -> StrategyName:
    """Return the strategy that drives the browser; controls are scripts, whatever the case sets."""
    if is_control(spec.name):
        return CODEGEN.name
    return spec.agent_name or case.strategy or settings.strategy


def cell_name(case_id: str, model: str, mode: str, repeat: int, settings: Settings) -> str:
    """Name a cell, e.g. `login[openai/gpt-5-mini]`; add mode and repeat if there are several."""
    parts = [model]
    if len(settings.capture_modes) > 1:
        parts.append(mode)
    if settings.repeat > 1 or (settings.controls and is_control(model)):
        parts.append(str(repeat))
    return f"{case_id}[{'-'.join(parts)}]"


def mutant_of(session: RunSession, case: LoadedCase, spec: ModelSpec) -> Mutant | None:
    """Return the changed oracle that a cell of `autoweb prove` runs; None in other sessions."""
    if session.mutants is None:
        return None
    return session.mutants.get(_key(case, session.settings), {}).get(spec.name)


def _key(case: LoadedCase, settings: Settings) -> str:
    """Return a case's name in the file of mutants."""
    return f"{path_below(case.path, settings.rootdir)}::{case.id}"


@cache
def path_below(path: Path | None, rootdir: Path) -> str:
    """Return the path of a case file as cells show it; `inline` without a file."""
    if path is None:
        return "inline"
    return path.relative_to(rootdir).as_posix() if path.is_relative_to(rootdir) else path.name


def shown_name(cell: Cell) -> str:
    """Return the name of a cell without its file, as the progress display shows it."""
    return cell.nodeid.partition("::")[2] or cell.nodeid
