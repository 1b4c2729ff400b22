"""`act`: the model decides one action at a time on a screenshot with numbered marks."""

from pytest_autoweb.act.loop import act_on_page
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.plan import plan_as_task
from pytest_autoweb.strategies.stage_lists import JUDGE, OPEN, STRATEGIES, Strategy

ACT = STRATEGIES.add(
    Strategy(
        name="act",
        summary="one decision at a time on marked screenshots",
        first=(OPEN, NamedStage("plan", plan_as_task), NamedStage("act", act_on_page), JUDGE),
        prompts=("act", "act_brief"),
    )
)
