"""The type and the registry of correction arms."""

from dataclasses import dataclass

from pytest_autoweb.attempt.tools import NamedStage
from pytest_autoweb.correct.guidance import Arm
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
