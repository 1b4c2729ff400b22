"""Running one cell: its attempts, their corrections, and the outcome.

A cell goes through this order:

1. It is marked as started, so that readers of the run folder see it even if this process dies.
2. What follows from its case and the settings of the run is looked up once (`cell_setting`).
3. The first attempt is made (`one_attempt`): the stages of the strategy, folded over it. Controls
   that do nothing may look at one page together (`shared_look`).
4. If it failed, the first correction arm of the run tries again from there (`corrections`).
5. Failures that no rule recognises are named by a model, if the run has one for that.
6. The outcome is settled from these attempts alone (`cell_outcome`).
7. The other arms try again from the same first attempt, to be compared with the first arm.
8. The result is saved as a whole.

Nothing is kept between two cells but what the test process lends to both (`CellResources`).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from pytest_autoweb.agents.attempt.strategy import CorrectionArm
from pytest_autoweb.agents.correction.guidance import Guidance
from pytest_autoweb.agents.correction.naming_model import AskedCell
from pytest_autoweb.agents.correction.retry_decision import Rules, was_refused
from pytest_autoweb.cell.attempt_setting import AttemptOrder
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.cell_outcome import cell_outcome
from pytest_autoweb.cell.cell_record import row_of
from pytest_autoweb.cell.cell_setting import CellSetting, setting_of
from pytest_autoweb.cell.checksums import checksums_of
from pytest_autoweb.cell.corrections import ArmAttempts, arm_run, correct, repairable
from pytest_autoweb.cell.one_attempt import run_attempt
from pytest_autoweb.cell.shared_look import first_attempt
from pytest_autoweb.cell.stage_clock import StageClock
from pytest_autoweb.cell.strategies import ARMS
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    ServedModel,
    served_models,
    total_usage,
)
from pytest_autoweb.results.runs.lasting_files import wait_for_disk
from pytest_autoweb.results.runs.saving import mark_started, save_cell

NOTHING_DONE = "no step ran: nothing was done"


def run_cell(cell: Cell, resources: CellResources) -> CellResult:
    """Run all attempts of a cell and save its result."""
    started, clock = datetime.now(UTC), StageClock("attempts")
    mark_started(resources.run_folder, cell.folder)
    setting = setting_of(cell, resources.settings)
    first, resolved = first_attempt(setting, resources)
    arm, *others = map(ARMS.pick, resources.settings.correction)
    # All arms continue from the same first attempt, so that they differ in nothing but the retries.
    run = partial(_attempts_in_arm, setting, resources, first)
    made = run(arm)
    if resources.naming is not None:
        clock.enter("classify")
    attempts = [_named(attempt, cell, resources) for attempt in made.attempts]
    outcome, reason, failure = cell_outcome(
        attempts, has_checks=cell.case.has_expect, called=cell.called is not None
    )
    if outcome == "failed" and not reason:
        reason = "not every step ran" if attempts[-1].step_results else NOTHING_DONE
    if others:
        clock.enter("other arms")
    beside = (
        tuple(arm_run(run(other, folder=f"{other.name}-"), other) for other in others)
        if repairable(first)
        else ()
    )
    spent = clock.stop()
    result = CellResult(
        **dict(row_of(cell, setting.strategy, resolved)),
        dialect=cell.spec.dialect,
        browser_settings=resolved.setup.of_browser() if resolved else {},
        outcome=outcome,
        slow=outcome in ("passed", "healed") and any(r.retried for r in attempts[-1].step_results),
        reason=reason,
        failure=failure,
        attempts=tuple(attempts),
        correction=arm.name,
        stopped=made.stopped,
        arms=beside,
        usage=total_usage(tuple(attempts)),
        served=_served(cell.spec.name, (attempts, *(arm.attempts for arm in beside))),
        started=started,
        duration_ms=sum(spent.values()),
        stage_ms=_between_attempts(spent, attempts),
        worker=resources.worker,
        traffic=setting.recording.status,
        checksums=checksums_of(setting),
        agent=setting.agent,
        step_call=cell.called.call if cell.called else None,
    )
    # What the result names is to outlive whatever it outlives.
    wait_for_disk(resources.run_folder / cell.folder)
    save_cell(resources.run_folder, result)
    return result


def _served(model: str, made: Iterable[Sequence[Attempt]]) -> tuple[ServedModel, ...]:
    """Return what answered the calls to the cell's own model, which a judge need not be."""
    return served_models(
        ServedModel(served=call.model_served, fingerprint=call.fingerprint)
        for attempts in made
        for attempt in attempts
        for call in attempt.exchanges
        if call.model == model
    )


def _between_attempts(spent: Mapping[str, float], attempts: Sequence[Attempt]) -> dict[str, float]:
    """Return the milliseconds of a cell that are part of none of its attempts, by stage."""
    within = sum(sum(attempt.stage_ms.values()) for attempt in attempts)
    # Between two attempts a correction may wait for a service to recover.
    rest = "wait" if len(attempts) > 1 else "save"
    return {
        rest: max(0.0, spent["attempts"] - within),
        **{stage: took for stage, took in spent.items() if stage != "attempts"},
    }


def _named(attempt: Attempt, cell: Cell, resources: CellResources) -> Attempt:
    """Return the attempt with the type of its failure, asking a model if the rules have none."""
    if resources.naming is None:
        return attempt
    return resources.naming.named(attempt, AskedCell(cell.case.id, cell.mode, cell.repeat))


def _attempts_in_arm(
    setting: CellSetting,
    resources: CellResources,
    first: Attempt,
    arm: CorrectionArm,
    folder: str = "attempt-",
) -> ArmAttempts:
    """Return the first attempt with its retries in one arm."""
    cell, settings = setting.cell, setting.settings
    servers = cell.case.webservers.values()
    rules = Rules(
        # The built-in models repeat a given script, so a retry of it cannot do better; and the page
        # of a test is no longer what it was before the first try.
        max_retries=0 if cell.spec.provider == "builtin" or cell.called else settings.retries,
        resettable=bool(servers)
        and all(one.reset is not None or one.static is not None for one in servers),
        can_relogin=resources.relogin is not None,
        past=resources.past,
        compared=len(settings.correction) > 1,
    )

    ran: Attempt | None = None

    def make_attempt(failed: Attempt, index: int, guidance: Guidance | None) -> Attempt:
        nonlocal ran
        refused = was_refused(failed)
        ran = ran if refused else failed
        order = AttemptOrder(index, failed, guidance, folder, arm, ran if refused else None)
        return run_attempt(setting, resources, order)[0]

    return correct(first, arm, rules, resources.clock, make_attempt)
