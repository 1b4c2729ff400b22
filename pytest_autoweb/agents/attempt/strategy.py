"""What strategies and correction arms are, the built-in ones and those of users alike.

Both are made of stages, and know nothing of the stages that there are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Struct, field

from pytest_autoweb.agents.attempt.tools import NamedStage
from pytest_autoweb.base.variant_names import Arm
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.settings.agent_command import AgentCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionArm(Arm):
    """A way to retry a failed attempt, with its changes to the stages of a retry."""

    prompts: tuple[str, ...] = ()
    """Files in `prompts/` that it uses besides those of the strategy. Runs are not comparable if
    one of these differs."""
    first_asks: tuple[NamedStage, ...] = ()
    """Stages of a retry that run after the page was opened and before those of the strategy."""
    writer: NamedStage | None = None
    """The stage that replaces the strategy's stage `repair`, if it has one."""

    def changed(self, stages: tuple[NamedStage, ...]) -> tuple[NamedStage, ...]:
        """Return the stages of a retry, given those of the strategy."""
        if self.writer is not None:
            stages = tuple(self.writer if each.name == "repair" else each for each in stages)
        return (*stages[:1], *self.first_asks, *stages[1:])


class Strategy(Struct, frozen=True, kw_only=True):
    """One way for a model to drive the browser, as a list of stages.

    The first stage opens the page, usually with `OPEN`; the last one judges, with `JUDGE`.
    """

    name: str
    summary: str
    first: tuple[NamedStage, ...]
    """The stages of a first attempt."""
    repair: tuple[NamedStage, ...] = ()
    """The stages of a retry, whose tools hold the failed attempt; empty if they are the same."""
    prompts: tuple[str, ...] = ()
    """Files in `prompts/` that it uses. Runs are not comparable if one of these differs."""
    uses_capture: bool = True
    """Whether it shows pages in the cell's capture mode. A strategy with its own form runs once,
    however many modes a run has."""
    lacks: frozenset[str] = frozenset()
    """What it has no means to do on a page, as `cell.hands` names it; said of cases that may need
    it before they run."""
    in_dialect: Mapping[str, "Strategy"] = field(default_factory=dict)
    """The strategies that replace it for models of other dialects of the step language."""
    by_turns: "Strategy | None" = None
    """The strategy that replaces it for models that write turn by turn (`codegen:turns`)."""
    outside: Callable[[], AgentCommand] | None = None
    """Returns the settings of an outside agent; None for strategies that run in this process."""

    def stages(
        self, failed: Attempt | None, arm: CorrectionArm | None = None
    ) -> tuple[NamedStage, ...]:
        """Return the stages of a first attempt, or of a retry of the failed one in an arm."""
        if failed is None:
            return self.first
        # If the plan was at fault, there is no script to repair.
        at_fault = failed.failure is not None and failed.failure.kind == "plan"
        stages = self.first if at_fault or not self.repair else self.repair
        return arm.changed(stages) if arm is not None else stages
