"""`collect`: the model finds its way through a list, and the addresses behind it are gathered."""

from pytest_autoweb.stages.collect import collect_list
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.plan import plan_as_task
from pytest_autoweb.strategies.stage_lists import JUDGE, OPEN, STRATEGIES, Strategy

COLLECT = STRATEGIES.add(
    Strategy(
        name="collect",
        summary="addresses behind a list",
        first=(OPEN, NamedStage("plan", plan_as_task), NamedStage("collect", collect_list), JUDGE),
        prompts=("collect", "collect_brief"),
    )
)
