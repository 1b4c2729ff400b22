"""The ways in which a failed attempt is tried again: what one is, the registry, the built-in ones.

The stages that write the second try live in `codegen`, the rules for retries in `correct`.
"""

from dataclasses import dataclass

from pytest_autoweb.attempt.tools import NamedStage
from pytest_autoweb.codegen.repair import reflect, write_again, write_constrained
from pytest_autoweb.correct.retry_rules import PROMPTS, Arm
from pytest_autoweb.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionArm(Arm):
    """A way to try a failed attempt again, with what it changes in the stages of a retry."""

    prompts: tuple[str, ...] = ()
    """Files in `prompts/` that it uses besides those of the strategy. Runs are not comparable if
    one of these differs."""
    first_asks: tuple[NamedStage, ...] = ()
    """Stages of a retry after the page was opened, before those of the strategy."""
    writer: NamedStage | None = None
    """The stage that replaces the strategy's stage `repair`, if it has one."""

    def changed(self, stages: tuple[NamedStage, ...]) -> tuple[NamedStage, ...]:
        """Return the stages of a retry, given those of the strategy."""
        if self.writer is not None:
            stages = tuple(self.writer if each.name == "repair" else each for each in stages)
        return (*stages[:1], *self.first_asks, *stages[1:])


ARMS: Variants[CorrectionArm] = Variants("correction arm", "pytest_autoweb.correction_arms")


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
