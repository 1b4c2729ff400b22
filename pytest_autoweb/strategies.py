"""How a model may drive the browser: each strategy is the list of its stages."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_autoweb.act.loop import act_on_page
from pytest_autoweb.attempt.execute import run_steps
from pytest_autoweb.attempt.tools import Stage
from pytest_autoweb.calibrate.recovery import PROMPTS
from pytest_autoweb.cases.strategy import StrategyName
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.results import Attempt, CorrectionArm
from pytest_autoweb.stages.capture import capture_pages
from pytest_autoweb.stages.collect import collect_list
from pytest_autoweb.stages.generate import write_script
from pytest_autoweb.stages.judge import judge_outcome
from pytest_autoweb.stages.lint import lint_script
from pytest_autoweb.stages.open_entry import open_entry
from pytest_autoweb.stages.plan import plan_as_task, plan_case
from pytest_autoweb.stages.reflect import reflect
from pytest_autoweb.stages.repair import repair_script, write_again, write_constrained
from pytest_autoweb.stages.turns import take_turns


class NamedStage(NamedTuple):
    """A stage and the name that progress and timings use for it."""

    name: str
    run: Stage


class Strategy(NamedTuple):
    """The stages of a first attempt and of a repair, and the prompt files they use."""

    first: tuple[NamedStage, ...]
    repair: tuple[NamedStage, ...]
    prompts: tuple[str, ...]


OPEN = NamedStage("open", open_entry)
JUDGE = NamedStage("judge", judge_outcome)
LINT = NamedStage("lint", lint_script)
EXECUTE = NamedStage("execute", run_steps)

CODEGEN = Strategy(
    first=(
        OPEN,
        NamedStage("plan", plan_case),
        NamedStage("capture", capture_pages),
        NamedStage("generate", write_script),
        LINT,
        EXECUTE,
        JUDGE,
    ),
    repair=(OPEN, NamedStage("repair", repair_script), LINT, EXECUTE, JUDGE),
    prompts=("plan", "generate", "repair", "visual"),
)
_BY_TURNS = (OPEN, NamedStage("plan", plan_as_task), NamedStage("turns", take_turns), JUDGE)
CODEGEN_BY_TURNS = Strategy(first=_BY_TURNS, repair=_BY_TURNS, prompts=("refs",))


_BY_SIGHT = (OPEN, NamedStage("plan", plan_as_task), NamedStage("act", act_on_page), JUDGE)
ACT = Strategy(first=_BY_SIGHT, repair=_BY_SIGHT, prompts=("act", "act_brief"))
_BY_LIST = (OPEN, NamedStage("plan", plan_as_task), NamedStage("collect", collect_list), JUDGE)
COLLECT = Strategy(first=_BY_LIST, repair=_BY_LIST, prompts=("collect", "collect_brief"))
STRATEGIES: Mapping[str, Strategy] = {"codegen": CODEGEN, "act": ACT, "collect": COLLECT}


REFLECT = NamedStage("reflect", reflect)
_WRITE: Mapping[CorrectionArm, NamedStage] = {
    "plain": NamedStage("repair", write_again),
    "constrained": NamedStage("repair", write_constrained),
}
CORRECTION_PROMPTS: Mapping[CorrectionArm, tuple[str, ...]] = {
    "off": (),
    "plain": (),
    "reflexion": ("reflect", *PROMPTS),
    "constrained": ("repair_constrained",),
}
"""Prompt files that an arm uses beside those of the strategy."""


def strategy_of(name: StrategyName, spec: ModelSpec) -> Strategy:
    """The strategy of a cell; scripts are written in the model's dialect of the step language."""
    if name == "codegen" and spec.dialect == "refs":
        return CODEGEN_BY_TURNS
    return STRATEGIES[name]


def prompts_of(
    name: StrategyName, spec: ModelSpec, arms: Iterable[CorrectionArm]
) -> tuple[str, ...]:
    """Every prompt file that a cell may use."""
    by_sight = ("sight", "locate", "locate_again") if spec.vision else ()
    more = (prompt for arm in arms for prompt in CORRECTION_PROMPTS[arm])
    return (*strategy_of(name, spec).prompts, *by_sight, *more)


def stages_for(
    name: StrategyName, spec: ModelSpec, failed: Attempt | None, arm: CorrectionArm = "off"
) -> tuple[NamedStage, ...]:
    """The stages of a first attempt, or of the repair of a failed one."""
    strategy = strategy_of(name, spec)
    without_plan = failed is None or (failed.failure is not None and failed.failure.kind == "plan")
    stages = strategy.first if without_plan else strategy.repair
    if failed is None:
        return stages
    if arm == "reflexion":
        return (stages[0], REFLECT, *stages[1:])
    if strategy is CODEGEN and not without_plan and arm in _WRITE:
        return tuple(_WRITE[arm] if stage.name == "repair" else stage for stage in stages)
    return stages
