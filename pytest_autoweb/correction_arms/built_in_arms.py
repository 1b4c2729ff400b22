"""The built-in correction arms: ordinary repair, the control arm, and two that use evidence."""

from pytest_autoweb.attempt.tools import NamedStage
from pytest_autoweb.codegen.repair import reflect, write_again, write_constrained
from pytest_autoweb.correct.retry_rules import PROMPTS
from pytest_autoweb.correction_arms.correction_arm import ARMS, CorrectionArm

OFF = ARMS.add(
    CorrectionArm(
        name="off",
        summary="the ordinary repair",
        label="ordinary repair",
        ordinary=True,
        informed=False,
        differs="stops when it writes the same script again",
    )
)


PLAIN = ARMS.add(
    CorrectionArm(
        name="plain",
        summary="told nothing: the control arm",
        label="plain (control)",
        informed=False,
        control=True,
        differs="runs the same script again if that is what the model writes",
        writer=NamedStage("repair", write_again),
    )
)


REFLEXION = ARMS.add(
    CorrectionArm(
        name="reflexion",
        summary="told evidence and a reflection",
        differs="asks the model once more per retry, and stops when the model gives up, has a "
        "confidence below 0.3, or writes the same script again",
        prompts=("reflect", *PROMPTS),
        advised=True,
        first_asks=(NamedStage("reflect", reflect),),
    )
)


CONSTRAINED = ARMS.add(
    CorrectionArm(
        name="constrained",
        summary="may only name elements that were found",
        differs="refuses a script with other elements before it runs, which uses up the retry, "
        "and stops when the same script is written again",
        prompts=("repair_constrained",),
        bans_failed_calls=True,
        writer=NamedStage("repair", write_constrained),
    )
)
