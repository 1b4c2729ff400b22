"""`plain`: the control arm, which asks again as if for the first time."""

from pytest_autoweb.arms.correction_arm import ARMS, CorrectionArm
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.repair import write_again

PLAIN = ARMS.add(
    CorrectionArm(
        name="plain",
        summary="told nothing: the control arm",
        label="plain (control)",
        told=False,
        control=True,
        writer=NamedStage("repair", write_again),
    )
)
