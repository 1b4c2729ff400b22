"""The built-in strategies and correction arms: what each name in `variant_names` does.

A strategy is a list of stages; those live in `attempt`, `codegen`, `act` and `collect`. A
correction arm changes the stages of a retry: those that write the second try live in `codegen`, the
rules for retries in `correct`.
"""

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from pytest_autoweb.agents.attempt.entry import open_entry
from pytest_autoweb.agents.attempt.execute import run_steps
from pytest_autoweb.agents.attempt.judging_stage import judge_outcome
from pytest_autoweb.agents.attempt.strategy import CorrectionArm, Strategy
from pytest_autoweb.agents.attempt.tools import NamedStage
from pytest_autoweb.agents.codegen.captured_pages import capture_pages
from pytest_autoweb.agents.codegen.generate import lint_script, write_script
from pytest_autoweb.agents.codegen.plan import plan_as_task, plan_case
from pytest_autoweb.agents.correction.advice import PROMPTS
from pytest_autoweb.agents.outside.adapters import ADAPTERS, declared_in_case
from pytest_autoweb.agents.outside.adapters import Settings as AgentSettings
from pytest_autoweb.agents.outside.person import person_settings
from pytest_autoweb.base.variant_names import ARM_NAMES, PERSON, STRATEGY_NAMES, StrategyName
from pytest_autoweb.base.variants import BoundVariants
from pytest_autoweb.cell import hands, loaded_late
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.analysis.controls import RANDOM, is_control
from pytest_autoweb.results.records import CorrectionArmName
from pytest_autoweb.settings.agent_command import COMMAND

ARMS: BoundVariants[CorrectionArm] = BoundVariants(ARM_NAMES)

OFF = ARMS.add(CorrectionArm(**ARMS.about("off")))

PLAIN = ARMS.add(
    CorrectionArm(**ARMS.about("plain"), writer=NamedStage("repair", loaded_late.write_again))
)

REFLEXION = ARMS.add(
    CorrectionArm(
        **ARMS.about("reflexion"),
        prompts=("reflect", *PROMPTS),
        first_asks=(NamedStage("reflect", loaded_late.reflect),),
    )
)

CONSTRAINED = ARMS.add(
    CorrectionArm(
        **ARMS.about("constrained"),
        prompts=("repair_constrained",),
        writer=NamedStage("repair", loaded_late.write_constrained),
    )
)


STRATEGIES: BoundVariants[Strategy] = BoundVariants(STRATEGY_NAMES)

OPEN = NamedStage("open", open_entry)
PLAN = NamedStage("plan", plan_case)
PLAN_AS_TASK = NamedStage("task", plan_as_task)
CAPTURE = NamedStage("capture", capture_pages)
GENERATE = NamedStage("generate", write_script)
REPAIR = NamedStage("repair", loaded_late.repair_script)
LINT = NamedStage("lint", lint_script)
EXECUTE = NamedStage("execute", run_steps)
JUDGE = NamedStage("judge", judge_outcome)
LEAVE_PAGE = frozenset(stage.run for stage in (PLAN, CAPTURE, GENERATE, LINT, JUDGE))
"""What leaves the page as it is, or says when it does not, so that a picture of the page may be
drawn meanwhile."""

_OF_SIGHT = ("sight", "locate", "locate_again")
"""Prompts that any strategy may use if the model has vision."""


def strategy_of(name: StrategyName, spec: ModelSpec) -> Strategy:
    """Return the strategy of a cell, in the variant for the model's way of writing."""
    if spec.name == RANDOM:
        return AT_RANDOM
    strategy = STRATEGIES.pick(name)
    if strategy is CODEGEN and is_control(spec.name):
        return AS_WRITTEN
    if strategy is ACT:
        return _act_of(spec)
    strategy = strategy.in_dialect.get(spec.dialect, strategy)
    return strategy.by_turns if strategy.by_turns and spec.takes_turns else strategy


def prompts_of(
    strategy: Strategy, spec: ModelSpec, arms: Iterable[CorrectionArmName]
) -> tuple[str, ...]:
    by_sight = _OF_SIGHT if spec.vision else ()
    more = (prompt for arm in arms for prompt in ARMS.pick(arm).prompts)
    return (*strategy.prompts, *by_sight, *more)


_CODEGEN = STRATEGIES.about("codegen")

BY_REFS_IN_TURNS = Strategy(
    **_CODEGEN,
    first=(OPEN, PLAN_AS_TASK, NamedStage("turns", loaded_late.write_lines_by_turns), JUDGE),
    prompts=("refs_turns", "turn_page", "turn_became"),
    uses_capture=False,
    lacks=frozenset({hands.PLACE}),
)
"""`codegen` for capable models that act on a numbered list of elements."""

