"""`codegen`: the model plans, writes a script, and repairs it when it fails."""

from pytest_autoweb.stages.capture import capture_pages
from pytest_autoweb.stages.generate import write_script
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.plan import plan_as_task, plan_case
from pytest_autoweb.stages.repair import repair_script
from pytest_autoweb.stages.turns import take_turns
from pytest_autoweb.strategies.stage_lists import EXECUTE, JUDGE, LINT, OPEN, STRATEGIES, Strategy

NAME = "codegen"
SUMMARY = "plan and script"

BY_TURNS = Strategy(
    name=NAME,
    summary=SUMMARY,
    first=(OPEN, NamedStage("plan", plan_as_task), NamedStage("turns", take_turns), JUDGE),
    prompts=("refs",),
)
"""Small models write a few lines at a time about a numbered list of what is on the page."""

CODEGEN = STRATEGIES.add(
    Strategy(
        name=NAME,
        summary=SUMMARY,
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
        in_dialect={"refs": BY_TURNS},
    )
)
