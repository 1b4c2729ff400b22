"""What a correction arm is, and the registered ones by name."""

from dataclasses import dataclass

from pytest_autoweb.attempt.tools import NamedStage
from pytest_autoweb.correct.guidance import Arm
from pytest_autoweb.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionArm(Arm):
    """A way to try a failed attempt again, with what it changes in the stages of a retry."""

    prompts: tuple[str, ...] = ()
    """Files in `prompts/` that it uses beside those of the strategy; changing one of them keeps
    runs from being compared."""
    first_asks: tuple[NamedStage, ...] = ()
    """Stages between the opened page and the rest of a retry, in every strategy."""
    writer: NamedStage | None = None
    """Takes the place of the strategy's stage named `repair`; strategies without one keep their
    stages."""

    def changed(self, stages: tuple[NamedStage, ...]) -> tuple[NamedStage, ...]:
        """Return the stages of a retry, given those of the strategy."""
        if self.writer is not None:
            stages = tuple(self.writer if each.name == "repair" else each for each in stages)
        return (*stages[:1], *self.first_asks, *stages[1:])


ARMS: Variants[CorrectionArm] = Variants("correction arm", "pytest_autoweb.correction_arms")