BY_REFS = Strategy(
    **_CODEGEN,
    first=(OPEN, PLAN_AS_TASK, NamedStage("turns", loaded_late.take_turns), JUDGE),
    prompts=("refs",),
    uses_capture=False,
    lacks=frozenset(
        {hands.ACCEPT, hands.DOUBLE_CLICK, hands.DOWNLOAD, hands.DRAG, hands.HOVER, hands.PLACE}
        | {hands.PROMPT, hands.RIGHT_CLICK, hands.SCROLL, hands.TABS, hands.UPLOAD}
    ),
    by_turns=BY_REFS_IN_TURNS,
)
"""`codegen` for small models, which write a few lines at a time on a numbered list of elements."""

AT_RANDOM = Strategy(
    **_CODEGEN,
    first=(OPEN, PLAN_AS_TASK, NamedStage("turns", loaded_late.act_at_random), JUDGE),
    uses_capture=False,
)
"""What the control `builtin/random` does in place of any strategy."""

BY_TURNS = Strategy(
    **_CODEGEN,
    first=(OPEN, PLAN_AS_TASK, NamedStage("turns", loaded_late.write_by_turns), JUDGE),
    prompts=("turns", "turn_page", "turn_became"),
)
"""`codegen` for capable models, which see each page before they write code for it."""

CODEGEN = STRATEGIES.add(
    Strategy(
        **_CODEGEN,
        first=(OPEN, PLAN, CAPTURE, GENERATE, LINT, EXECUTE, JUDGE),
        repair=(OPEN, REPAIR, LINT, EXECUTE, JUDGE),
        prompts=("plan", "generate", "repair", "visual"),
        in_dialect={"refs": BY_REFS},
        by_turns=BY_TURNS,
    )
)

AS_WRITTEN = replace(CODEGEN, first=(OPEN, PLAN, GENERATE, LINT, EXECUTE, JUDGE))
"""`codegen` for the controls that have a script already, to which no page is shown."""


ACT = STRATEGIES.add(
    Strategy(
        **STRATEGIES.about("act"),
        first=(OPEN, PLAN_AS_TASK, NamedStage("act", loaded_late.act), JUDGE),
        prompts=("act", "act_brief", "act_computer"),
        uses_capture=False,
    )
)

ACT_BY_LIST = replace(ACT, lacks=frozenset({hands.PLACE}))
"""`act` for capable models without vision."""

ACT_BY_TOOL = replace(ACT, lacks=frozenset({hands.DOWNLOAD, hands.PROMPT, hands.UPLOAD}))
"""`act` for models with their provider's computer tool, which has keys and a mouse."""

ACT_IN_BRIEF = replace(
    ACT,
    lacks=frozenset(
        {hands.DOUBLE_CLICK, hands.DOWNLOAD, hands.DRAG, hands.HOVER, hands.PLACE, hands.PROMPT}
        | {hands.RIGHT_CLICK, hands.UPLOAD}
    ),
)
"""`act` for small models, which choose from fewer actions."""


def _act_of(spec: ModelSpec) -> Strategy:
    if spec.computer:
        return ACT_BY_TOOL
    if spec.small:
        return ACT_IN_BRIEF
    return ACT if spec.vision else ACT_BY_LIST


COLLECT = STRATEGIES.add(
    Strategy(
        **STRATEGIES.about("collect"),
        first=(OPEN, PLAN_AS_TASK, NamedStage("collect", loaded_late.collect), JUDGE),
        prompts=("collect", "collect_brief"),
        uses_capture=False,
    )
)


WEBMCP = STRATEGIES.add(
    Strategy(
        **STRATEGIES.about("webmcp"),
        first=(OPEN, PLAN_AS_TASK, NamedStage("turns", loaded_late.call_site_tools), JUDGE),
        prompts=("webmcp", "turn_page", "turn_became"),
        uses_capture=False,
        lacks=frozenset({hands.PLACE}),
    )
)


def outside_agent(name: str, summary: str, settings: AgentSettings) -> Strategy:
    """Return the strategy that hands the page to an outside agent.

    Args:
        name: its name in flags and reports.
        summary: one sentence for help texts.
        settings: returns its settings, or raises an error about what is missing.
    """
    drive = NamedStage("agent", partial(loaded_late.run_outside_agent, settings))
    judge = NamedStage("judge", loaded_late.judge_what_is_left)
    return Strategy(
        name=name,
        summary=summary,
        first=(OPEN, PLAN_AS_TASK, drive, judge),
        uses_capture=False,
        outside=settings,
    )


for adapter in ADAPTERS.values():
    STRATEGIES.add(outside_agent(**STRATEGIES.about(adapter.name), settings=adapter.settings))
STRATEGIES.add(outside_agent(**STRATEGIES.about(PERSON), settings=person_settings))
STRATEGIES.add(outside_agent(**STRATEGIES.about(COMMAND), settings=declared_in_case))
