"""`reflexion`: the model is shown the evidence and first says what to do otherwise."""

from pytest_autoweb.arms.correction_arm import ARMS, CorrectionArm
from pytest_autoweb.calibrate.recovery import PROMPTS
from pytest_autoweb.stages.named_stage import NamedStage
from pytest_autoweb.stages.reflect import reflect

REFLEXION = ARMS.add(
    CorrectionArm(
        name="reflexion",
        summary="told evidence and a reflection",
        prompts=("reflect", *PROMPTS),
        advised=True,
        first_asks=(NamedStage("reflect", reflect),),
    )
)
