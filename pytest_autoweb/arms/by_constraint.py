"""`constrained`: the model may only name elements that were found, and no call that failed."""

from pytest_autoweb.arms.correction_arm import ARMS, CorrectionArm
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.repair import write_constrained

CONSTRAINED = ARMS.add(
    CorrectionArm(
        name="constrained",
        summary="may only name elements that were found",
        prompts=("repair_constrained",),
        bans_failed_calls=True,
        writer=NamedStage("repair", write_constrained),
    )
)
