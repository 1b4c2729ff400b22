"""The built-in strategies: `codegen`, `act` and `collect`, each as the list of its stages."""

from pytest_autoweb.act.loop import act_on_page
from pytest_autoweb.attempt.tools import NamedStage
from pytest_autoweb.codegen.refs_turns import take_turns
from pytest_autoweb.collect.collect_list import collect_list
from pytest_autoweb.strategies.stage_lists import (
    CAPTURE,
    EXECUTE,
    GENERATE,
    JUDGE,
    LINT,
    OPEN,
    PLAN,
    PLAN_AS_TASK,
    REPAIR,
    STRATEGIES,
    Strategy,
)

NAME = "codegen"
SUMMARY = "plan and script"

BY_TURNS = Strategy(
    name=NAME,
    summary=SUMMARY,
    first=(OPEN, PLAN_AS_TASK, NamedStage("turns", take_turns), JUDGE),
    prompts=("refs",),
)
"""`codegen` for small models, which write a few lines at a time on a numbered list of elements."""

CODEGEN = STRATEGIES.add(
    Strategy(
        name=NAME,
        summary=SUMMARY,
        first=(OPEN, PLAN, CAPTURE, GENERATE, LINT, EXECUTE, JUDGE),
        repair=(OPEN, REPAIR, LINT, EXECUTE, JUDGE),
        prompts=("plan", "generate", "repair", "visual"),
        in_dialect={"refs": BY_TURNS},
    )
)


ACT = STRATEGIES.add(
    Strategy(
        name="act",
        summary="one decision at a time on marked screenshots",
        first=(OPEN, PLAN_AS_TASK, NamedStage("act", act_on_page), JUDGE),
        prompts=("act", "act_brief"),
    )
)


COLLECT = STRATEGIES.add(
    Strategy(
        name="collect",
        summary="addresses behind a list",
        first=(OPEN, PLAN_AS_TASK, NamedStage("collect", collect_list), JUDGE),
        prompts=("collect", "collect_brief"),
    )
)
